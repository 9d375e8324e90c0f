"""Equal or not, larger or smaller, and derivatives: claimed only where it can be proved."""

from __future__ import annotations

import itertools

import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import ExpressionError, InconclusiveError
from symacct.expr import (
    at_most,
    coefficient,
    degree,
    derivative,
    evaluate,
    from_sympy,
    inequality,
    name,
    read,
    sign,
    to_sympy,
)

NAMES = ("a", "b", "c")
sums = st.lists(
    st.tuples(st.integers(-4, 4), st.lists(st.sampled_from(NAMES), max_size=3)), min_size=1, max_size=5
).map(lambda terms: read(" + ".join("*".join([f"({c})", *names]) for c, names in terms)))
at_least_one = st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(1, 12)))


EQUAL = [
    ("(x + 1)*(x - 1)", "x**2 - 1"),
    ("b*k*(2*d - 1)", "2*b*d*k - b*k"),
    ("(a**2 - b**2)/(a - b)", "a + b"),
    ("1/a + 1/b", "(a + b)/(a*b)"),
    ("1/(a + b) + 1/(a - b)", "2*a/(a**2 - b**2)"),
    ("a/(a + b)**2*(a + b)", "a/(a + b)"),
    ("sqrt(a**2*b)", "a*sqrt(b)"),
    ("ceil((d + 32)/16)", "ceil(d/16) + 2"),
    ("log2(8*4)", "5"),
    ("10**30*a", "1e30*a"),
]
DIFFERENT = [
    ("2*b*d*k", "b*d*k"),
    ("ceil(d/2)", "d/2"),
    ("ceil(n/2)", "floor(n/2)"),
    ("ceil(n/2)", "ceil(n/3)"),
    ("n*log2(n)", "n"),
    ("sqrt(a + b)", "sqrt(a) + sqrt(b)"),
    ("10**30*n + 1", "10**30*n"),
    ("10**12*n*ceil(n/2)", "10**12*n*ceil(n/2) + ceil(n/3)"),
    ("a/(a - b)", "a/(a - b) + 1"),
    ("sqrt(a - b)", "sqrt(a - b) + 1"),
    ("n", "m"),
    ("E", "e"),
]


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_same(a, b):
    assert sa.same(a, b)
    assert sa.same(to_sympy(read(a)), to_sympy(read(b)))


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_not_the_same(a, b):
    assert not sa.same(a, b)


@pytest.mark.parametrize(("a", "b"), [("ceil(n/2)", "floor((n + 1)/2)"), ("log2(2*a)", "log2(a) + 1")])
def test_what_the_algebra_cannot_tell_is_not_decided(a, b):
    with pytest.raises(InconclusiveError, match="agree at all sizes tried"):
        sa.same(a, b)


def test_numbers_text_and_sympy_mix():
    n = sympy.Symbol("n", positive=True)
    assert sa.same("n/3 - 1/6", n / 3 - sympy.Rational(1, 6))
    assert sa.same(4, "4")
    for inexact in (0.5, True, None, [1]):
        with pytest.raises(ExpressionError):
            sa.same(inexact, "n")


@given(sums, sums)
def test_same_is_equality_of_values(a, b):
    # two polynomials of degree 3 that differ do so at one of these points
    points = [dict(zip(NAMES, p, strict=True)) for p in itertools.product((1, 2, 5, 11), repeat=len(NAMES))]
    assert sa.same(to_sympy(a), to_sympy(b)) == all(evaluate(a, p) == evaluate(b, p) for p in points)


@given(sums, at_least_one)
def test_a_claimed_sign_holds(x, at):
    claimed = sign(x)
    value = evaluate(x, at)
    assert claimed is None or claimed == (value > 0) - (value < 0)


@given(sums, st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(2, 12))))
def test_a_claimed_sign_from_two_on_holds(x, at):
    claimed = sign(x, lower=2)
    value = evaluate(x, at)
    assert claimed is None or claimed == (value > 0) - (value < 0)


def test_signs_that_must_be_found():
    assert sign(read("2*b*d - b")) == 1
    assert sign(read("b - 2*b*d")) == -1
    assert sign(read("b*d + b - 1")) == 1
    assert sign(read("b*d - b - d + 1"), lower=2) == 1
    assert sign(read("b*d - b - d + 1")) is None  # zero at b = 1
    assert sign(read("b - d")) is None
    assert sign(0) == 0
    assert sign(-3) == -1
    assert sign(read("ceil(b/2) + 1")) == 1
    assert sign(read("b/(b + d)")) == 1
    assert sign(read("sqrt(b + 1) + b")) == 1


@pytest.mark.parametrize("text", ["b/(b - d)", "b/(d - b)", "log2(1/b)", "-log2(1/b)", "floor(b/2)", "-floor(-b/2)"])
def test_signs_that_must_not_be_claimed(text):
    """A denominator may be negative, log2(1) and floor(1/2) are zero, and -floor(-x) is positive."""
    assert sign(read(text)) is None
    assert not at_most(0, read(text))


@given(sums, sums, at_least_one)
def test_a_claimed_order_holds(a, b, at):
    if at_most(a, b):
        assert evaluate(a, at) <= evaluate(b, at)
    assert at_most(a, a + 1)


@given(sums, sums, at_least_one)
def test_an_inequality_keeps_its_truth_when_simplified(a, b, at):
    assume(a != b)
    left, right = inequality(a, b)
    assert (evaluate(left, at) < evaluate(right, at)) == (evaluate(a, at) < evaluate(b, at))


@given(sums, st.sampled_from(NAMES))
def test_derivatives_agree_with_sympy(x, by):
    assert from_sympy(sympy.diff(to_sympy(x), by)) == derivative(x, by)


@given(sums, st.sampled_from(NAMES))
def test_degree_and_coefficients_put_together_are_the_whole(x, by):
    top = degree(x, by)
    assert x == sum(coefficient(x, by, e) * name(by) ** e for e in range(top + 1))
    assert x == 0 or coefficient(x, by, top) != 0


def test_degrees_of_roots_and_quotients():
    assert degree(read("M/sqrt(M) + 1"), "M") == read("1/2")
    assert degree(read("a/M**2"), "M") == -2
    assert derivative(read("a/M**2"), "M") == read("-2*a/M**3")
    for question in (degree, derivative):
        with pytest.raises(ExpressionError, match=r"d stands inside ceil\(d/16\)"):
            question(read("b*ceil(d/16)"), "d")
