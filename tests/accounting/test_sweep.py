"""Many sizes at once: every value against Python's integers, and never a silent overflow."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import AxisConflictError, ConventionError, SizeError, UndefinedSizeError, UnknownAxisError
from symacct.expr import evaluate

MATMUL = "b d, d k -> b k"

ACCOUNTS = {
    "matmul": {},
    "exact": {"convention": "exact"},
    "nvfp4": {"dtype": "nvfp4"},
    "int4": {"dtype": "int4", "b": "d + 1"},
    "quotient": {"d": "k/2"},
    "difference": {"d": "k - 1", "convention": "exact"},
    "sum in a denominator": {"d": "k/(b + 1)"},
    "rounding": {"d": "ceil(k/3)*2"},
}

sizes = st.one_of(
    st.integers(1, 50), st.integers(2**20, 2**22), st.integers(2**31 - 2, 2**32), st.integers(2**62, 2**66)
)


@given(st.sampled_from(list(ACCOUNTS)), st.booleans(), st.booleans(), st.data())
@settings(max_examples=120)
def test_every_point_is_the_closed_form_there_or_is_said_to_be_rounded(label, pairs, exact, data):
    account = sa.account(MATMUL, **ACCOUNTS[label])
    length = data.draw(st.integers(1, 3))
    values = {n: data.draw(st.lists(sizes, min_size=length, max_size=length), label=n) for n in account.names}
    if label == "quotient":
        values["k"] = [2 * v for v in values["k"]]
    if label == "difference":
        values["k"] = [v + 1 for v in values["k"]]
    if label == "sum in a denominator":
        pairs = True
        values["k"] = [k * (b + 1) for b, k in zip(values["b"], values["k"], strict=True)]
    swept = account.sweep(**values, zip=pairs, exact=exact)
    points = list(zip(*values.values(), strict=True)) if pairs else list(itertools.product(*values.values()))
    assert swept.shape == ((length,) if pairs else (length,) * len(values))
    for total in ("flops", "matmul_flops", "bytes"):
        got = swept.values(total)
        assert got.shape == swept.shape
        expected = [evaluate(account.total(total), dict(zip(values, p, strict=True))) for p in points]
        if swept.exact(total):
            assert got.ravel().tolist() == expected
            assert swept.note(total) == "exact"
        else:
            assert not exact
            assert got.dtype == np.float64
            assert swept.note(total).startswith("float64")
            np.testing.assert_allclose(got.ravel(), np.array(expected, dtype=float), rtol=1e-12)
    ratio = [evaluate(account.total("intensity"), dict(zip(values, p, strict=True))) for p in points]
    np.testing.assert_allclose(swept.intensity.ravel().astype(float), np.array(ratio, dtype=float), rtol=1e-12)


def test_what_int64_would_get_wrong_is_float64():
    """Four thousand million cubed, times two, is positive and wrong in 64 bits."""
    n = 4_000_000_000
    swept = sa.account(MATMUL).sweep(b=[n], d=[n], k=[n])
    assert swept.flops.dtype == np.float64
    assert swept.flops.item() == float(2 * n**3)
    assert not swept.exact("flops")
    exact = sa.account(MATMUL).sweep(b=[n], d=[n], k=[n], exact=True)
    assert exact.flops.item() == 2 * n**3
    assert exact.exact("flops")


def test_the_limit_is_two_to_the_63rd():
    largest = sa.account("b -> ").sweep(b=[2**63 - 1])
    assert largest.flops.dtype == np.int64
    assert largest.flops.tolist() == [2**63 - 1]
    beyond = sa.account("b -> ").sweep(b=[2**63])
    assert beyond.flops.dtype == np.float64
    assert sa.account("b -> ").sweep(b=[2**63], exact=True).flops.tolist() == [2**63]
    # a partial sum that is too large counts, also where the difference would fit
    parts = sa.account(MATMUL, convention="exact")
    assert parts.sweep(b=[2**61], d=[1], k=[1]).exact("flops")
    assert not parts.sweep(b=[2**62], d=[1], k=[1]).exact("flops")


def test_what_float64_cannot_hold_is_refused():
    for n in (10**200, 10**400):
        with pytest.raises(SizeError, match=r"flops exceeds the range of float64 .*; use sweep\(..., exact=True\)"):
            sa.account(MATMUL).sweep(b=[n], d=[n], k=[1]).flops  # noqa: B018
    swept = sa.account(MATMUL).sweep(b=[10**200], d=[10**200], k=[1], exact=True)
    assert swept.flops.item() == 2 * 10**400


def test_roots_and_logarithms_are_not_called_exact():
    for size, values in (("sqrt(k)", [4, 9]), ("log2(k)", [4, 8])):
        for exact in (False, True):
            swept = sa.account(MATMUL, d=size).sweep(b=1, k=values, exact=exact)
            assert not swept.exact("flops")
            assert swept.note("flops") == "float64: there are roots or logarithms"
            expected = [evaluate(swept.account.total("flops"), {"b": 1, "k": k}) for k in values]
            assert swept.flops.ravel().tolist() == expected


def test_a_grid_is_the_default_and_pairs_are_asked_for():
    account = sa.account(MATMUL, b=8)
    grid = account.sweep(d=[1, 2], k=[1, 2, 3])
    assert grid.flops.tolist() == [[16, 32, 48], [32, 64, 96]]
    assert str(grid).startswith("grid of d: 2 values, k: 3 values")
    pairs = account.sweep(d=[1, 2], k=[3, 4], zip=True)
    assert pairs.flops.tolist() == [48, 128]
    assert str(pairs).startswith("pairs of")
    assert account.sweep(d=[1, 2], k=3, zip=True).flops.tolist() == [48, 96]
    assert account.sweep(d=2, k=3, zip=True).flops.tolist() == [96]
    assert account.sweep(k=[1, 2, 3], d=[1, 2]).shape == (3, 2)
    with pytest.raises(SizeError, match="with zip=True all lists have one length, not d: 2, k: 3"):
        account.sweep(d=[1, 2], k=[1, 2, 3], zip=True)


@pytest.mark.parametrize(
    "given_b",
    [
        3,
        "3",
        [3],
        (3,),
        {3},
        range(3, 4),
        np.int64(3),
        np.array(3),
        np.array([3]),
        np.array([3], dtype=np.uint8),
        np.array([3], dtype=np.uint64),
        [np.int8(3)],
        sympy.Integer(3),
        [sympy.Integer(3)],
        iter([3]),
    ],
    ids=repr,
)
def test_values_of_every_kind(given_b):
    assert sa.account(MATMUL).sweep(b=given_b, d=2, k=5).flops.tolist() == [[[60]]]


def test_small_integer_types_do_not_overflow():
    swept = sa.account(MATMUL).sweep(b=np.array([200], dtype=np.uint8), d=np.array([100], dtype=np.int8), k=300)
    assert swept.flops.item() == 2 * 200 * 100 * 300
    unsigned = sa.account("b -> ").sweep(b=np.array([2**63], dtype=np.uint64), exact=True)
    assert unsigned.flops.tolist() == [2**63]


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        [0],
        [-1],
        [1.0],
        [True],
        ["x"],
        "x",
        None,
        [None],
        [[1]],
        np.array([1.0]),
        np.array([True]),
        np.array([[1]]),
        np.array([]),
        np.array([0]),
        np.array([-3, 4]),
    ],
    ids=repr,
)
def test_values_that_are_no_sizes(wrong):
    with pytest.raises(SizeError, match="'b'"):
        sa.account(MATMUL).sweep(b=wrong, d=1, k=1)


def test_axes_are_checked():
    account = sa.account(MATMUL)
    with pytest.raises(UndefinedSizeError, match=r"no values for k; .* a number or a list for each of b, d, k"):
        account.sweep(b=[1], d=[2])
    with pytest.raises(UnknownAxisError, match="no free size 'z'"):
        account.sweep(b=[1], d=[2], k=[3], z=[4])
    with pytest.raises(AxisConflictError, match="b is given twice"):
        account.sweep(sizes={"b": [1]}, b=[2], d=[2], k=[3])
    assert account.sweep(sizes={"b": [1], "d": 2, "k": 3}).flops.tolist() == [[[12]]]
    with pytest.raises(ConventionError, match="unknown quantity"):
        account.sweep(b=[1], d=[2], k=[3]).values("time")


@pytest.mark.parametrize(
    ("size", "good", "wrong", "message"),
    [
        ("k/2", [2, 4], [2, 3], "2 divides k"),
        ("k - 3", [4, 5], [4, 3], "k - 3 >= 1"),
        ("k/(b + 1)", [4, 8], [4, 5], r"\(b \+ 1\) divides k"),
        ("sqrt(k)", [4, 9], [4, 10], r"sqrt\(k\) is a whole number"),
        ("log2(k)", [2, 4], [2, 1], r"log2\(k\) >= 1"),
        ("floor(k/2)", [2, 3], [2, 1], r"floor\(k/2\) >= 1"),
    ],
)
def test_sizes_that_break_a_condition(size, good, wrong, message):
    account = sa.account(MATMUL, d=size)
    assert account.sweep(b=[1, 3], k=[good[0]] if "b" in size else good).flops.min() > 0
    with pytest.raises(SizeError, match="some of these sizes break a condition: " + message):
        account.sweep(b=1, k=wrong)


def test_without_free_sizes():
    swept = sa.account(MATMUL, b=1, d=2, k=3).sweep()
    assert swept.flops == 12
    assert swept.intensity == 12 / 22


def test_arrays_are_not_written_into():
    swept = sa.account(MATMUL).sweep(b=[1, 2], d=[3], k=[4])
    with pytest.raises(ValueError, match="read-only"):
        swept.flops[0] = 5
    assert swept.flops.tolist() == [[[24]], [[48]]]


def test_what_is_given_is_not_changed():
    values = np.array([1, 2, 3])
    sa.account(MATMUL).sweep(b=values, d=values, k=values).flops  # noqa: B018
    assert values.tolist() == [1, 2, 3]


def test_fractions_come_out_exactly():
    account = sa.account(MATMUL, dtype="int4")
    swept = account.sweep(b=[3], d=[5], k=[7], exact=True)
    assert swept.bytes.item() == 8 + 18 + 11
    assert Fraction(swept.flops.item(), swept.bytes.item()) == evaluate(
        account.total("intensity"), {"b": 3, "d": 5, "k": 7}
    )
