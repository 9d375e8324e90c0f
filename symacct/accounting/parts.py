"""Which parts of a memory are looked at: all of it, slices that may overlap, rows that are looked up.

Slices along one axis that overlap, or that follow each other, are read as one; in numbers, slices along any axes and
with any steps are, place by place. Where the sizes do not tell whether slices overlap, or where they are of views that
lie otherwise, each is read by itself, yet never more than the whole memory: an upper bound.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cmp_to_key
from math import prod
from typing import Any, NamedTuple, TypeAlias

from symacct.errors import InconclusiveError
from symacct.expr import Expr, Size, add, at_most, product
from symacct.graph import Graph, Op
from symacct.rules import Read, owners, rule_of
from symacct.rules.rule import last_axis, whole
from symacct.rules.views import length

Span: TypeAlias = tuple[Expr, Expr]
"""A start and a stop."""


MANY = 100_000
"""Places that are looked at one by one at most."""


class Cut(NamedTuple):
    """A slice of a view: how the view lies, and start, stop and step along each axis."""

    shape: tuple[Size, ...]
    strides: tuple[Expr, ...] | None
    ranges: tuple[tuple[Expr, Expr, int], ...]


class Part(NamedTuple):
    """What is looked at of a memory: by which slices it was cut out of it, and what else picks from these."""

    cuts: tuple[Cut, ...]
    picked: Hashable
    read: Read


class Memories:
    """In whose memory each tensor of a graph lies; `free_copies` says that copies for layout alone are not made."""

    def __init__(self, graph: Graph, *, free_copies: bool) -> None:
        """Follow every view to its memory."""
        self.graph = graph
        self.maker: Mapping[int, Op] = {i: op for op in graph.ops for i in op.outputs}
        self.owners = owners(graph, free_copies=free_copies)

    def is_free(self, op: Op) -> bool:
        """Whether an operation is a copy for layout alone that is not made."""
        return rule_of(op).implicit_copy and self.owners[op.outputs[0]] != op.outputs[0]

    def part(self, read: Read, picked: Hashable = None) -> Part:
        """Return what a read touches of the memory in which its tensor lies."""
        cuts, tensor = list[Cut](), read.tensor
        while self.owners[tensor] != tensor:
            op = self.maker[tensor]
            tensor = op.inputs[0]
            if op.kind == "slice":
                source = self.graph.tensors[tensor]
                cuts.append(Cut(source.shape, source.strides, op.attrs["ranges"]))
        return Part(tuple(cuts), picked, read)


def together(parts: Iterable[Part], graph: Graph, owner: int) -> list[Read]:
    """Return what is read of a memory where all these parts of it are read once."""
    found: dict[Hashable, Part] = {}
    for part in parts:
        found.setdefault((part.cuts, part.picked), part)
    if whole_reads := [p.read for p in found.values() if not p.cuts and p.picked is None]:
        return whole_reads
    reads = _united(list(found.values()), graph, owner) or [p.read for p in found.values()]
    everything, elements = whole(graph, owner), add([product(r.shape) for r in reads])
    return [everything] if at_most(product(everything.shape), elements, lower=2) else reads


def _united(parts: Sequence[Part], graph: Graph, owner: int) -> list[Read]:
    """Return slices of a memory, what several have in common once; nothing where it is not known."""
    tensor = graph.tensors[owner]
    direct = [(tensor.shape, tensor.strides)]
    cuts = [p.cuts[0].ranges for p in parts if p.picked is None and [c[:2] for c in p.cuts] == direct]
    differing = [a for a in range(len(tensor.shape)) if len({c[a] for c in cuts}) > 1]
    if len(cuts) != len(parts) or not differing:
        return []
    if all(type(place) is int for c in cuts for a in differing for place in c[a]):
        return _by_place(cuts, differing, owner)
    (axis, *others) = differing
    if others or any(c[axis][2] != 1 for c in cuts):
        return []
    try:
        spans = _spans([c[axis][:2] for c in cuts])
    except InconclusiveError:
        return []
    return [Read(owner, _resized(cuts[0], axis, stop - start), last_axis(tensor.shape)) for start, stop in spans]


def _by_place(cuts: Sequence[Any], differing: Sequence[int], owner: int) -> list[Read]:
    """Return the places of slices in numbers, each once, along the axes that differ as one; nothing for too many."""
    if sum(prod(len(range(*c[a])) for a in differing) for c in cuts) > MANY:
        return []
    places = {place for c in cuts for place in itertools.product(*(range(*c[a]) for a in differing))}
    alike = [a for a in range(len(cuts[0])) if a not in differing]
    sizes: list[Any] = [length(*cuts[0][a]) for a in alike]
    row = len(alike) - 1 if alike and alike[-1] == len(cuts[0]) - 1 else len(alike)
    return [Read(owner, (*sizes, len(places)), (row,))]


def _resized(ranges: Sequence[tuple[Expr, Expr, int]], axis: int, size: Expr) -> tuple[Size, ...]:
    sizes = [size if a == axis else length(*place) for a, place in enumerate(ranges)]
    return tuple(sizes)  # type: ignore[arg-type] # lengths of slices are sizes


def _spans(spans: Iterable[Span]) -> list[Span]:
    """Return spans in order, those that overlap or touch as one.

    Raises
    ------
    InconclusiveError
        Where the sizes do not tell which place comes first.

    """
    out: list[Span] = []
    for start, stop in sorted(spans, key=cmp_to_key(_by_start)):
        first, last = out[-1] if out else (start, start)
        if out and (at_most(start, first + 1) or _compared(start, last) <= 0):  # no slice is empty
            out[-1] = (first, stop if _compared(last, stop) <= 0 else last)
        else:
            out.append((start, stop))
    return out


def _by_start(a: Span, b: Span) -> int:
    return _compared(a[0], b[0])


def _compared(a: Expr, b: Expr) -> int:
    if a == b:
        return 0
    if at_most(a, b):
        return -1
    if at_most(b, a):
        return 1
    msg = f"whether {a} comes before {b} depends on the sizes"
    raise InconclusiveError(msg)
