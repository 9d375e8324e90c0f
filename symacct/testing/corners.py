"""Sizes at which wrong formulas show that random sizes rarely are: the smallest, equal, powers of two, 1, large."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

MILLION = 10**6


def small_corners(names: Sequence[str], *, ones: bool = True) -> Iterator[dict[str, int]]:
    """Yield the smallest distinct sizes, each pair equal and all, powers of two, each size 1 and all.

    Parameters
    ----------
    names
        The sizes.
    ones
        Whether a size may be 1.

    Examples
    --------
    >>> [tuple(sizes.values()) for sizes in small_corners("bd")]
    [(2, 3), (3, 2), (2, 2), (3, 3), (8, 16), (1, 3), (2, 1), (1, 1)]

    """
    smallest = {n: i for i, n in enumerate(names, 2)}
    yield smallest
    yield dict(zip(names, reversed(smallest.values()), strict=True))
    yield from ({**smallest, other: smallest[n]} for n, other in itertools.combinations(names, 2))
    yield dict.fromkeys(names, 3)
    yield {n: 2 ** (i % 8) for i, n in enumerate(names, 3)}
    if ones:
        yield from ({**smallest, n: 1} for n in names)
        yield dict.fromkeys(names, 1)


def large_corners(names: Sequence[str]) -> Iterator[dict[str, int]]:
    """Yield sizes above a million: each alone among the smallest, all, and all as powers of two.

    Examples
    --------
    >>> [tuple(sizes.values()) for sizes in large_corners("bd")]
    [(1000003, 3), (2, 1000003), (1000002, 1000003), (1048576, 2097152)]

    """
    yield from ({**{m: i for i, m in enumerate(names, 2)}, n: MILLION + 3} for n in names)
    yield {n: MILLION + i for i, n in enumerate(names, 2)}
    yield {n: 2 ** (20 + i % 8) for i, n in enumerate(names)}
