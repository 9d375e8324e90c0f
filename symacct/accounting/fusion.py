"""``fuse="pointwise"``: producers and consumers of element-wise, reduction and view operations run as one kernel.

Operations are merged greedily in the order in which they are made, while the merged graph stays acyclic. A group reads
what comes from outside once, and writes what is used outside. FLOPs do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from symacct.graph import Graph, Op
from symacct.rules import Read, rule_of
from symacct.rules.rule import whole

MERGED = ("creation", "normalization", "pointwise", "reductions", "views")
"""Families whose operations may share a kernel."""


def groups(graph: Graph) -> list[list[Op]]:
    """Return the operations in groups that run as one kernel, each in order; others stand alone."""
    maker = {i: op.id for op in graph.ops for i in op.outputs}
    before = _ancestors(graph, maker)
    home: dict[int, int] = {}
    members: dict[int, int] = {}
    for op in graph.ops:
        home[op.id] = op.id
        members[op.id] = 1 << op.id
        if rule_of(op).family not in MERGED:
            continue
        for i in op.inputs:
            if i in maker and rule_of(graph.ops[maker[i]]).family in MERGED:
                _merge(home, members, before, home[op.id], home[maker[i]])
    out: dict[int, list[Op]] = {}
    for op in graph.ops:
        out.setdefault(home[op.id], []).append(op)
    return list(out.values())


def _ancestors(graph: Graph, maker: dict[int, int]) -> list[int]:
    """Return for each operation the set of those it depends on, as bits."""
    before: list[int] = []
    for op in graph.ops:
        mine = 0
        for i in op.inputs:
            if i in maker:
                mine |= before[maker[i]] | 1 << maker[i]
        before.append(mine)
    return before


def _merge(home: dict[int, int], members: dict[int, int], before: Sequence[int], a: int, b: int) -> None:
    """Put two groups together, unless an operation outside would then stand both before and after them."""
    if a == b:
        return
    both = members[a] | members[b]
    upstream = 0
    for op in _bits(both):
        upstream |= before[op]
    if any(before[x] & both for x in _bits(upstream & ~both)):
        return
    members[a] = both
    del members[b]
    for op in _bits(both):
        home[op] = a


def _bits(mask: int) -> Iterable[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def touched(group: Sequence[Op], graph: Graph) -> tuple[tuple[Read, ...], tuple[Read, ...]]:
    """Return what a group reads from outside, once each, and what it writes for others.

    A view that is used outside lies in memory that was made inside, which is written, or outside, which is not.
    """
    made = {i for op in group for i in op.outputs}
    inside = {op.id for op in group}
    wanted = set(graph.outputs) | {i for op in graph.ops if op.id not in inside for i in op.inputs}
    owners = {_owner(graph, i) for i in made & wanted}
    reads: dict[int, Read] = {}
    for op in group:
        for read in rule_of(op).reads(op, graph):
            owner = _owner(graph, read.tensor)
            if owner not in made:
                reads.setdefault(owner, read)
    return tuple(reads.values()), tuple(whole(graph, i) for i in sorted(owners & made))


def _owner(graph: Graph, tensor: int) -> int:
    """Return the tensor in whose memory a tensor lies."""
    storage = graph.tensors[tensor].storage
    return tensor if storage is None else storage
