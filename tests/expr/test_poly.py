"""Arithmetic against two others: Python's fractions at random sizes, and sympy."""

from __future__ import annotations

import copy
import operator
import pickle
from fractions import Fraction

import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from symacct.errors import ExpressionError, UndefinedSizeError
from symacct.expr import (
    Poly,
    add,
    divide,
    equal,
    evaluate,
    multiply,
    name,
    power,
    read,
    substitute,
    to_sympy,
    to_text,
    whole_denominator,
)

NAMES = ("b", "d", "E", "lambda", "x_1", "größe")

leaves = st.sampled_from((*NAMES, Fraction(1, 2), Fraction(-2, 3), Fraction(7, 6))) | st.integers(-4, 4)
trees = st.recursive(
    leaves,
    lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner) | st.tuples(st.just("^"), inner, st.integers(0, 3)),
    max_leaves=9,
)
polys = st.recursive(
    st.sampled_from(NAMES) | st.integers(-3, 3),
    lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner),
    max_leaves=6,
)
sizes = st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(1, 30)))

OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "^": pow}
FUNCTIONS = {
    "+": lambda a, b: add((a, b)),
    "-": lambda a, b: add((a, -b)),
    "*": multiply,
    "^": power,
}


def build(tree, leaf, ways=OPERATORS):
    """Work a tree out with whatever `leaf` makes of a name."""
    if not isinstance(tree, tuple):
        return leaf(tree) if isinstance(tree, str) else tree
    way, left, right = tree
    return ways[way](build(left, leaf, ways), build(right, leaf, ways))


def sympy_form(tree):
    return build(tree, sympy.Symbol)


def is_canonical(x):
    """A constant is a plain number, a whole number an int; no term is zero, no monomial unsorted."""
    if not isinstance(x, Poly):
        return type(x) is int or (type(x) is Fraction and x.denominator > 1)
    numbers = [c for m, c in x.terms.items()] + [e for m in x.terms for _, e in m]
    return (
        bool(x.terms)
        and set(x.terms) != {()}
        and all(number != 0 and (type(number) is int or number.denominator > 1) for number in numbers)
        and all(list(m) == sorted(m) and len({a for a, _ in m}) == len(m) for m in x.terms)
    )


@given(trees, sizes)
def test_arithmetic_gives_the_value_that_fractions_give(tree, at):
    x = build(tree, name, FUNCTIONS)
    assert x == build(tree, name)
    assert evaluate(x, at) == build(tree, lambda n: Fraction(at[n]))
    assert is_canonical(x)


@given(trees)
def test_arithmetic_agrees_with_sympy(tree):
    x = build(tree, name)
    assert sympy.expand(to_sympy(x) - sympy_form(tree)) == 0


@given(trees, trees, trees)
def test_ring_laws_hold_structurally(a, b, c):
    a, b, c = (build(t, name) for t in (a, b, c))
    assert a + b == b + a
    assert a * b == b * a
    assert a * (b + c) == a * b + a * c
    assert (a + b) + c == a + (b + c)
    assert (a * b) * c == a * (b * c)
    zero = a - a
    assert zero == 0
    assert type(zero) in (int, Fraction)


@given(trees, trees)
def test_equal_expressions_have_one_hash(a, b):
    a, b = build(a, name), build(b, name)
    assert hash((a + b) * (a - b)) == hash(a * a - b * b)
    assert (a + b) * (a - b) == a * a - b * b


@given(polys, polys)
def test_a_product_divided_by_a_factor_is_the_other(a, b):
    a, b = build(a, name), build(b, name)
    assume(b != 0)
    assert divide(a * b, b) == a


@given(polys, polys, polys, sizes)
@settings(max_examples=60)
def test_quotients_have_the_value_of_the_quotient(a, b, c, at):
    a, b, c = (build(t, name) for t in (a, b, c))
    assume(b != 0 and c != 0)
    assume(evaluate(b, at) != 0 and evaluate(c, at) != 0)
    quotient = divide(a * c, b * c)
    assert evaluate(quotient, at) == Fraction(evaluate(a, at)) / evaluate(b, at)
    assert equal(quotient, divide(a, b))


@given(polys, polys)
@settings(max_examples=50)
def test_quotients_agree_with_sympy(a, b):
    assume(build(b, name) != 0)
    ours = to_sympy(divide(build(a, name), build(b, name)))
    assert sympy.cancel(ours - sympy_form(a) / sympy_form(b)) == 0


@given(trees, st.fixed_dictionaries(dict.fromkeys(NAMES, polys)), sizes)
@settings(max_examples=60)
def test_substitution_is_simultaneous(tree, inner, at):
    x = build(tree, name)
    put = {n: build(t, name) for n, t in inner.items()}
    within = {n: evaluate(e, at) for n, e in put.items()}
    assert evaluate(substitute(x, put), at) == build(tree, lambda n: Fraction(within[n]))


def test_substitution_swaps():
    x = read("2*b*d**2*k")
    swapped = substitute(x, {"b": name("d"), "d": name("b")})
    assert swapped == read("2*d*b**2*k")
    assert substitute(swapped, {"b": name("d"), "d": name("b")}) == x


def test_substitution_reaches_into_functions_and_roots():
    x = read("ceil(d/16)*sqrt(b) + log2(d) + 1/(b + d)")
    assert substitute(x, {"d": 48, "b": 16}) == read("12 + log2(48) + 1/64")
    assert substitute(read("ceil(d/16)"), {"d": read("32*m")}) == read("2*m")


@given(trees, st.integers(0, 4))
def test_natural_powers_are_repeated_products(tree, exponent):
    x = build(tree, name)
    expected = 1
    for _ in range(exponent):
        expected = expected * x
    assert power(x, exponent) == expected


@given(polys, st.integers(1, 3), sizes)
def test_negative_powers_are_reciprocals(tree, exponent, at):
    x = build(tree, name)
    assume(x != 0 and evaluate(x, at) != 0)
    assert evaluate(power(x, -exponent), at) == Fraction(1) / Fraction(evaluate(x, at)) ** exponent


@pytest.mark.parametrize("x", ["b", "b*d**2", "b + d", "3*b - d/2", "ceil(b/2)", "1/(b + d)", "sqrt(b + 1)"])
def test_power_zero_is_the_number_one(x):
    one = power(read(x), 0)
    assert one == 1
    assert type(one) is int


def test_roots_and_their_powers():
    assert read("sqrt(b + d)**2") == read("b + d")
    assert read("sqrt(b)*sqrt(b)") == name("b")
    assert read("sqrt(b**2)") == name("b")
    assert evaluate(read("sqrt(k - b)"), {"k": 20, "b": 4}) == 4
    assert evaluate(read("sqrt(b - k)"), {"b": 20, "k": 4}) == 4


def test_a_root_of_a_negative_number_is_refused():
    with pytest.raises(ExpressionError, match="root of the negative number -8"):
        read("(-8)**(1/3)")


def test_integers_stay_exact_whatever_their_size():
    n = 10**30
    assert (n * name("b") + 1) * (n * name("b") - 1) == n**2 * name("b") ** 2 - 1
    assert evaluate(read("b**3 + 1"), {"b": n}) == n**3 + 1


@given(polys, polys, polys, sizes)
def test_a_quotient_times_what_it_was_divided_by_is_the_dividend(a, b, c, at):
    """Written as such: shapes are compared as they are written."""
    a, b, c = (build(t, name) for t in (a, b, c))
    assume(b != 0 and evaluate(b, at) != 0)
    assert multiply(divide(a, b), b) == a
    assert multiply(b, divide(a, b)) == a
    assert evaluate(multiply(divide(a, b), c), at) * evaluate(b, at) == evaluate(a, at) * evaluate(c, at)


@pytest.mark.parametrize(
    ("first", "second", "made"),
    [
        ("d/(s + 1)", "2*s + 2", "2*d"),
        ("(d + 3)/(s + 1)", "s**2 - 1", "(d + 3)*(s - 1)"),
        ("d/(s + 1)**2", "s + 1", "d/(s + 1)"),
        ("d/(s - 1)", "1 - s", "-d"),
        ("d/(s + 1)", "s + 2", "d*(s + 2)/(s + 1)"),
        ("d/((s + 1)*(t + 1))", "(s + 1)*t", "d*t/(t + 1)"),
    ],
)
def test_a_sum_in_a_denominator_cancels(first, second, made):
    for product in (multiply(read(first), read(second)), multiply(read(second), read(first))):
        assert equal(product, read(made))
        assert len(to_text(product)) <= len(to_text(read(made)))


def test_whole_denominator():
    above, below = whole_denominator(read("d/h + 1/2 - h/3"))
    assert equal(divide(above, below), read("d/h + 1/2 - h/3"))
    assert below == read("6*h")


def test_evaluate_names_what_is_missing():
    with pytest.raises(UndefinedSizeError, match=r"no number for d, k; give a size to each of b, d, k"):
        evaluate(read("b*d*k"), {"b": 2})


def test_a_size_has_no_truth_value():
    with pytest.raises(ExpressionError, match="no truth value"):
        bool(name("b"))


@pytest.mark.parametrize("text", ["b*d + 2", "ceil(b/2)/(b + d)", "sqrt(b + 1)*log2(d)", "b**(1/3)/7"])
def test_pickle_and_copies(text):
    x = read(text)
    for twin in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):  # noqa: S301
        assert twin == x
        assert hash(twin) == hash(x)
        assert repr(twin) == repr(x)
        assert twin * name("z") == x * name("z")
        assert equal(substitute(twin, {"b": 4, "d": 3}), substitute(x, {"b": 4, "d": 3}))


def test_a_large_product_is_refused():
    long = read(" + ".join(f"x{i}" for i in range(200)))
    with pytest.raises(ExpressionError, match="200 and 200 terms"):
        long * long
