"""Sizes to try: generic ones that tell formulas apart, and small ones that show people where they differ.

Generic sizes are distinct primes above 2, so that no coincidence (a square side, a size of 1, d = k) hides a mistake;
they span scales, so that either branch of a max is met.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import permutations

_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107)
_SMALL = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)
_WIDE = (
    *_PRIMES,
    *(211, 307, 401, 503, 601, 701, 809, 907, 1009, 2003, 4001, 8009, 16033, 32003, 64007, 128021, 262147, 524309),
    *(1048583, 4194319, 16777259, 67108879),
)
SAMPLES = 24


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
