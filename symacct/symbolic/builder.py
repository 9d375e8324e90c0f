"""A graph while it is built: tensors and operations in the order in which a function makes them."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import WeakMethod

from symacct.errors import GraphError, SizeError, SymacctError, UnknownOpError, one_of
from symacct.expr import Size, as_size, names_in, substitute
from symacct.graph import Einsum, Graph, Op, Phase, Role, Tensor, read_condition
from symacct.graph.alike import Likes, frozen
from symacct.rules import RULES
from symacct.rules.rule import Out

_HERE = str(Path(__file__).resolve().parent.parent)


class _Known(NamedTuple):
    """What is made by operations that are alike, under which names; they share their attributes."""

    outs: tuple[tuple[str, Out], ...]
    attrs: Mapping[str, Any]
    einsum: Einsum | None


class Builder:
    """Collects tensors and operations; a rule checks shapes and announces outputs as each operation is added."""

    def __init__(self, sizes: Mapping[str, Size] | None = None, used: set[str] | None = None) -> None:
        self.sizes = sizes or {}  # put in for names, also where one is written inside the function
        self.used = set() if used is None else used  # the names that were written
        self.tensors: list[Tensor] = []
        self.ops: list[Op] = []
        self.inputs: list[int] = []
        self.scope = ""
        self.phase: Phase = "fwd"
        self.is_body = used is not None
        self.stated: list[str] = []
        self.states = WeakMethod(self.state)
        self.refusal = ""
        """Why no operation can be added now."""
        self.likes = Likes()
        self.marks: list[int] = []  # which tensors are alike
        self.known: dict[Hashable, _Known] = {}  # what rules announced, for operations that are alike

    @staticmethod
    def resumed(graph: Graph) -> Builder:
        """Return a builder that goes on where a graph ends; what it adds comes after, under the same ids."""
        builder = Builder()
        for tensor in graph.tensors:
            builder._add(tensor)
        builder.ops, builder.inputs = list(graph.ops), list(graph.inputs)
        return builder

    def input(self, shape: Sequence[Size], name: str, role: Role = "input", dtype: str | None = None) -> int:
        """Add a tensor that the graph is given; return its id."""
        return self.given(Tensor(0, tuple(shape), role, name, dtype))

    def given(self, like: Tensor) -> int:
        """Add a tensor that the graph is given, like one of another graph; return its id."""
        made = len(self.tensors)
        self._add(like._replace(id=made, storage=None))
        self.inputs.append(made)
        return made

    def _add(self, tensor: Tensor) -> None:
        self.tensors.append(tensor)
        self.marks.append(self.likes.tensor(tensor))

    def pin(self, i: int, dtype: str) -> None:
        """Give a dtype to a tensor that no operation has read yet."""
        self.tensors[i] = self.tensors[i]._replace(dtype=dtype)
        self.marks[i] = self.likes.tensor(self.tensors[i])

    def size(self, written: Any, what: str) -> Size:
        """Read a size that is written inside the function, with what is put in for its names."""
        try:
            size = as_size(written, what)
        except SizeError as error:
            msg = f"{error}{caller()}"
            raise SizeError(msg) from None
        self.used.update(names_in(size))
        put_in = substitute(size, self.sizes)
        if isinstance(put_in, Fraction) or (type(put_in) is int and put_in < 1):
            msg = f"{what} = {written} is {put_in} at these sizes, which is no size{caller()}"
            raise SizeError(msg)
        return put_in

    def state(self, text: str) -> None:
        """Add a condition, with what is put in for the names of its sizes, unless it always holds.

        Raises
        ------
        SizeError
            If it does not hold at these sizes.

        """
        written = read_condition(text)
        sides = [side for side in (written.left, written.right) if not isinstance(side, str)]
        self.used.update(n for side in sides for n in names_in(side))
        found = written.with_sizes(lambda size: substitute(size, self.sizes))
        if found.holds is False:
            msg = f"these sizes break a condition: {text} ({found}){caller()}"
            raise SizeError(msg)
        if not found.holds:
            self.stated.append(str(found))

    @contextmanager
    def inner(self, what: str) -> Iterator[Builder]:
        """Give a builder for a body; meanwhile nothing is added outside, where it would run once and not with the body.

        `what` says what the body is of, and how it is given tensors.
        """
        refusal, self.refusal = self.refusal, f"a tensor from outside the body of {what}"
        try:
            yield Builder(self.sizes, self.used)
        finally:
            self.refusal = refusal

    def op(self, kind: str, inputs: Sequence[int], attrs: Mapping[str, Any]) -> tuple[int, ...]:
        """Add an operation; return the ids of its outputs.

        Raises
        ------
        SymacctError
            What the rule says about the shapes, with the line of the caller.

        """
        if self.refusal:
            msg = f"{kind}: {self.refusal}{caller()}"
            raise GraphError(msg)
        key = (kind, frozen(attrs), tuple([self.marks[i] for i in inputs]))
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = self._announced(kind, inputs, attrs)
        first = len(self.tensors)
        for name, out in known.outs:
            storage = None if out.view_of is None else self.tensors[inputs[out.view_of]].owner
            self._add(Tensor(len(self.tensors), out.shape, "act", name, out.dtype, storage, out.strides))
        made = tuple(range(first, len(self.tensors)))
        self.ops.append(Op(len(self.ops), kind, tuple(inputs), made, known.einsum, known.attrs, self.scope, self.phase))
        return made

    def yields_more(self, op: Op, made: Sequence[Tensor], attrs: Mapping[str, Any]) -> tuple[int, ...]:
        """Let an operation with graphs inside yield more, under other attributes; return the ids of what is added."""
        first = len(self.tensors)
        for tensor in made:
            self._add(tensor._replace(id=len(self.tensors), role="act", storage=None))
        ids = tuple(range(first, len(self.tensors)))
        self.ops[op.id] = op._replace(outputs=op.outputs + ids, attrs=MappingProxyType(dict(attrs)))
        return ids

    def _announced(self, kind: str, inputs: Sequence[int], attrs: Mapping[str, Any]) -> _Known:
        """Ask the rule what an operation makes."""
        if kind not in RULES:
            msg = f"no rule for the operation {kind!r}; known: {one_of(sorted(RULES))}; see symacct.opaque"
            raise UnknownOpError(msg)
        try:
            outs = RULES[kind].shape([self.tensors[i] for i in inputs], attrs)
        except SymacctError as error:
            raise type(error)(f"{kind}: {error}{caller()}") from None
        names = [kind] if len(outs) == 1 else [f"{kind} {number}" for number in range(1, len(outs) + 1)]
        return _Known(tuple(zip(names, outs, strict=True)), MappingProxyType(dict(attrs)), attrs.get("einsum"))

    @contextmanager
    def within(self, scope: str) -> Iterator[None]:
        """Put the operations added inside under a scope."""
        around, self.scope = self.scope, f"{self.scope}/{scope}" if self.scope else scope
        try:
            yield
        finally:
            self.scope = around

    def graph(self, outputs: Sequence[int], stated: Sequence[str] = ()) -> Graph:
        """Finish the graph; what it was built from can no longer be used."""
        self.refusal = "the graph is finished; a symbolic tensor is of use only inside the function that was given it"
        done = set(outputs)
        given = set(self.inputs)
        tensors = tuple(_in_its_role(t, yielded=t.id in done) if t.id not in given else t for t in self.tensors)
        graph = Graph(tensors, tuple(self.ops), tuple(self.inputs), tuple(outputs), tuple(stated))
        if not self.stated:
            return graph
        known = {str(c) for c in graph.conditions}
        return graph._replace(stated=tuple(dict.fromkeys([*stated, *(s for s in self.stated if s not in known)])))


def _in_its_role(tensor: Tensor, *, yielded: bool) -> Tensor:
    if yielded == (tensor.role == "output"):
        return tensor
    return tensor._replace(role="output" if yielded else "act")


def caller() -> str:
    """Return where the user's code stands, to end a message with: the first frame outside symacct, einops and torch."""
    frame = inspect.currentframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_HERE) and not set(Path(file).parts) & {"einops", "torch"}:
            return f"\n  at {Path(file).name}:{frame.f_lineno}, in {frame.f_code.co_name}"
        frame = frame.f_back
    return ""
