"""Answers for large sizes: limits and orders."""

from __future__ import annotations

import pytest

import symacct as sa


@pytest.mark.parametrize(
    ("answer", "correct"),
    [
        ("n/3", True),
        ("(2n-1)/6", True),
        ("n/3 + 17", True),
        ("0.33n", True),
        ("n/2", False),
        ("n^2/3", False),
        ("O(n)", False),
    ],
)
def test_asymptotic(answer, correct):
    assert sa.check(answer, "(2*n-1)/6", "n", "asymptotic").correct is correct


def test_only_what_grows_is_taken_to_the_limit():
    truth, symbols = "B*D*F/(B*D + D*F + B*F)", "B D F"
    assert sa.check("B", truth, symbols, "asymptotic", var=["D", "F"]).correct
    assert not sa.check("D", truth, symbols, "asymptotic", var=["D", "F"]).correct
    assert not sa.check("B", truth, symbols, "asymptotic", var=["B"]).correct


@pytest.mark.parametrize(
    ("answer", "correct"),
    [("O(√L)", True), ("3√L + 7", True), ("L^0.5", True), ("O(L)", False), ("O(log L)", False), ("O(√L log L)", False)],
)
def test_order(answer, correct):
    assert sa.check(answer, "2*sqrt(L)", "L", "order").correct is correct


@pytest.mark.parametrize("answer", ["log_2 N", "lg N", "O(ln N)", "5*log(N) + 3", "log(N^2)"])
def test_the_base_of_a_logarithm_does_not_matter_to_an_order(answer):
    assert sa.check(answer, "log(N)", "N", "order").correct


@pytest.mark.parametrize(
    ("answer", "truth", "mode", "correct"),
    [
        ("O(2^b)", "2**b", "order", True),
        ("O(2^(b+1) + b)", "2**b", "order", True),
        ("O(2^(2b))", "2**b", "order", False),
        ("O(3^b)", "2**b", "order", False),
        ("O(b*2^b)", "2**b", "order", False),
        ("O(b^9)", "2**b", "order", False),
        ("2^b", "2**b - 1", "asymptotic", True),
        ("2^b + 32M", "2**b", "asymptotic", True),
        ("2^(b+1)", "2**b - 1", "asymptotic", False),
        ("M*2^b", "M*2**b + M", "asymptotic", True),
    ],
)
def test_what_doubles_with_each_step(answer: str, truth: str, mode: str, correct: bool) -> None:  # noqa: FBT001
    assert sa.check(answer, truth, "b M", mode).correct is correct
