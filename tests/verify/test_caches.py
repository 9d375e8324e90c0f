"""The simulated fast memory: by hand, and against all ways to drop elements."""

from __future__ import annotations

import itertools
import random
from functools import cache

import pytest

from symacct.testing.spec import spec_of
from verify.caches import schedule, trace, traffic


def test_a_schedule_visits_every_point_once() -> None:
    sizes, tiles = {"i": 4, "j": 5}, {"i": 3, "j": 2}
    points = [tuple(p.values()) for p in schedule("ij", sizes, tiles, ("j", "i"), ("i", "j"))]
    assert sorted(points) == sorted(itertools.product(range(4), range(5)))
    assert points[:4] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_matrix_times_a_vector_by_hand() -> None:
    """Row by row with room for three: the matrix 6, the vector 3 in each of 2 rows, 2 outputs written."""
    spec = spec_of("i k, k -> i")
    touched = trace(spec, schedule("ik", {"i": 2, "k": 3}, {"i": 2, "k": 3}, ("i", "k"), ("i", "k")))
    assert traffic(touched, 3) == 6 + 6 + 2
    assert traffic(touched, 100) == 6 + 3 + 2


def test_partial_sums_are_written_and_read_again() -> None:
    """Column by column with room for three: 3 outputs are written in both columns and read again in the second."""
    spec = spec_of("i k, k -> i")
    touched = trace(spec, schedule("ik", {"i": 3, "k": 2}, {"i": 3, "k": 2}, ("i", "k"), ("k", "i")))
    assert traffic(touched, 3) == 6 + 2 + 2 * 3 + 3


@pytest.mark.parametrize("seed", range(20))
def test_no_way_to_drop_reads_moves_less(seed: int) -> None:
    """Belady's rule is optimal where nothing is written; here the output is one element that stays."""
    draw = random.Random(seed)  # noqa: S311
    output = (9, ())
    touched = [((0, (draw.randrange(5),)), output) for _ in range(12)]

    @cache
    def least(turn: int, kept: frozenset) -> int:
        if turn == len(touched):
            return 0
        element = touched[turn][0]
        if element in kept:
            return least(turn + 1, kept)
        if len(kept) < 2:
            return 1 + least(turn + 1, kept | {element})
        return 1 + min(least(turn + 1, kept - {gone} | {element}) for gone in kept)

    assert traffic(touched, 3) == least(0, frozenset()) + 1
