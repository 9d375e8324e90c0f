"""Corners: sizes at which a wrong formula is found though random sizes rarely are such."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from symacct.errors import SymacctError
from symacct.testing import assert_formula


@pytest.mark.parametrize(
    ("wrong", "at"),
    [
        (lambda s: s[1] == s[2], "D=3, K=3"),
        (lambda s: len(set(s)) == 1, "B=3, D=3, K=3"),
        (lambda s: s[0] == 1 < s[1], "B=1, D=3, K=4"),
        (lambda s: s == (1, 1, 1), "B=1, D=1, K=1"),
        (lambda s: s[2] >= 10**6, "B=2, D=3, K=1000003"),
        (lambda s: min(s) >= 10**6, "B=1000002, D=1000003, K=1000004"),
        (lambda s: s == (2, 3, 4), "B=2, D=3, K=4"),
        (lambda s: all(n & (n - 1) == 0 for n in s), "= "),
    ],
)
def test_what_is_wrong_in_a_corner_alone(wrong, at) -> None:
    with pytest.raises(AssertionError, match=at):
        assert_formula(lambda B, D, K: 2 * B * D * K + bool(wrong((B, D, K))), "2*B*D*K", examples=20)


def test_corners_lie_where_the_truth_is_defined_and_functions_reach() -> None:
    assert_formula(lambda n: Fraction(n, n - 1), "n/(n - 1)", examples=20)
    assert_formula(lambda n, m: 2 * len(range(n)) * sum(1 for _ in range(m)), "2*n*m", examples=20)

    def small(n):
        if n > 10**6:
            raise MemoryError
        return 2 * n

    assert_formula(small, "2*n", examples=20)


@pytest.mark.parametrize(
    "options", [{"rtol": -1}, {"rtol": 1}, {"rtol": math.nan}, {"examples": 0}, {"examples": 2.5}, {"examples": True}]
)
def test_tolerance_and_number_of_examples(options) -> None:
    (name,) = options
    with pytest.raises(SymacctError, match=f"{name} = "):
        assert_formula(lambda n: 2 * n, "2*n", **options)


def test_where_only_equal_sizes_agree() -> None:
    with pytest.raises(AssertionError, match="B=2, D=3"):
        assert_formula(lambda B, **_: B * B, "B*D")
