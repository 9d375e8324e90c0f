"""What is kept from the forward pass for the backward one: each piece of memory once, however many operations keep it.

An operation keeps tensors; of those that lie in one memory all of it is kept. The turns of a repeat are gone through
from the last to the first: what a turn keeps of its carry is what the turn before made, and of the first turn what the
repeat was given. So L blocks of ``relu(h @ w)`` keep the input and L results, since the product keeps what the relu
before made; blocks of ``gelu(h @ w)`` keep two tensors each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from symacct.backward.loops import Key, turns_of
from symacct.backward.needs import Needs, needing, wants
from symacct.backward.policies import POLICIES, Keeping
from symacct.expr import Expr, multiply
from symacct.graph import Graph, Op, Tensor
from symacct.rules import rule_of

Chosen: TypeAlias = Callable[[tuple[Graph, ...]], Graph]
"""Tells which branch of a conditional runs."""

Place: TypeAlias = tuple[int, ...]


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


class Found(NamedTuple):
    """What is kept of a graph: memories of its own tensors, each with who keeps it; and other tensors, by place."""

    memories: dict[int, tuple[str, ...]]
    others: dict[Place, Kept]

    def add(self, memory: int, by: Iterable[str]) -> None:
        """Add a memory, or another that keeps it."""
        self.memories[memory] = tuple(dict.fromkeys((*self.memories.get(memory, ()), *by)))

    def add_given(self, inside: Found, given: Mapping[int, int], owners: Sequence[int]) -> None:
        """Add what a graph inside keeps of what it is given; `given` tells what that is here."""
        for i, by in inside.memories.items():
            if i in given:
                self.add(owners[given[i]], by)

    def add_others(self, op: Op, others: Mapping[Place, Kept], times: Expr) -> None:
        """Add what a graph inside keeps of its own; what is there already is kept more often."""
        for place, kept in others.items():
            here = (op.id, *place)
            before, often = self.others.get(here), multiply(kept.times, times)
            scope = "/".join(part for part in (op.scope, kept.scope) if part)
            self.others[here] = (
                kept._replace(times=often, scope=scope) if before is None else _more(before, kept, often)
            )


def _more(before: Kept, kept: Kept, times: Expr) -> Kept:
    return before._replace(times=before.times + times, by=tuple(dict.fromkeys((*before.by, *kept.by))))


AFTER = ("what follows",)
"""Who keeps a carry that the next turn or something behind the repeat keeps."""


def kept(graph: Graph, needed: Needs, policy: str, chosen: Chosen) -> list[Kept]:
    """Return what is kept of a graph, in the order in which it is made.

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

    """
    found = _Search(POLICIES[policy], chosen).within(graph, needed, {})
    return [k for _, k in sorted(_all(graph, found, ()).items(), key=lambda item: item[0])]


def _all(graph: Graph, found: Found, given: Iterable[int]) -> dict[Place, Kept]:
    """Return what is kept of a graph but for what it is given, by the places of operations on the way there."""
    makers = {i: (op, place) for op in graph.ops for place, i in enumerate(op.outputs)}
    out = dict(found.others)
    for i in found.memories.keys() - given:
        op, place = makers.get(i, (None, 0))
        at = (-1, i) if op is None else (op.id, -1, place)
        told = ("", "") if op is None else (op.scope, op.kind)
        out[at] = Kept(graph.tensors[i], 1, found.memories[i], *told, place)
    return out


class _Search:
    """Goes through graphs and those inside them under one policy."""

    def __init__(self, keeping: Keeping, chosen: Chosen) -> None:
        self.keeping = keeping
        self.chosen = chosen

    def within(self, graph: Graph, needed: Needs, outside: Mapping[int, Sequence[str]]) -> Found:
        """Return what is kept of a graph; `outside` are outputs that are kept there, and by whom."""
        needs, owners = needing(graph, needed), self._owners(graph)
        found = Found({}, {})
        for i, by in outside.items():
            found.add(owners[i], by)
        useful = {i for i in graph.outputs if i in needs}
        for op in reversed(graph.ops):
            wanted = wants(op, needs)
            if any(wanted) and not useful.isdisjoint(op.outputs):
                useful.update(i for i, want in zip(op.inputs, wanted, strict=True) if want)
                inside = {"repeat": self._repeat, "cond": self._cond}.get(op.kind, self._plain)
                inside(op, graph, wanted, found, owners)
        return found

    def _owners(self, graph: Graph) -> list[int]:
        """Return in whose memory each tensor lies; without copies, one that is copied to be laid out does not move."""
        moved = [] if self.keeping.copies else [op for op in graph.ops if rule_of(op).implicit_copy]
        source = {op.outputs[0]: op.inputs[0] for op in moved}
        owners: list[int] = []
        for t in graph.tensors:
            lies_in = source.get(t.id) if t.storage is None else t.storage
            owners.append(t.id if lies_in is None else owners[lies_in])
        return owners

    def _plain(self, op: Op, graph: Graph, wanted: Needs, found: Found, owners: Sequence[int]) -> None:
        copied = {r.tensor: r.shape for r in rule_of(op).copies(op, graph)} if self.keeping.copies else {}
        for place, r in enumerate(self.keeping.of(op, graph, wanted)):
            tensor = graph.tensors[(op.outputs if r.kind == "output" else op.inputs)[r.which]]
            if r.kind == "output" or (r.kind == "input" and tensor.id not in copied):
                found.add(owners[tensor.id], (op.kind,))
                continue
            shape, dtype = (r.shape, r.dtype) if r.kind == "extra" else (copied[tensor.id], tensor.dtype)
            made = Tensor(tensor.id, shape, "act", r.name or f"copy of {tensor.name}", dtype)
            found.others[op.id, -2, place] = Kept(made, 1, (op.kind,), op.scope, copy=True)

    def _cond(self, op: Op, _graph: Graph, wanted: Needs, found: Found, owners: Sequence[int]) -> None:
        branch = self.chosen(op.attrs["branches"])
        both = zip(branch.outputs, op.outputs, strict=True)
        outside = {inner: found.memories.pop(outer) for inner, outer in both if outer in found.memories}
        inside = self.within(branch, wanted[1:], outside)
        given = dict(zip(branch.inputs, op.inputs[1:], strict=True))
        found.add_given(inside, given, owners)
        found.add_others(op, _all(branch, inside, given), 1)

    def _repeat(self, op: Op, _graph: Graph, wanted: Needs, found: Found, owners: Sequence[int]) -> None:
        body, carry, n = op.attrs["body"], op.attrs["carry"], op.attrs["n"]
        filled = tuple(found.memories.pop(i, None) is not None for i in op.outputs[:carry])
        rows = [] if self.keeping.copies else zip(body.outputs[carry:], op.outputs[carry:], strict=True)
        collected = {inner: found.memories.pop(outer) for inner, outer in rows if outer in found.memories}
        turns: dict[Key, Found] = {}

        def carries_kept(key: Key) -> Needs:
            outputs = {i: AFTER for i, kept in zip(body.outputs, key.filled, strict=False) if kept}
            turns[key] = self.within(body, key.needs, {**collected, **outputs})
            return tuple(i in turns[key].memories for i in body.inputs[:carry])

        first, main, last, initial = turns_of(op, wanted, filled, carries_kept)
        given = dict(zip(body.inputs[carry:], op.inputs[carry:], strict=True))
        for key, times in (*((k, 1) for k in first), (main, n - len(first) - len(last)), *((k, 1) for k in last)):
            found.add_given(turns[key], given, owners)
            found.add_others(op, _all(body, turns[key], body.inputs), times)
        for i, kept in zip(op.inputs, initial, strict=False):
            if kept:
                found.add(owners[i], (op.kind,))
