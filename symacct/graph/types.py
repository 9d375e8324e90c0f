"""What is computed: tensors with symbolic shapes and the operations between them, as one frozen value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from symacct.errors import GraphError
from symacct.expr import Call, Expr, Size, product, whole_denominator
from symacct.expr.poly import Poly, terms_of
from symacct.graph.conditions import Condition, read_condition

Role: TypeAlias = Literal["input", "param", "const", "act", "output"]
Phase: TypeAlias = Literal["fwd", "bwd", "recompute"]


class Tensor(NamedTuple):
    """A value: where it stands in the graph, its shape, what it is for, and a name to print.

    `dtype` is a storage format it is pinned to (indices, masks), or None to follow the account's. `storage` is the
    tensor whose memory it shares, None for its own; `strides` are in elements, None for contiguous.
    """

    id: int
    shape: tuple[Size, ...]
    role: Role
    name: str
    dtype: str | None = None
    storage: int | None = None
    strides: tuple[Expr, ...] | None = None

    @property
    def numel(self) -> Size:
        """The number of elements."""
        return cast("Size", product(self.shape))

    @property
    def owner(self) -> int:
        """The tensor in whose memory it lies."""
        return self.id if self.storage is None else self.storage


_NO_ATTRS: Mapping[str, Any] = MappingProxyType({})


class Einsum(NamedTuple):
    """What an einsum operation sums: the axes of each operand and of the output, by name, and their sizes."""

    operands: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    sizes: Mapping[str, Size]
    nest: bool = False
    """Whether it runs as one loop nest: nothing is summed before the product."""

    def size(self, axes: Iterable[str]) -> Expr:
        """Return the number of points over some axes."""
        sizes = self.sizes
        return product([sizes[a] for a in axes])

    def text(self) -> str:
        """Return the operation as a pattern."""
        return ", ".join(" ".join(o) for o in self.operands) + " -> " + " ".join(self.output)


class Op(NamedTuple):
    """One operation: its kind names the rule that knows what it costs; inputs and outputs are tensor ids in order.

    `attrs` are what the kind needs besides tensors (axes, a stride, the body of a repeat); `scope` is the path of the
    module or function it stands in, `phase` whether it runs forward, backward or again.

    A repeat runs its `body`, but for the turns that differ: `first` and `last` in its attributes are the bodies of its
    first and last turns, in the order in which they run. `reverse` takes the slices of what is stacked from the last
    to the first. What a body yields besides the carries is stacked, a slice a turn;
    the last of it, `kept`, is for a backward pass alone.
    """

    id: int
    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    einsum: Einsum | None = None
    attrs: Mapping[str, Any] = _NO_ATTRS
    scope: str = ""
    phase: Phase = "fwd"

    def __reduce__(self) -> tuple[type[Op], tuple[Any, ...]]:
        """Pickle and copy the attributes as a plain mapping; a read-only one cannot be."""
        return Op, tuple(dict(v) if type(v) is MappingProxyType else v for v in self)

    @property
    def bodies(self) -> tuple[tuple[Graph, Expr], ...]:
        """The bodies of a repeat in the order in which they run, each with how often it does."""
        first, last = self.attrs.get("first", ()), self.attrs.get("last", ())
        turns = self.attrs["n"] - len(first) - len(last)
        main = () if turns == 0 else ((self.attrs["body"], turns),)
        return (*((g, 1) for g in first), *main, *((g, 1) for g in last))

    def body(self, turn: int) -> Graph:
        """Return the body that a repeat runs in a turn, counted from the end where negative."""
        first, last = self.attrs.get("first", ()), self.attrs.get("last", ())
        if 0 <= turn < len(first):
            return first[turn]  # type: ignore[no-any-return]
        return last[turn] if -len(last) <= turn < 0 else self.attrs["body"]  # type: ignore[no-any-return]

    @property
    def collected(self) -> int:
        """How many outputs of a repeat are collected for what comes after: all but the carries and what is kept."""
        return len(self.outputs) - self.attrs["carry"] - self.attrs.get("kept", 0)  # type: ignore[no-any-return]

    @property
    def parts(self) -> tuple[Graph, ...]:
        """The graphs inside: the bodies of a repeat, the branches of a conditional, none of the rest."""
        if self.kind == "repeat":
            return (*self.attrs.get("first", ()), self.attrs["body"], *self.attrs.get("last", ()))
        return tuple(self.attrs["branches"]) if self.kind == "cond" else ()

    def with_parts(self, change: Callable[[Graph], Graph]) -> Op:
        """Return the operation with each graph inside changed."""
        attrs = dict(self.attrs)
        for name in attrs.keys() & {"first", "last", "branches"}:
            attrs[name] = tuple(map(change, attrs[name]))
        if "body" in attrs:
            attrs["body"] = change(attrs["body"])
        return self._replace(attrs=attrs)

    @property
    def label(self) -> str:
        """What is computed, to print: the pattern of an einsum, the name of an opaque operation, else the kind."""
        if self.einsum:
            return self.einsum.text()
        if self.kind == "repeat":
            return f"repeat {self.attrs['n']} times"
        return str(self.attrs["name"]) if self.kind == "opaque" else self.kind


class Graph(NamedTuple):
    """Tensors and operations in the order in which they are made; each tensor is written once."""

    tensors: tuple[Tensor, ...]
    ops: tuple[Op, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    stated: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """Return what equal graphs share: attributes are not hashable, kinds are."""
        return hash((self.tensors, tuple([op.kind for op in self.ops]), self.inputs, self.outputs, self.stated))

    def nx(self) -> Any:
        """Return a bipartite ``networkx.DiGraph`` for any algorithm on graphs; see `symacct.graph.export`."""
        from symacct.graph.export import to_networkx

        return to_networkx(self)

    def to_json(self) -> dict[str, Any]:
        """Return the graph as JSON-able data; ``Graph.from_json`` gives the same graph back."""
        from symacct.graph.save import dump

        return dump(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Graph:
        """Return the graph that `to_json` wrote."""
        from symacct.graph.save import load

        return load(data)

    def to_text(self, form: str) -> str:
        """Return the graph as ``"dot"``, ``"mermaid"`` or ``"graphml"``.

        Raises
        ------
        GraphError
            For another form.

        """
        from symacct.graph import export

        forms = {"dot": export.to_dot, "mermaid": export.to_mermaid, "graphml": export.to_graphml}
        if form not in forms:
            msg = f"unknown form {form!r}; known: {', '.join(forms)}"
            raise GraphError(msg)
        return forms[form](self)

    def leaving(self) -> dict[int, list[int]]:
        """Return which tensors each operation is the last to use: -1 where an input is not used; outputs stay."""
        last = dict.fromkeys(self.inputs, -1) | {i: op.id for op in self.ops for i in op.inputs + op.outputs}
        out: dict[int, list[int]] = {}
        for i in last.keys() - set(self.outputs):
            out.setdefault(last[i], []).append(i)
        return out

    def run(self, sizes: Mapping[str, int], *, backend: str = "torch", **options: Any) -> Any:
        """Run the graph on random tensors of these sizes, each freed at its last use; see `symacct.eager.run`."""
        from symacct.eager.run import run

        return run(self, sizes, backend=backend, **options)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What was stated, and what follows from the shapes: exact divisions divide, differences stay positive."""
        derived = [c for t in self.tensors for size in t.shape for c in size_conditions(size)]
        return tuple(dict.fromkeys([*(read_condition(s) for s in self.stated), *derived]))


def size_conditions(size: Size) -> list[Condition]:
    """Return what must hold for an expression to be a size: a positive integer."""
    if not isinstance(size, Poly):
        return []
    out: list[Condition] = []
    above, below = whole_denominator(size)
    if below != 1:
        out.append(Condition("divides", below, above))
    calls = {a.function for m in terms_of(size) for a, _ in m if isinstance(a, Call)}
    if below == 1 and ("log2" in calls or any(type(e) is Fraction for m in terms_of(size) for _, e in m)):
        out.append(Condition("divides", 1, size))
    if {"floor", "log2"} & calls or any(c < 0 for c in terms_of(size).values()):
        out.append(Condition("at_least", size, 1))
    return out
