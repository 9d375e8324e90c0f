"""The door to sympy: what goes out comes back, user symbols are merged by name, nothing else gets in."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import ExpressionError
from symacct.expr import equal, evaluate, from_sympy, name, positive_roots, read, to_json, to_sympy

NAMES = ("b", "d", "E", "I", "pi", "lambda", "größe")

texts = st.recursive(
    st.sampled_from((*NAMES, "2", "1/3", "5")),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
        st.builds("{}({}/3)".format, st.sampled_from(("ceil", "floor")), inner),
        st.builds("({})**{}".format, inner, st.integers(0, 3)),
    ),
    max_leaves=6,
)


@given(texts)
@settings(max_examples=60)
def test_what_goes_out_comes_back(text):
    x = read(text)
    assert from_sympy(to_sympy(x)) == x


@pytest.mark.parametrize(
    "text",
    [
        "2*b*k/(b + k)",
        "(a + b)/(2*c*(c + d)**2)",
        "1/(N + 8)**2",
        "sqrt(a + b)",
        "sqrt(k - b)/b",
        "a**(2/3) + 1/sqrt(M)",
        "(a + b)**(3/2)",
        "n*log2(n)",
        "log2(n)/log2(m)",
        "log2(a)*log2(b) + log2(2/5)",
        "sqrt(log2(n))",
        "1/(1 + log2(n))",
        "ceil(log2(n)/3)*floor(sqrt(n)/2)",
        "ceil(log2(ceil(n/2)))",
        "10**30*b - 1",
    ],
)
def test_powers_and_functions_come_back(text):
    x = read(text)
    assert from_sympy(to_sympy(x)) == x


@given(texts, st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(1, 20))))
@settings(max_examples=60)
def test_both_sides_have_one_value(text, at):
    x = read(text)
    there = to_sympy(x).subs({sympy.Symbol(n): v for n, v in at.items()})
    assert there == evaluate(x, at)


def test_results_are_ordinary_sympy_over_plain_symbols():
    b, d, k = sympy.symbols("b d k")
    x = to_sympy(read("2*b*d*k - b*k"))
    assert x == b * k * (2 * d - 1)
    assert x.free_symbols == {b, d, k}
    assert x.subs("b", 4) == 4 * k * (2 * d - 1)
    assert str(to_sympy(read("n/3 - 1/6"))) == "n/3 - 1/6"
    assert to_sympy(7) == 7
    assert to_sympy(Fraction(1, 2)) == sympy.Rational(1, 2)


@pytest.mark.parametrize("assumptions", [{}, {"positive": True}, {"integer": True}, {"real": True}, {"negative": True}])
def test_symbols_are_merged_by_name(assumptions):
    n = sympy.Symbol("n", **assumptions)
    assert from_sympy(2 * n + 1) == read("2*n + 1")
    assert sa.same(n + sympy.Symbol("n"), "2*n")


def test_dummies_go_by_their_name():
    assert from_sympy(sympy.Dummy("z") ** 2) == name("z") ** 2


def test_numbers_come_in_as_plain_ones():
    for x, expected in ((sympy.Integer(4), 4), (sympy.Rational(1, 2), Fraction(1, 2)), (Fraction(4), 4), (3, 3)):
        got = from_sympy(x)
        assert got == expected
        assert type(got) is type(expected)


OUTSIDE = {
    "float": sympy.Float(4.0),
    "float inside": sympy.Symbol("x") * 0.5,
    "pi": sympy.pi,
    "E": sympy.E,
    "I": sympy.I,
    "oo": sympy.oo,
    "nan": sympy.nan,
    "exp": sympy.exp(sympy.Symbol("x")),
    "Max": sympy.Max(sympy.Symbol("x"), 2),
    "power of a name": 2 ** sympy.Symbol("x"),
    "natural logarithm": sympy.log(sympy.Symbol("x")),
    "square of one": sympy.log(sympy.Symbol("x")) ** 2 / sympy.log(2),
    "log of two": sympy.log(2),
    "inside a ceiling": sympy.ceiling(sympy.log(sympy.Symbol("x"))),
    "relation": sympy.Symbol("x") < 2,
    "true": sympy.true,
    "None": None,
    "str": "x",
    "list": [1],
    "float of Python": 1.5,
}


@pytest.mark.parametrize("x", OUTSIDE.values(), ids=OUTSIDE)
def test_outside_the_exact_forms(x):
    with pytest.raises(ExpressionError, match=r"outside the exact forms|only log2 is kept exactly"):
        from_sympy(x)


@pytest.mark.parametrize("text", ["1bad", "a b", "a-b", "x²", "", "a.b", "f(x)"])
def test_a_symbol_that_is_no_name(text):
    with pytest.raises(ExpressionError, match="is not a name"):
        from_sympy(sympy.Symbol(text))


@given(texts)
@settings(max_examples=40)
def test_json_of_an_expression_reads_back(text):
    x = read(text)
    data = json.loads(json.dumps(to_json(x)))
    assert set(data) == {"text", "srepr", "symbols"}
    assert read(data["text"]) == x
    assert sa.loads(data) == to_sympy(x)


def test_srepr_is_for_sympy_to_read():
    x = read("2*E*N*S/(pi + 1) - lambda*I + O + Q + beta*zeta*gamma")
    data = to_json(x)
    assert sympy.sympify(data["srepr"]) == to_sympy(x)  # noqa: TID251  # what another program does with it
    assert data["symbols"] == sorted(["E", "N", "S", "pi", "lambda", "I", "O", "Q", "beta", "zeta", "gamma"])


def test_positive_roots():
    n, b, d = sympy.symbols("n b d")
    assert positive_roots(read("n**2 - 5*n + 6"), "n") == (2, 3)
    assert positive_roots(read("n**2 + 5*n + 6"), "n") == ()
    assert positive_roots(read("n**2 - 2"), "n") == (sympy.sqrt(2),)
    assert positive_roots(read("d*n - b"), "n") == (b / d,)
    assert positive_roots(read("d*n + b"), "n") == ()
    assert positive_roots(read("3"), "n") == ()
    (root,) = positive_roots(read("n**5 - n - 1"), "n")
    assert abs(sympy.N(root**5 - root - 1)) < 1e-12
    assert n not in root.free_symbols


def test_expanded_and_factored_are_the_same():
    b, k = sympy.symbols("b k")
    assert equal(from_sympy((b + k) ** 3), from_sympy(sympy.expand((b + k) ** 3)))
    assert sa.same((b + k) ** 2 / (b + k), b + k)
