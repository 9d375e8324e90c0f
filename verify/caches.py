"""Loop nests run through a fast memory of M elements: what a real schedule moves, to hold lower bounds against."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from symacct.testing.spec import Spec

Element = tuple[int, tuple[int, ...]]
"""A tensor (the output is the last) and a place in it."""


def schedule(
    names: Sequence[str], sizes: Mapping[str, int], tiles: Mapping[str, int], outer: Sequence[str], inner: Sequence[str]
) -> Iterator[dict[str, int]]:
    """Yield the points of a loop nest, each once: loops over tiles in one order, loops inside a tile in another."""
    starts = [range(0, sizes[n], tiles[n]) for n in outer]
    for corner in itertools.product(*starts):
        low = dict(zip(outer, corner, strict=True))
        turns = [range(low[n], min(low[n] + tiles[n], sizes[n])) for n in inner]
        for turn in itertools.product(*turns):
            at = dict(zip(inner, turn, strict=True))
            yield {n: at[n] for n in names}


def trace(spec: Spec, points: Iterator[dict[str, int]]) -> list[tuple[Element, ...]]:
    """Return what each point touches: an element of every operand, and of the output, which it adds to."""
    flat = [tuple(dict.fromkeys(n for axis in axes for n in axis)) for axes in (*spec.operands, spec.output)]
    return [tuple((i, tuple(p[n] for n in names)) for i, names in enumerate(flat)) for p in points]


def traffic(touched: Sequence[tuple[Element, ...]], memory: int) -> int:
    """Reads and writes of a schedule whose fast memory drops what is needed again last (Belady).

    Everything that a point touches must be in fast memory at once. Elements of the output begin there without being
    read, are written when they are dropped, read again when they are needed again, and written at the end.
    """
    uses: defaultdict[Element, list[int]] = defaultdict(list)
    for turn, elements in enumerate(touched):
        for e in dict.fromkeys(elements):
            uses[e].append(turn)
    cache: set[Element] = set()
    born: set[Element] = set()
    moved = 0
    for turn, elements in enumerate(touched):
        output = elements[-1]
        for e in dict.fromkeys(elements):
            if e in cache:
                continue
            if len(cache) == memory:
                dropped = max((c for c in cache if c not in elements), key=lambda c: _next(uses[c], turn))
                cache.remove(dropped)
                moved += dropped[0] == output[0]
            cache.add(e)
            moved += e[0] != output[0] or e in born
            born.add(e)
    return moved + sum(e[0] == touched[-1][-1][0] for e in cache)


def _next(uses: list[int], turn: int) -> float:
    """When an element is needed again."""
    place = bisect_right(uses, turn)
    return uses[place] if place < len(uses) else float("inf")
