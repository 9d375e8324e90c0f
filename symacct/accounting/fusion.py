"""``fuse="pointwise"``: producers and consumers of element-wise, reduction and view operations run as one kernel.

Operations are merged greedily in the order in which they are made, while the graph of kernels stays acyclic. A kernel
reads what comes from outside once (of slices see `symacct.accounting.parts`), and writes what is used outside. FLOPs
do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from symacct.accounting.parts import Memories, Part, together
from symacct.graph import Graph, Op
from symacct.rules import Read, rule_of
from symacct.rules.rule import whole

MERGED = ("creation", "normalization", "pointwise", "reductions", "views")
"""Families whose operations may share a kernel."""


class Kernel(NamedTuple):
    """Operations that run as one, in order, and what they read from outside and write for others."""

    ops: tuple[Op, ...]
    reads: tuple[Read, ...]
    writes: tuple[Read, ...]


def kernels(graph: Graph, *, free_copies: bool) -> list[Kernel]:
    """Return the kernels of several operations; `free_copies` says that copies for layout alone are not made."""
    users: dict[int, list[int]] = {}
    for op in graph.ops:
        for i in op.inputs:
            users.setdefault(i, []).append(op.id)
    memories = Memories(graph, free_copies=free_copies)
    outputs = set(graph.outputs)
    out = []
    for ops in groups(graph):
        if len(ops) > 1:
            inside = {op.id for op in ops}
            made = [i for op in ops for i in op.outputs]
            wanted = {memories.owners[i] for i in made if i in outputs or not inside.issuperset(users.get(i, ()))}
            writes = tuple(whole(graph, i) for i in made if i in wanted)
            out.append(Kernel(tuple(ops), tuple(_reads(ops, memories)), writes))
    return out


def _reads(ops: Sequence[Op], memories: Memories) -> Iterable[Read]:
    """Return what comes from outside: of each memory all of it once, or the different parts that are looked at."""
    graph, owners = memories.graph, memories.owners
    made = {i for op in ops for i in op.outputs}
    parts: dict[int, list[Part]] = {}
    for op in ops:
        for read in () if memories.is_free(op) else rule_of(op).reads(op, graph):
            if owners[read.tensor] not in made:
                parts.setdefault(owners[read.tensor], []).append(memories.part(read))
    for owner, found in parts.items():
        yield from together(found, graph, owner)


def groups(graph: Graph) -> list[list[Op]]:
    """Return the operations in groups that run as one kernel, each in order; others stand alone."""
    maker = {i: op.id for op in graph.ops for i in op.outputs}
    merged = [rule_of(op).family in MERGED for op in graph.ops]
    found = _Groups()
    for op in graph.ops:
        feeds = [maker[i] for i in op.inputs if i in maker]
        found.start(op.id, feeds)
        for feed in feeds:
            # what is kept for the backward pass is written: kernels do not cross from one pass into the other
            if merged[op.id] and merged[feed] and op.phase == graph.ops[feed].phase:
                found.join(found.home[op.id], found.home[feed])
    out: dict[int, list[Op]] = {}
    for op in graph.ops:
        out.setdefault(found.home[op.id], []).append(op)
    return list(out.values())


class _Groups:
    """Groups of operations while they are merged; sets of operations are bits of a number."""

    def __init__(self) -> None:
        self.home: list[int] = []
        self.members: dict[int, int] = {}
        self.feeds: dict[int, set[int]] = {}
        """The operations outside whose outputs a group takes."""
        self.before: dict[int, int] = {}
        """All operations upstream, with all of their groups."""

    def start(self, op: int, feeds: Iterable[int]) -> None:
        """Add an operation as a group of its own."""
        self.home.append(op)
        self.members[op] = 1 << op
        self.feeds[op] = set(feeds)
        self.before[op] = 0
        for group in {self.home[f] for f in feeds}:
            self.before[op] |= self.members[group] | self.before[group]

    def join(self, later: int, earlier: int) -> None:
        """Put two groups together, unless another group would then stand both before and after them."""
        if later == earlier:
            return
        both = self.members[later] | self.members[earlier]
        feeds = self.feeds[later] | self.feeds[earlier]
        if any(self.before[g] & both for g in {self.home[f] for f in feeds} - {later, earlier}):
            return
        upstream = (self.before.pop(later) | self.before[earlier]) & ~both
        for op in _bits(self.members.pop(later)):
            self.home[op] = earlier
        del self.feeds[later]
        self.feeds[earlier] = {f for f in feeds if not both >> f & 1}
        self.members[earlier], self.before[earlier] = both, upstream
        for group, before in self.before.items():
            if before & both:
                self.before[group] = before | both | upstream


def _bits(mask: int) -> Iterable[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
