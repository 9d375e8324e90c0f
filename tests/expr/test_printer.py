"""Printed forms: as the field writes them, read back by our reader and by Python alike."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from symacct.expr import equal, evaluate, name, power, read, to_latex, to_text

NAMES = ("b", "d", "E", "lambda", "x_1", "größe")

sums = st.recursive(
    st.sampled_from(NAMES) | st.integers(-3, 3),
    lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner),
    max_leaves=7,
)
atoms = st.sampled_from(("b", "d", "E", "x_1", "ceil(d/16)", "floor((b + 1)/2)", "log2(E)", "sqrt(b)", "x_1**(2/3)"))
roots = st.sampled_from(("sqrt(b + d)", "(b + d)**(1/3)", "1/(b + d)", "1/(E + 2)**2"))
fractions = st.builds(Fraction, st.integers(-9, 9), st.integers(1, 9))
sizes = st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(1, 40)))


def build(tree):
    if not isinstance(tree, tuple):
        return name(tree) if isinstance(tree, str) else tree
    operator, left, right = tree
    a, b = build(left), build(right)
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b}[operator]()


def total(terms):
    return sum(factor * read("*".join(above) or "1") / read(below) for factor, above, below in terms)


@given(sums, fractions)
def test_text_of_a_sum_reads_back(tree, factor):
    x = build(tree) * factor
    assert read(to_text(x)) == x
    assert read(to_text(x, factored=False)) == x


@given(st.lists(st.tuples(fractions, st.lists(atoms, max_size=3), atoms), min_size=1, max_size=4))
def test_text_with_roundings_roots_and_denominators_reads_back(terms):
    x = total(terms)
    assert read(to_text(x)) == x
    assert read(to_text(x, factored=False)) == x


@given(st.lists(st.tuples(fractions, st.lists(atoms | roots, max_size=3), atoms), min_size=1, max_size=4))
def test_term_by_term_text_reads_back_with_powers_of_sums_too(terms):
    x = total(terms)
    assert read(to_text(x, factored=False)) == x


@given(sums, st.lists(st.tuples(sums, st.integers(1, 3)), min_size=1, max_size=3))
@settings(max_examples=40)
def test_text_of_a_fraction_reads_back(above, below):
    x = build(above)
    for tree, exponent in below:
        assume(build(tree) != 0)
        x = x * power(build(tree), -exponent)
    assert equal(read(to_text(x)), x)


@given(sums, sums, sums, sums)
@settings(max_examples=40)
def test_text_of_a_sum_of_fractions_means_the_same(a, b, c, d):
    b, d = build(b), build(d)
    assume(b != 0 and d != 0)
    x = build(a) * power(b, -1) + build(c) * power(d, -2)
    assert equal(read(to_text(x)), x)
    assert equal(read(to_text(x, factored=False)), x)


@given(sums, fractions, sizes)
def test_python_reads_the_text_alike(tree, factor, at):
    x = build(tree) * factor
    python = re.sub(r"\d+", lambda m: f"F({m[0]})", to_text(x).replace("x_1", "x_one").replace("lambda", "lambda_"))
    python = re.sub(r"\*\*F\((\d+)\)", r"**\1", python)
    values = {**at, "x_one": at["x_1"], "lambda_": at["lambda"], "F": Fraction}
    assert eval(python, {"__builtins__": {}}, values) == evaluate(x, at)  # noqa: S307


FORMS = {
    "2*b*d*k - b*k": "b*k*(2*d - 1)",
    "n/3 - 1/6": "(2*n - 1)/6",
    "b*d*2 + 2*d*k + k*b*2": "2*(b*d + b*k + d*k)",
    "1/(a + b)": "1/(a + b)",
    "2*b*k/(b + k)": "2*b*k/(b + k)",
    "(a + b)/(2*c)": "(a + b)/(2*c)",
    "-a - b": "-(a + b)",
    "-(a + b)/2": "-(a + b)/2",
    "b - a": "b - a",
    "c*(b - a - d)/2": "c*(b - a - d)/2",
    "2 - n": "2 - n",
    "a - b/2": "(2*a - b)/2",
    "a/b/c": "a/(b*c)",
    "1/2": "1/2",
    "-1/2*a": "-a/2",
    "sqrt(a)": "sqrt(a)",
    "a**(3/2)": "a**(3/2)",
    "1/sqrt(M)": "1/sqrt(M)",
    "sqrt(a + b)": "sqrt(a + b)",
    "(a + b)**(3/2)": "(a + b)**(3/2)",
    "1/(a + b)**2": "1/(a + b)**2",
    "ceil((d + 15)/16)": "ceil((d + 15)/16)",
    "d//2": "floor(d/2)",
    "log2(n)*n": "log2(n)*n",
    "7": "7",
}


@pytest.mark.parametrize(("text", "form"), FORMS.items(), ids=list(FORMS))
def test_form(text, form):
    assert to_text(read(text)) == form
    assert read(form) == read(text)


def test_text_is_deterministic_whatever_the_order_of_work():
    a, b, c, d = (name(n) for n in "abcd")
    assert to_text(a * b + c * d) == to_text(d * c + b * a) == "a*b + c*d"
    assert to_text((c + b) * (a + d)) == to_text(a * b + d * c + b * d + c * a)


def test_term_by_term_form():
    assert to_text(read("(j + l)/(j*l)"), factored=False) == "1/j + 1/l"
    assert to_text(read("2*i*j*k/sqrt(M) - 2*M"), factored=False) == "2*i*j*k/sqrt(M) - 2*M"


LATEX = {
    "n/3 - 1/6": r"\frac{2 n - 1}{6}",
    "b*d_model*k": "b d_{model} k",
    "lambda*pi*alpha_1": r"\alpha_{1} \lambda \pi",
    "heads*d": r"d \, \mathrm{heads}",
    "ceil(d/16)": r"\left\lceil \frac{d}{16} \right\rceil",
    "floor(d/16)": r"\left\lfloor \frac{d}{16} \right\rfloor",
    "sqrt(a + b)": r"\sqrt{a + b}",
    "1/sqrt(M)": r"\frac{1}{\sqrt{M}}",
    "n*log2(n)": r"\log_2\left(n\right) n",
    "a**12": "a^{12}",
    "a**(2/3)": "a^{2/3}",
    "2*(a + b)": r"2 \left(a + b\right)",
    "1/2": r"\frac{1}{2}",
    "-a/2": r"-\frac{a}{2}",
}


@pytest.mark.parametrize(("text", "latex"), LATEX.items(), ids=list(LATEX))
def test_latex(text, latex):
    assert to_latex(read(text)) == latex


@given(st.lists(st.tuples(fractions, st.lists(atoms | roots, max_size=3), atoms), min_size=1, max_size=4))
def test_latex_is_balanced(terms):
    latex = to_latex(total(terms))
    assert latex.count("{") == latex.count("}")
    assert len(re.findall(r"\\left\b", latex)) == len(re.findall(r"\\right\b", latex))
    depth = [latex[: i + 1].count("{") - latex[: i + 1].count("}") for i in range(len(latex))]
    assert min(depth) >= 0
    assert "*" not in latex
    assert "\\\\" not in latex


def test_underscores_in_latex_are_escaped_or_subscripts():
    assert to_latex(name("_x_y")) == r"\mathrm{\_x\_y}"
    assert to_latex(name("d_model_in")) == "d_{model,in}"
    assert to_latex(name("x_")) == "x"


def test_a_float_never_appears():
    assert to_text(read("0.1*a")) == "a/10"
    assert math.isclose(evaluate(read(to_text(read("0.1*a"))), {"a": 1}), 0.1)
