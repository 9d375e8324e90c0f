"""Sizes to try: generic ones that tell formulas apart, and small ones that show people where they differ.

Generic sizes are distinct primes above 2, so that no coincidence (a square side, a size of 1, d = k) hides a mistake;
they span scales. Edges are tried besides them where a formula has a ceiling, a maximum or the like: there the two
differ only at sizes that divide each other, are tiny or huge, or lie at the formula's own constants.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, permutations, product

_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107)
_SMALL = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)
_WIDE = (
    *_PRIMES,
    *(211, 307, 401, 503, 601, 701, 809, 907, 1009, 2003, 4001, 8009, 16033, 32003, 64007, 128021, 262147, 524309),
    *(1048583, 4194319, 16777259, 67108879),
)
SAMPLES = 24
_EDGES = 120
_ROUND = (*range(1, 13), 16, 24, 25, 36, 48, 60, 64, 120, 210, 256, 720, 1024, 2520, 2**16, 2**32, 2**48, 2**60, 10**15)


@lru_cache(maxsize=512)
def generic(names: tuple[str, ...]) -> tuple[dict[str, int], ...]:
    """Return the points at which two formulas are compared: always the same, in a fixed order."""
    draw = random.Random(20_261_130)  # noqa: S311 # a fixed choice of sizes, no secret
    out = []
    for i in range(SAMPLES if names else 1):
        pool: Sequence[int] = _PRIMES if i % 3 == 0 else _WIDE
        pool = pool if len(pool) >= len(names) else range(3, 3 + 2 * len(names), 2)
        out.append(dict(zip(names, draw.sample(pool, len(names)), strict=True)))
    return tuple(out)


@lru_cache(maxsize=512)
def edges(names: tuple[str, ...], constants: tuple[int, ...] = ()) -> tuple[dict[str, int], ...]:
    """Return sizes at which rounding and maxima turn over, also near the formulas' constants; small ones first."""
    near = [n for c in constants for n in (c - 1, c, c + 1, 2 * c) if 0 < n < 2**64]
    draw = random.Random(20_261_130)  # noqa: S311 # a fixed choice of sizes, no secret
    pool = [*_ROUND, *near]
    if not names:
        return ({},)
    if len(names) == 1:
        return tuple({names[0]: n} for n in sorted({*range(1, 65), *pool}))
    corners = [*islice(product((1, 2), repeat=len(names)), 64)]
    tiny = [*product(range(1, 6), repeat=len(names))] if len(names) < 4 else []
    made = [
        *corners,
        *tiny,
        *(draw.choices(range(1, 6), k=len(names)) for _ in range(_EDGES)),
        *(draw.choices(pool, k=len(names)) for _ in range(_EDGES)),
    ]
    points = [dict(zip(names, values, strict=True)) for values in made]
    return tuple(sorted(points, key=lambda sizes: (len({*sizes.values()}) < len(sizes), sum(sizes.values()))))


def small(names: Sequence[str]) -> Iterator[dict[str, int]]:
    """Yield sizes from the smallest distinct primes on, each order of them, then wider ones."""
    if len(names) > len(_SMALL):
        yield {n: 2 * i + 3 for i, n in enumerate(names)}
        yield from generic(tuple(names))
        return
    base = _SMALL[: len(names)]
    yield dict(zip(names, base, strict=True))
    for i, order in enumerate(permutations(base)):
        if i >= 24:
            break
        yield dict(zip(names, order, strict=True))
    yield dict(zip(names, reversed(base), strict=True))
    yield from generic(tuple(names))
