"""Questions about closed forms, each against sympy, finite differences or values at random sizes."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.accounting.analysis import terms
from symacct.errors import (
    ConventionError,
    ExpressionError,
    InconclusiveError,
    MixedUnitsError,
    SymacctError,
    UnknownAxisError,
)
from symacct.expr import evaluate, name, names_in, numerator, read

MATMUL = "b d, d k -> b k"
TOTALS = ("flops", "matmul_flops", "bytes", "intensity")

ACCOUNTS = {
    "matmul": (MATMUL, {}),
    "exact": (MATMUL, {"convention": "exact"}),
    "square": ("i j, j k -> i k", {"i": "n", "j": "n", "k": "n", "convention": "exact"}),
    "dot": ("n, n ->", {"convention": "exact"}),
    "matrix-vector": ("m n, n -> m", {"convention": "exact", "dtype": "fp32"}),
    "element-wise": ("b d, b d -> b d", {}),
    "reduction": ("b d -> b", {"convention": "exact"}),
    "chain": ("i j, j k, k l -> i l", {"dtype": ["fp8", "bf16", "fp8", "fp32"]}),
    "expression": (MATMUL, {"d": "k + 1", "b": "b**2"}),
    "quotient": (MATMUL, {"d": "k/h"}),
}
CASES = [(label, str(n)) for label, (p, o) in ACCOUNTS.items() for n in sa.account(p, **o).names]


def account(label):
    pattern, options = ACCOUNTS[label]
    return sa.account(pattern, **options)


def in_one_size(form, a, axis):
    """The form in its axis alone, the other sizes as numbers that have nothing in common."""
    n = sympy.Symbol(axis, positive=True)
    return form.subs(dict(zip(a.names, (7, 11, 13, 17), strict=False)) | {axis: n}), n


@pytest.mark.parametrize(("label", "axis"), CASES)
def test_the_leading_form_is_one_power_and_what_a_total_tends_to(label, axis):
    a = account(label)
    for total, form in zip(TOTALS, a.leading(axis), strict=True):
        assert form == a.leading(axis, of=total)
        whole, n = in_one_size(getattr(a, total), a, axis)
        if whole == 0:
            assert form == 0
        else:
            one_power, _ = in_one_size(form, a, axis)
            assert sympy.limit(whole / one_power, n, sympy.oo) == 1
            assert (n * sympy.diff(one_power, n) / one_power).simplify().is_number


@pytest.mark.parametrize(("label", "axis"), CASES)
@pytest.mark.parametrize("total", TOTALS)
def test_the_limit_is_that_of_sympy(label, axis, total):
    a = account(label)
    whole, n = in_one_size(getattr(a, total), a, axis)
    ours, _ = in_one_size(a.limit(axis, of=total), a, axis)
    assert ours == sympy.limit(whole, n, sympy.oo)


@given(st.sampled_from(CASES), st.sampled_from(TOTALS), st.data())
@settings(max_examples=60)
def test_sensitivity_is_the_relative_difference(case, total, data):
    label, axis = case
    a = account(label)
    at = {n: data.draw(st.integers(2, 50)) for n in a.names}
    step = Fraction(1, 10**6)
    f = a.total(total)
    low, middle, high = (evaluate(f, {**at, axis: at[axis] * (1 + s)}) for s in (-step, 0, step))
    numeric = Fraction(high - low) / (2 * step * middle) if middle else 0
    exact = Fraction(str(a.sensitivity(axis, of=total).subs(at)))
    assert abs(numeric - exact) < Fraction(1, 10**8)


def test_forms_of_the_square_matmul():
    a = account("square")
    n = sympy.Symbol("n")
    assert a.leading("n", of="intensity") == n / 3
    assert a.leading(n).flops == 2 * n**3
    assert a.leading(n).bytes == 6 * n**2
    assert a.limit(n) == sympy.oo
    assert account("dot").limit("n") == sympy.Rational(1, 2)
    assert sa.same(account("matmul").limit("b"), "d*k/(d + k)")
    assert account("element-wise").sensitivity("b") == 0


@pytest.mark.parametrize(("label", "axis"), CASES)
@pytest.mark.parametrize("total", ["flops", "bytes"])
def test_at_a_crossover_both_terms_are_equal_and_above_it_the_larger_is_larger(label, axis, total):
    a = account(label)
    parts = terms(a, total)
    try:
        found = a.crossovers(axis, of=total)
    except InconclusiveError:
        assert label == "expression"
        return
    for c in found:
        (first,) = [x for label_, x in parts if label_ == c.first]
        (second,) = [x for label_, x in parts if label_ == c.second]
        others = {n: v for n, v in zip(a.names, (7, 11, 13, 17), strict=False) if n != axis}
        root = evaluate(c.value, others)
        if root <= 0:
            continue
        at = {**others, axis: Fraction(root)}
        assert float(evaluate(first, at)) == pytest.approx(float(evaluate(second, at)))
        above = {**others, axis: at[axis] * 2}
        larger = c.first if evaluate(first, above) > evaluate(second, above) else c.second
        assert c.larger_above in (larger, None)


def test_crossovers_of_the_matmul():
    assert [str(c) for c in account("matmul").crossovers("b")] == [
        "operand 1 read = operand 2 read at b = k",
        "operand 2 read = output written at b = d",
    ]
    steps = account("chain").crossovers("j", of="flops")
    assert [str(c) for c in steps] == ["i j, j k -> i k = i k, k l -> i l at j = l"]


def test_crossovers_of_sums_are_found_too():
    """Under exact, each step has two terms; where 2ijk - ik = 2ikl - il is a quotient."""
    a = sa.account("i j, j k, k l -> i l", convention="exact")
    (crossover,) = a.crossovers("j", of="flops")
    sizes = {"i": 3, "k": 5, "l": 10}
    j = evaluate(crossover.value, sizes)
    first, second = (x for _, x in terms(a, "flops"))
    assert evaluate(first, {**sizes, "j": j}) == evaluate(second, {**sizes, "j": j})
    assert sa.same(crossover.at, "l + 1/2 - l/(2*k)")
    assert sa.account(MATMUL, d="k + 1").crossovers("k", of="bytes")


def test_crossovers_that_have_no_closed_form_are_not_passed_over():
    with pytest.raises(ExpressionError, match=r"d stands inside ceil\(d/2\)"):
        sa.account(MATMUL, dtype="nvfp4").crossovers("d")
    with pytest.raises(InconclusiveError, match="no closed form of the n at which"):
        sa.account(MATMUL, b="n**3", d="n + 3", k="k").crossovers("n")


@pytest.mark.parametrize("question", ["leading", "limit", "sensitivity", "crossovers"])
def test_errors(question):
    a = account("matmul")
    with pytest.raises(UnknownAxisError, match=r"no free size 'z' in this account; free: b, d, k"):
        getattr(a, question)("z")
    with pytest.raises(ConventionError, match=r"('flop' has no terms|unknown quantity 'flop'); known: "):
        getattr(a, question)("b", of="flop")
    with pytest.raises(ExpressionError, match=r"d stands inside ceil\(d/2\)"):
        getattr(sa.account(MATMUL, dtype="nvfp4"), question)("d", of="bytes")
    mixed = sa.account("i j, j k, i k -> i k", convention="mac")
    with pytest.raises(MixedUnitsError):
        getattr(mixed, question)("i", of="flops")


PAIRS = [
    (("b d, d k -> b k", {}), ("b d, d r, r k -> b k", {})),
    (("b d, d k -> b k", {"convention": "exact"}), ("b d, d r, r k -> b k", {"convention": "exact"})),
    (("b d, d k -> b k", {"d": "q"}), ("b d, d k -> b k", {})),
    (("b d, d k -> b k", {"d": "d + 1"}), ("b d, d k -> b k", {})),
    (("b d, d k -> b k", {"d": "d - 1", "b": "b + 1"}), ("b d, d k -> b k", {})),
    (("i j, j k, k l -> i l", {}), ("i j, j k, k l -> i l", {"order": "naive"})),
    (("b d, d k -> b k", {"d": "ceil(k/2)"}), ("b d, d k -> b k", {"d": "k/2"})),
    (("b d, d k -> b k", {"d": "d/h"}), ("b d, d k -> b k", {"k": "h"})),
    (("b d, d k -> b k", {"d": "q/(k + 1)"}), ("b d, d k -> b k", {"d": "2*q/(k + 1)"})),
]


@given(st.sampled_from(PAIRS), st.sampled_from(["flops", "bytes"]), st.data())
@settings(max_examples=60)
def test_the_region_says_which_is_cheaper_at_any_sizes(pair, of, data):
    a, b = (sa.account(pattern, **options) for pattern, options in pair)
    found = sa.compare(a, b, of=of)
    names = sorted({*names_in(a.total(of)), *names_in(b.total(of))})
    sizes = {n: data.draw(st.integers(1, 40), label=n) for n in names}
    first, second = evaluate(a.total(of), sizes), evaluate(b.total(of), sizes)
    assert found.cheaper in (None, "a" if first < second else "b" if second < first else "equal")
    assert (evaluate(found.left, sizes) < evaluate(found.right, sizes)) == (first < second)
    assert found.difference.subs(sizes) == second - first


def test_regions_that_must_be_decided():
    def verdict(a, b, of="flops"):
        return sa.compare(sa.account(MATMUL, **a), sa.account(MATMUL, **b), of=of)

    assert verdict({}, {"d": "d + 1"}).cheaper == "a"
    assert verdict({}, {"d": "d + 1"}).region == "always"
    assert verdict({"d": "d + 1"}, {}).region == "never"
    assert verdict({}, {}).region == "never: they cost the same"
    assert verdict({"dtype": "fp32"}, {"dtype": "bf16"}, "bytes").cheaper == "b"
    assert verdict({"d": 1, "b": 2, "k": 3}, {"d": 4, "b": 5, "k": 6}).cheaper == "a"
    low_rank = sa.compare(sa.account(MATMUL), sa.account("b d, d r, r k -> b k"))
    assert low_rank.cheaper is None
    assert low_rank.region == "1/r < 1/d + 1/k"
    assert sa.same(low_rank.difference, "2*b*(d*r + k*r - d*k)")
    assert str(low_rank).split("\n")[-1] == "  a is cheaper  1/r < 1/d + 1/k"


def test_equal_at_the_smallest_sizes_is_not_always_cheaper():
    """At b = 1 both cost the same, so neither is cheaper everywhere."""
    found = sa.compare(sa.account("n, n -> n"), sa.account("n, n -> n", n="b*n"))
    assert found.cheaper is None
    assert evaluate(found.left, {"b": 1, "n": 3}) == evaluate(found.right, {"b": 1, "n": 3})


def test_a_difference_in_a_denominator_has_no_sign():
    """Both sizes hold where h < k only; nothing is claimed for all sizes."""
    a, b = (sa.account(MATMUL, d=size) for size in ("q/(k - h)", "2*q/(k - h)"))
    found = sa.compare(a, b)
    assert found.cheaper is None
    at = {"b": 2, "q": 12, "k": 5, "h": 2}
    assert evaluate(found.left, at) < evaluate(found.right, at)
    assert a.at(sizes=at).flops.value < b.at(sizes=at).flops.value


def test_compare_errors():
    a = sa.account(MATMUL)
    for of in ("intensity", "time", None):
        with pytest.raises(ConventionError, match=r"is not a cost to compare; known: flops, matmul_flops, bytes"):
            sa.compare(a, a, of=of)
    with pytest.raises(MixedUnitsError, match="one account is in MAC, the other in FLOP"):
        sa.compare(sa.account(MATMUL, convention="mac"), a)
    assert sa.compare(sa.account(MATMUL, convention="mac"), a, of="bytes").cheaper == "equal"
    for of in ("flops", "matmul_flops"):
        with pytest.raises(ConventionError, match="one account counts under exact, the other under 2n"):
            sa.compare(sa.account(MATMUL, convention="exact"), a, of=of)
    for other in (3, a.residuals()):
        with pytest.raises(ConventionError, match="is not an account; make one with"):
            sa.compare(other, a)


def test_steps_of_training_are_compared_by_their_accounts():
    one, other = (sa.account(MATMUL, **sizes).training() for sizes in ({}, {"k": "2*k"}))
    with pytest.raises(
        ConventionError, match=r"a step of training has several accounts; compare one, such as a\.total"
    ):
        sa.compare(one, other)
    assert sa.same(sa.compare(one.total, other.total).difference, "6*b*d*k")


def test_bytes_that_are_counted_otherwise_say_so():
    def chain(x: "b d", w: "d k"):
        return sa.relu(x @ w)

    a, b = sa.account(chain, traffic="compulsory", dtype="fp32"), sa.account(chain)
    found = sa.compare(a, b, of="bytes")
    assert found.under == (("dtype", "fp32", "bf16"), ("traffic", "compulsory", "unfused"))
    assert "  traffic       compulsory (a), unfused (b)" in str(found).split("\n")
    fused = sa.compare(sa.account(chain, fuse="pointwise"), sa.account(chain, layout="torch"), of="bytes")
    assert [way[0] for way in fused.under] == ["layout", "fuse"]
    assert sa.compare(a, b).under == ()  # of operations nothing of that matters
    assert sa.compare(b, b, of="bytes").under == ()


def test_answers_are_values():
    found = sa.compare(sa.account(MATMUL), sa.account(MATMUL, d="q"))
    (crossover, *_) = sa.account(MATMUL).crossovers("b")
    for value in (found, crossover, sa.account(MATMUL).leading("b")):
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value  # noqa: S301
    with pytest.raises(AttributeError):
        found.left = name("b")
    assert "\\" not in found.latex().replace(r"\left", "").replace(r"\right", "")


def test_a_symbol_or_its_name():
    a = account("matmul")
    symbol = sympy.Symbol("b", positive=True)
    assert a.leading(symbol) == a.leading("b")
    assert a.limit(symbol) == a.limit("b")
    assert numerator(read("b - 1")) == read("b - 1")
    with pytest.raises(SymacctError):
        a.limit(3)
