"""``fuse="pointwise"``: producers and consumers of element-wise, reduction and view operations run as one kernel.

Operations are merged greedily in the order in which they are made, while the graph of kernels stays acyclic. A kernel
reads what comes from outside once, and writes what is used outside. FLOPs do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from symacct.expr import Expr, add, at_most, product
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
    maker = {i: op for op in graph.ops for i in op.outputs}
    users: dict[int, list[int]] = {}
    for op in graph.ops:
        for i in op.inputs:
            users.setdefault(i, []).append(op.id)
    owners = _owners(graph, maker, free_copies=free_copies)
    outputs = set(graph.outputs)
    out = []
    for ops in groups(graph):
        if len(ops) > 1:
            inside = {op.id for op in ops}
            made = [i for op in ops for i in op.outputs]
            wanted = {owners[i] for i in made if i in outputs or not inside.issuperset(users.get(i, ()))}
            writes = tuple(whole(graph, i) for i in made if i in wanted)
            out.append(Kernel(tuple(ops), tuple(_reads(ops, graph, owners, maker)), writes))
    return out


def _owners(graph: Graph, maker: Mapping[int, Op], *, free_copies: bool) -> list[int]:
    """Return for every tensor the one in whose memory it lies."""
    owners: list[int] = []
    for t in graph.tensors:
        source = t.storage
        if source is None and free_copies and t.id in maker and rule_of(maker[t.id]).implicit_copy:
            source = maker[t.id].inputs[0]
        owners.append(t.id if source is None else owners[source])
    return owners


def _reads(ops: Sequence[Op], graph: Graph, owners: Sequence[int], maker: Mapping[int, Op]) -> Iterable[Read]:
    """Return what comes from outside: of each memory all of it once, or the different parts that are looked at."""
    made = {i for op in ops for i in op.outputs}
    parts: dict[int, dict[tuple[object, ...], Read]] = {}
    for op in ops:
        if rule_of(op).implicit_copy and owners[op.outputs[0]] != op.outputs[0]:
            continue
        for read in rule_of(op).reads(op, graph):
            if owners[read.tensor] not in made:
                parts.setdefault(owners[read.tensor], {}).setdefault(_cuts(read.tensor, graph, owners, maker), read)
    for owner, found in parts.items():
        elements: list[Expr] = [product(r.shape) for r in found.values()]
        everything = found.get(()) or whole(graph, owner)
        if () in found or (len(found) > 1 and at_most(product(everything.shape), add(elements), lower=2)):
            yield everything
        else:
            yield from found.values()


def _cuts(tensor: int, graph: Graph, owners: Sequence[int], maker: Mapping[int, Op]) -> tuple[object, ...]:
    """Return the slices by which a view came from its memory; other views are all of it."""
    cuts: list[object] = []
    while owners[tensor] != tensor:
        op = maker[tensor]
        tensor = op.inputs[0]
        if op.kind == "slice":
            cuts.append((graph.tensors[tensor].shape, op.attrs["ranges"]))
    return tuple(cuts)


def groups(graph: Graph) -> list[list[Op]]:
    """Return the operations in groups that run as one kernel, each in order; others stand alone."""
    maker = {i: op.id for op in graph.ops for i in op.outputs}
    merged = [rule_of(op).family in MERGED for op in graph.ops]
    found = _Groups()
    for op in graph.ops:
        feeds = [maker[i] for i in op.inputs if i in maker]
        found.start(op.id, feeds)
        for feed in feeds:
            if merged[op.id] and merged[feed]:
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
