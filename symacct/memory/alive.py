"""What is alive when: a graph walked as it runs, each tensor freed at its last use, in bytes that stay closed forms.

Storages count once, however many tensors lie in them. A repeat is walked a few turns only, as `turns` says; what it
stacks are the slices that its turns leave behind, and they go one by one as a repeat back takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from symacct.errors import InconclusiveError
from symacct.expr import Expr, add, multiply
from symacct.graph import Graph, Op, Tensor

Path: TypeAlias = tuple[int, ...]
"""An operation; inside a repeat its turn and the operation there; and so on. Operation -1 is before the first."""


class Label(NamedTuple):
    """Whose storage it is: what it is for, a name to print, where it was made, its format."""

    role: str
    name: str
    scope: str
    dtype: str


class Storage:
    """Memory that tensors lie in; it is alive as long as someone holds it."""

    __slots__ = ("bytes", "holders", "label")

    def __init__(self, bytes: Expr, label: Label) -> None:
        self.bytes = bytes
        self.label = label
        self.holders = 0


class Slices(list["Value | None"]):
    """What a repeat stacks, a value a turn; None where it was taken for its last use. Some are not kept at all."""

    def __init__(self, values: Iterable[Value | None] = (), *, keeps: bool = True) -> None:
        super().__init__(values)
        self.keeps = keeps

    def turned(self, *, back: bool) -> Slices:
        """Return the slices in the order of the tensor that they are of."""
        return Slices(reversed(self)) if back else self


Value: TypeAlias = Storage | Slices


class Alive:
    """The storages that are alive, and who looks at them."""

    def __init__(self, look: Callable[[Path, Alive], object], by_role: dict[str, Expr] | None = None) -> None:
        self.look = look
        self.storages: dict[int, Storage] = {}
        self.amounts: dict[Expr, int] = {}
        """How many storages there are of so many bytes: counting forms is faster than adding them up."""
        self.by_role = by_role

    def hold(self, value: Value | None) -> None:
        """Keep a value alive once more."""
        if isinstance(value, Slices):
            for part in value:
                self.hold(part)
        elif value is not None:
            if not value.holders:
                self._count(value, 1)
                self.storages[id(value)] = value
            value.holders += 1

    def drop(self, value: Value | None) -> None:
        """Let go of a value; the last to do so frees it."""
        if isinstance(value, Slices):
            for part in value:
                self.drop(part)
        elif value is not None:
            value.holders -= 1
            if not value.holders:
                self._count(value, -1)
                del self.storages[id(value)]

    def _count(self, storage: Storage, more: int) -> None:
        self.amounts[storage.bytes] = self.amounts.get(storage.bytes, 0) + more
        if self.by_role is not None:
            role = storage.label.role
            self.by_role[role] = add((self.by_role.get(role, 0), multiply(more, storage.bytes)))

    def held(self) -> dict[Label, Expr]:
        """Return the bytes that are alive, by whose they are."""
        out: dict[Label, list[Expr]] = {}
        for storage in self.storages.values():
            out.setdefault(storage.label, []).append(storage.bytes)
        return {label: add(parts) for label, parts in out.items()}


Measure: TypeAlias = Callable[[Tensor, Op, str], Storage]
"""Makes the storage of a tensor that an operation makes, in a scope."""


class Turns(NamedTuple):
    """How often repeats are walked, by how often they really run; and how many turns are told apart at either end."""

    walked: Mapping[Expr, int]
    ends: Mapping[Expr, int]

    def told(self, op: Op, turn: int) -> int:
        """Return a turn as it is told: the last ones are counted from the end, so are all with a body of theirs."""
        n = op.attrs["n"]
        alike = self.walked[n] - len(op.attrs.get("last", ()))
        return turn if turn < min(self.ends[n], alike) else turn - self.walked[n]


class Apart(NamedTuple):
    """Inputs and outputs of the whole graph that are not held like the others.

    `late` inputs come to be when they are first read. `absorbed` outputs are added to what is there already, so that
    they are freed as what nobody reads. `sliced` outputs a repeat collects, each turn's as a tensor of its own.
    """

    late: frozenset[int] = frozenset()
    absorbed: frozenset[int] = frozenset()
    sliced: frozenset[int] = frozenset()


class Lies:
    """Where the tensors of a graph lie, also those that only views are left of."""

    def __init__(self, graph: Graph, values: Mapping[int, Value], measure: Measure) -> None:
        self.graph, self.values, self.measure = graph, values, measure
        self.storages: dict[int, Storage] = {}

    def of(self, i: int, op: Op, scope: str) -> Storage:
        """Return where an output lies: in memory of its own, or in that of the tensor it is a view of."""
        owner = self.graph.tensors[i].owner
        if owner not in self.storages:
            value = self.values.get(owner)
            made = value if isinstance(value, Storage) else self.measure(self.graph.tensors[owner], op, scope)
            self.storages[owner] = made
        return self.storages[owner]


class Walk:
    """Walks a graph, its repeats as often as `turns` says."""

    def __init__(self, alive: Alive, measure: Measure, turns: Turns, apart: Apart) -> None:
        self.alive = alive
        self.measure = measure
        self.turns = turns
        self.apart = apart
        self._leaving: dict[int, Mapping[int, list[int]]] = {}

    def run(self, graph: Graph, given: Sequence[Value], path: Path = (), scope: str = "") -> list[Value]:
        """Walk the operations in order; return the values of the outputs, which nobody holds."""
        alive, leaving = self.alive, self._last_uses(graph, top=not path)
        values: dict[int, Value] = {}
        lies = Lies(graph, values, self.measure)
        for i, value in zip(graph.inputs, given, strict=True):
            values[i] = value
            if path or i not in self.apart.late:
                alive.hold(value)
        late = set() if path else set(self.apart.late)
        alive.look((*path, -1), alive)
        for at, op in enumerate(graph.ops):
            self._leave(values, leaving.get(at - 1, ()))
            taken = [values[i] for i in op.inputs]
            for i in late.intersection(op.inputs):
                alive.hold(values[i])
                late.remove(i)
            here = f"{scope}/{op.scope}" if scope and op.scope else scope or op.scope
            if op.kind in ("repeat", "cond"):
                self._leave(values, leaving.get(at, ()))
                made = self._repeat(graph, op, taken, (*path, at), here)
            else:
                made = [lies.of(i, op, here) for i in op.outputs]
            for i, value in zip(op.outputs, made, strict=True):
                values[i] = value
                alive.hold(value)
            alive.look((*path, at), alive)
        self._leave(values, leaving.get(len(graph.ops) - 1, ()))
        out = [values.get(i, Slices()) for i in graph.outputs]
        for value in values.values():
            alive.drop(value)
        return out

    def _leave(self, values: dict[int, Value], ids: Sequence[int]) -> None:
        for i in ids:
            if i in values:
                self.alive.drop(values.pop(i))

    def _repeat(self, graph: Graph, op: Op, taken: Sequence[Value], path: Path, scope: str) -> list[Value]:
        """Walk the turns; what is collected is one tensor from the first on, what is kept lies where it was made."""
        if op.kind == "cond":
            msg = "how much memory a conditional takes depends on the branch; account for the layer with one branch"
            raise InconclusiveError(msg)
        alive, first = self.alive, op.attrs["carry"]
        last = first + op.attrs["xs"]
        carry, xs, consts = list(taken[:first]), list(map(_copied, taken[first:last])), list(taken[last:])
        n = self.turns.walked[op.attrs["n"]]
        order = range(n - 1, -1, -1) if op.attrs.get("reverse") else range(n)
        inside = [*xs, *consts]
        for value in inside:
            alive.hold(value)
        yielded: list[Value] = []
        for turn, i in enumerate(order):
            slices = [self._taken(x, i) for x in xs]
            here = (*path, self.turns.told(op, turn))
            body = op.body(here[-1])
            made = self.run(body, [*carry, *slices, *consts], here, scope)
            carry = made[:first]
            if not turn:
                yielded = self._stacks(graph, op, path, scope)
                self._look_at(made, yielded, (*here, len(body.ops)))
            for stacked, value in zip(yielded, made[first:], strict=True):
                if isinstance(stacked, Slices) and stacked.keeps:
                    alive.hold(value)
                    stacked.append(value)
        for value in [*inside, *yielded]:
            alive.drop(value)
        return [*carry, *(s.turned(back="reverse" in op.attrs) if isinstance(s, Slices) else s for s in yielded)]

    def _stacks(self, graph: Graph, op: Op, path: Path, scope: str) -> list[Value]:
        """Return what the turns are stacked in: a tensor where they are collected, else slices."""
        outputs = op.outputs[op.attrs["carry"] :]
        out: list[Value] = []
        for place, i in enumerate(outputs):
            by_itself = not path[1:] and i in self.apart.sliced
            gone = not path[1:] and i in self.apart.absorbed
            if place < op.collected and not (by_itself or gone):
                out.append(self.measure(graph.tensors[i], op, scope))
            else:
                out.append(Slices(keeps=not gone))
        return out

    def _look_at(self, made: Sequence[Value], yielded: Sequence[Value], path: Path) -> None:
        """Look at the end of a first turn: what it made is there, and what is to hold the slices of all."""
        for value in yielded:
            self.alive.hold(value)
        if any(isinstance(value, Storage) for value in yielded):
            for value in made:
                self.alive.hold(value)
            self.alive.look(path, self.alive)
            for value in made:
                self.alive.drop(value)

    def _taken(self, x: Value, i: int) -> Value:
        """Return a slice for its only use; of a tensor, a view of all."""
        if isinstance(x, Storage):
            return x
        found = x[i]
        assert found is not None
        x[i] = None
        self.alive.drop(found)
        return found

    def _last_uses(self, graph: Graph, *, top: bool) -> Mapping[int, list[int]]:
        """Return which tensors are used last by which operation."""
        if id(graph) not in self._leaving:
            stay = [i for i in graph.outputs if not (top and i in self.apart.absorbed)]
            self._leaving[id(graph)] = graph._replace(outputs=tuple(stay)).leaving()
        return self._leaving[id(graph)]


def _copied(value: Value) -> Value:
    """Return slices that can be taken without taking them from whoever else holds them."""
    return Slices(value) if isinstance(value, Slices) else value
