"""What is kept from the forward pass for the backward one: each piece of memory once, however many operations keep it.

An operation keeps tensors; of those that lie in one memory all of it is kept. The turns of a repeat are gone through
from the last to the first: what a turn keeps of its carry is what the turn before made, and of the first turn what the
repeat was given. So L blocks of ``relu(h @ w)`` keep the input and L results, since the product keeps what the relu
before made; blocks of ``gelu(h @ w)`` keep two tensors each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from symacct.backward.loops import Key, Turns, bodies_of, turns_of
from symacct.backward.needs import Needs, needing, useful, wants
from symacct.backward.policies import POLICIES
from symacct.dtypes import AnyFormat
from symacct.expr import Expr, Poly, multiply
from symacct.graph import Condition, Graph, Op, Tensor
from symacct.rules import owners, rule_of
from symacct.rules.control import enough_turns
from symacct.rules.rule import Residual

Chosen: TypeAlias = Callable[[Op], Graph]
"""Tells which branch of a conditional runs."""

Place: TypeAlias = tuple[int, ...]
GIVEN = -1
"""Where a place begins with this, it is of what a graph is given."""


class Kept(NamedTuple):
    """A tensor that is kept, how often, and which operations keep it.

    `maker` is the kind of the operation that made it (none made an input) and `output` which of its outputs it is. A
    `copy` is made to be kept, or to lay out what is.
    """

    tensor: Tensor
    times: Expr
    by: tuple[str, ...]
    scope: str
    maker: str = ""
    output: int = 0
    copy: bool = False


class Saved(NamedTuple):
    """What an operation keeps: a tensor in a memory, or one of its own (None); whether it is there before it runs."""

    tensor: Tensor
    memory: int | None
    before: bool


class Running(NamedTuple):
    """How a forward pass runs: with fused kernels where a device has them, and on tensors in which formats."""

    fused: bool
    format_of: Callable[[Tensor, Graph], AnyFormat]


class Saving:
    """What each operation of a graph keeps, but for those with graphs inside."""

    def __init__(self, graph: Graph, needs: set[int], policy: str, running: Running) -> None:
        """Find in whose memory each tensor lies, who made it, and which operations keep anything."""
        self.graph, self.needs, self.keeping, self.running = graph, needs, POLICIES[policy], running
        alike = dict(pair for op in graph.ops if op.kind == "repeat" for pair in _alike(op))
        self.owners = [alike.get(i, i) for i in owners(graph, free_copies=not self.keeping.copies)]
        self.useful = useful(graph, needs)
        self.makers = {i: (op, place) for op in graph.ops for place, i in enumerate(op.outputs)}

    def of(self, op: Op) -> list[Saved]:
        """Return what an operation keeps: what is copied to be laid out as the copy."""
        graph, out = self.graph, list[Saved]()
        copied = {r.tensor: r.shape for r in rule_of(op).copies(op, graph)} if self.keeping.copies else {}
        for r in self._residuals(op):
            before = r.kind == "input"
            tensor = graph.tensors[(op.outputs if r.kind == "output" else op.inputs)[r.which]]
            if r.kind == "output" or (before and tensor.id not in copied):
                out.append(Saved(tensor, self.owners[tensor.id], before))
                continue
            shape, dtype = (copied[tensor.id], tensor.dtype) if before else (r.shape, r.dtype)
            out.append(Saved(Tensor(tensor.id, shape, "act", r.name or f"copy of {tensor.name}", dtype), None, before))
        return out

    def _residuals(self, op: Op) -> list[Residual]:
        """Return what the kernels that run keep: fused ones, or composite ones, step by step; without copies fused."""
        other = "composite" if self.running.fused or not self.keeping.copies else "fused"
        residuals = self.keeping.of(op, self.graph, wants(op, self.needs))
        return [self._in_fp32(r, op) if r.kernel == "composite" else r for r in residuals if r.kernel != other]

    def _in_fp32(self, r: Residual, op: Op) -> Residual:
        """Return what composite kernels keep: the first input, and what they make, in fp32 at least."""
        x = self.graph.tensors[op.inputs[0]]
        own = self.running.format_of(x, self.graph).name
        if r.kind == "extra":
            return r._replace(dtype="fp64") if own == "fp64" else r
        if r.kind == "output" or r.which or own in ("fp32", "fp64"):
            return r
        return Residual("extra", 0, x.shape, "fp32", f"{x.name} in fp32")

    def keeps(self, op: Op) -> bool:
        """Whether an operation keeps anything, or a graph inside it may."""
        return op.id in self.useful and bool(op.parts or self.of(op))

    def memory(self, i: int, by: tuple[str, ...] = ()) -> Kept:
        """Return all of a memory as what is kept."""
        op, place = self.makers.get(i, (None, 0))
        return Kept(self.graph.tensors[i], 1, by, *(("", "") if op is None else (op.scope, op.kind)), place)


def _alike(op: Op) -> Iterator[tuple[int, int]]:
    """Yield the results of a repeat that are one tensor, each with the first of them."""
    given = op.attrs["body"].outputs[: op.attrs["carry"]]
    return ((op.outputs[place], op.outputs[given.index(i)]) for place, i in enumerate(given))


class Found(NamedTuple):
    """What is kept of a graph: memories of its own tensors, each with who keeps it; and other tensors, by place.

    `inside` are outputs of repeats and branches that these keep themselves, by the place in `others`.
    """

    saving: Saving
    memories: dict[int, tuple[str, ...]]
    others: dict[Place, Kept]
    inside: dict[int, Place]

    def add(self, tensor: int, by: Iterable[str]) -> None:
        """Add the memory of a tensor, or another that keeps it."""
        memory = self.saving.owners[tensor]
        self.memories[memory] = tuple(dict.fromkeys((*self.memories.get(memory, ()), *by)))

    def add_given(self, inside: Found, given: Mapping[int, int]) -> None:
        """Add what a graph inside keeps of what it is given; `given` tells what that is here."""
        for i, by in inside.memories.items():
            if i in given:
                self.add(given[i], by)

    def add_others(self, op: Op, others: Mapping[Place, Kept], times: Expr) -> None:
        """Add what a graph inside keeps of its own; what is there already is kept more often."""
        for place, kept in others.items():
            here = (op.id, *place)
            before, often = self.others.get(here), multiply(kept.times, times)
            scope = "/".join(part for part in (op.scope, kept.scope) if part)
            self.others[here] = (
                kept._replace(times=often, scope=scope) if before is None else _more(before, kept, often)
            )

    def place(self, memory: int) -> Place | None:
        """Return where a memory that is kept and made here is among everything; None of others."""
        op, place = self.saving.makers.get(memory, (None, 0))
        own = None if op is None or memory not in self.memories else (op.id, -1, place)
        return self.inside.get(memory, own)

    def made_inside(self, op: Op, inner: Found, outputs: Iterable[tuple[int, int]]) -> None:
        """Note which outputs of an operation the graph inside keeps."""
        places = [(outer, inner.place(inner.saving.owners[i])) for i, outer in outputs]
        self.inside.update({outer: (op.id, *place) for outer, place in places if place is not None})

    def everything(self, given: Iterable[int] = ()) -> dict[Place, Kept]:
        """Return what is kept but for what the graph is given, by the places of operations on the way there."""
        out = dict(self.others)
        for i in self.memories.keys() - given:
            out[self.place(i) or (GIVEN, i)] = self.saving.memory(i, self.memories[i])
        return out


def _more(before: Kept, kept: Kept, times: Expr) -> Kept:
    return before._replace(times=before.times + times, by=tuple(dict.fromkeys((*before.by, *kept.by))))


AFTER = ("what follows",)
"""Who keeps a carry that the next turn or something behind the repeat keeps."""


def kept(
    graph: Graph, needed: Needs, policy: str, chosen: Chosen, running: Running
) -> tuple[list[Kept], list[Condition]]:
    """Return what is kept of a graph, in the order in which it is made, and what must hold: enough turns of repeats.

    Parameters
    ----------
    graph
        The forward pass.
    needed
        Which of its inputs need a gradient.
    policy
        A name of `symacct.backward.policies`.
    chosen
        Tells which branch of a conditional runs.
    running
        How the forward pass runs.

    """
    search = Search(policy, chosen, running, [])
    found = search.within(graph, needed, {}).everything()
    return [k for _, k in sorted(found.items(), key=lambda item: item[0])], list(dict.fromkeys(search.conditions))


class Search(NamedTuple):
    """Goes through graphs and those inside them under one policy."""

    policy: str
    chosen: Chosen
    running: Running
    conditions: list[Condition]
    """Filled on the way: how many turns there must be where the first ones or the last ones differ."""

    def within(self, graph: Graph, needed: Needs, outside: Mapping[int, Sequence[str]]) -> Found:
        """Return what is kept of a graph; `outside` are outputs that are kept there, and by whom."""
        saving = Saving(graph, needing(graph, needed), self.policy, self.running)
        found = Found(saving, {}, {}, {})
        for i, by in outside.items():
            found.add(i, by)
        self.over(graph.ops, found)
        return found

    def over(self, ops: Iterable[Op], found: Found) -> None:
        """Add what operations keep, the last one first."""
        for op in reversed(tuple(ops)):
            if op.id in found.saving.useful:
                {"repeat": self._repeat, "cond": self._cond}.get(op.kind, self._plain)(op, found)

    def _plain(self, op: Op, found: Found) -> None:
        for place, (tensor, memory, _) in enumerate(found.saving.of(op)):
            if memory is None:
                found.others[op.id, -2, place] = Kept(tensor, 1, (op.kind,), op.scope, copy=True)
            else:
                found.add(memory, (op.kind,))

    def _cond(self, op: Op, found: Found) -> None:
        branch, wanted = self.chosen(op), wants(op, found.saving.needs)
        both = tuple(zip(branch.outputs, op.outputs, strict=True))
        outside = {inner: found.memories.pop(outer) for inner, outer in both if outer in found.memories}
        inside = self.within(branch, wanted[1:], outside)
        given = dict(zip(branch.inputs, op.inputs[1:], strict=True))
        found.add_given(inside, given)
        found.add_others(op, inside.everything(given), 1)
        found.made_inside(op, inside, both)

    def _repeat(self, op: Op, found: Found) -> None:
        bodies, carry, n = bodies_of(op), op.attrs["carry"], op.attrs["n"]
        body = bodies[-1]  # of which others number their tensors alike
        filled = tuple(found.memories.pop(i, None) is not None for i in op.outputs[:carry])
        stacked = () if found.saving.keeping.copies else zip(body.outputs[carry:], op.outputs[carry:], strict=True)
        collected = {inner: found.memories.pop(outer) for inner, outer in stacked if outer in found.memories}
        turns: dict[Key, Found] = {}

        def carries_kept(key: Key) -> Needs:
            if key not in turns:
                outputs = {i: AFTER for i, kept in zip(body.outputs, key.filled, strict=False) if kept}
                turns[key] = self.within(bodies[key.body], key.needs, {**collected, **outputs})
            return tuple(i in turns[key].memories for i in body.inputs[:carry])

        wanted = wants(op, found.saving.needs)
        order = turns_of(op, wanted, filled, carries_kept)
        for few in reversed(range(1, len(order.first) + len(order.last)) if isinstance(n, Poly) else ()):
            written_out = turns_of(op._replace(attrs={**op.attrs, "n": few}), wanted, filled, carries_kept)
            if few < len(order.last) or _held(written_out, few, turns) != _held(order, few, turns):
                self.conditions.extend(enough_turns(n, few + 1))
                break
        given = dict(zip(body.inputs[carry:], op.inputs[carry:], strict=True))
        for key, times in order.times(n):
            found.add_given(turns[key], given)
            found.add_others(op, turns[key].everything(body.inputs), times)
        found.made_inside(op, turns[order.times(n)[0][0]], zip(body.outputs[:carry], op.outputs, strict=False))
        for i, kept in zip(op.inputs, order.filled, strict=False):
            if kept:
                found.add(i, (op.kind,))


def _held(turns: Turns, n: int, found: Mapping[Key, Found]) -> tuple[dict[Place, Expr], Needs]:
    """Return how often n turns keep what they make, whether what they are given but parameters, and which carries."""
    counts: dict[Place, Expr] = {}
    for key, times in turns.times(n):
        for place, k in found[key].everything().items():
            if k.tensor.role != "param":
                counts[place] = 1 if place[0] == GIVEN else counts.get(place, 0) + times
    return counts, turns.filled
