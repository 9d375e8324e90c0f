"""Accounts: totals and steps as closed forms, sizes and formats put in, and accounts as values."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import (
    AxisConflictError,
    ConventionError,
    DtypeError,
    MixedUnitsError,
    SizeError,
    SymacctError,
    UndefinedSizeError,
    UnknownAxisError,
)
from symacct.expr import name, read

MATMUL = "b d, d k -> b k"
b, d, k = sympy.symbols("b d k")


def test_the_contract():
    assert sa.flops(MATMUL) == 2 * b * d * k
    assert sa.flops(MATMUL, convention="exact") == b * k * (2 * d - 1)
    assert sa.flops(MATMUL, b=64, d="4*k") == 512 * k**2
    assert sa.bytes(MATMUL, dtype="bf16") == 2 * (b * d + b * k + d * k)
    square = {"i": "n", "j": "n", "k": "n"}
    assert str(sa.intensity("i j, j k -> i k", **square, convention="exact")) == "n/3 - 1/6"
    account = sa.account("b s d, d k -> b s k", dtype="bf16")
    assert account.flops == account.matmul_flops == 2 * b * d * k * sympy.Symbol("s")
    assert sa.same(account.intensity, account.flops / account.bytes)
    assert account.at(b=8, s=1024, d=4096, k=4096).flops == 2 * 8 * 1024 * 4096**2


def test_the_default_is_bf16_unfused_and_2n():
    account = sa.account(MATMUL)
    assert account.bytes == sa.bytes(MATMUL, dtype="bf16", traffic="unfused")
    assert account.flops == sa.flops(MATMUL, convention="2n", order="left")
    shown = str(account)
    assert "bf16" in shown
    assert "unfused" in shown


@pytest.mark.parametrize(
    ("dtype", "form"),
    [
        ("fp32", "4*(b*d + d*k + b*k)"),
        ("bf16", "2*(b*d + d*k + b*k)"),
        ("fp8", "b*d + d*k + b*k"),
        (["fp8", "bf16", "fp32"], "b*d + 2*d*k + 4*b*k"),
        (("bf16", "bf16", "fp32"), "2*b*d + 2*d*k + 4*b*k"),
        ("int4", "ceil(b*d/2) + ceil(d*k/2) + ceil(b*k/2)"),
        # a row of the contracted axis has its scales; the output's last axis has; one fp32 scale a tensor
        ("nvfp4", "(b + k)*(ceil(d/2) + ceil(d/16)) + b*(ceil(k/2) + ceil(k/16)) + 12"),
        ("mxfp8", "(b + k)*(d + ceil(d/32)) + b*(k + ceil(k/32))"),
        (np.float64, "8*(b*d + d*k + b*k)"),
    ],
)
def test_bytes_by_format(dtype, form):
    assert sa.same(sa.bytes(MATMUL, dtype=dtype), form)


def test_intermediates_take_the_format_of_the_output():
    mixed = sa.bytes("i j, j k, k l -> i l", dtype=["fp8", "fp8", "fp8", "fp32"])
    assert sa.same(mixed, "i*j + j*k + k*l + 2*4*i*k + 4*i*l")


@pytest.mark.parametrize("dtypes", [["bf16"], ["bf16", "bf16"], ["bf16"] * 4, []])
def test_a_format_for_each_tensor_or_one_for_all(dtypes):
    with pytest.raises(DtypeError, match=r"\d dtypes for 2 operands and an output; give one, or 3"):
        sa.bytes(MATMUL, dtype=dtypes)
    with pytest.raises(DtypeError, match="unknown dtype 'bf17'"):
        sa.bytes(MATMUL, dtype="bf17")


def test_sizes_are_put_in_all_at_once():
    assert sa.same(sa.flops(MATMUL, b="d", d="b"), "2*b*d*k")
    assert sa.same(sa.bytes(MATMUL, b="d", d="b", dtype="int8"), "b*d + b*k + d*k")
    assert sa.same(sa.flops(MATMUL, b="d", d="k", k="b*d"), "2*d*k*b*d")
    swapped = sa.account("b d -> b", b="d", d="2*b", convention="exact")
    assert sa.same(swapped.flops, "d*(2*b - 1)")


def test_integers_stay_exact_whatever_their_size():
    n = 10**30
    account = sa.account(MATMUL, b=n, d=n + 1, convention="exact")
    assert account.flops == n * k * (2 * n + 1)
    figures = sa.account(MATMUL).at(b=n, d=n, k=n)
    assert figures.flops.value == 2 * 10**90
    assert figures.bytes.value == 6 * 10**60
    assert type(figures.flops.value) is int


def test_sizes_of_every_kind_mean_the_same():
    n = sympy.Symbol("n", positive=True)
    expected = sa.flops(MATMUL, d="n", b=4)
    for given_n, given_b in ((n, np.int64(4)), (name("n"), sympy.Integer(4)), ("n", "4"), (n, np.uint8(4))):
        assert sa.flops(MATMUL, d=given_n, b=given_b) == expected
    assert sa.flops(MATMUL, sizes={"d": "n", "b": 4}) == expected
    assert sa.flops(MATMUL, sizes={"d": "n"}, b=4) == expected


@pytest.mark.parametrize(
    ("sizes", "kind", "message"),
    [
        ({"b": True}, SizeError, r"True \(bool\)"),
        ({"b": 4.0}, SizeError, r"4\.0 \(float\)"),
        ({"b": 0}, SizeError, "a size is at least 1"),
        ({"b": "-d"}, SizeError, "negative for all sizes"),
        ({"b": "d d"}, SizeError, "write products with"),
        ({"q": 1}, UnknownAxisError, "no axis 'q' to size; known: b, d, k"),
        ({"sizes": {"b": 1}, "b": 2}, AxisConflictError, "two sizes, 1 and 2"),
    ],
)
def test_wrong_sizes(sizes, kind, message):
    with pytest.raises(kind, match=message):
        sa.account(MATMUL, **sizes)


def test_names_that_collide_go_through_the_mapping():
    assert sa.flops("order dtype -> order", sizes={"order": 2, "dtype": 3}) == 6
    assert sa.flops("in lambda -> in", sizes={"in": 2, "lambda": 3}) == 6
    with pytest.raises(ConventionError, match=r"sizes=\{'order': \.\.\.\}"):
        sa.flops("order d -> d", order=2)


CONDITIONS = {
    "k/2": ["2 divides k"],
    "k - 1": ["k - 1 >= 1"],
    "k/h": ["h divides k"],
    "(k + 1)/2": ["2 divides k + 1"],
    "k/2 + h/3": ["6 divides 2*h + 3*k"],
    "sqrt(k)": ["sqrt(k) is a whole number"],
    "floor(k/2)": ["floor(k/2) >= 1"],
    "ceil(k/2)": [],
    "4*k": [],
    "h*k/h": [],
}


@pytest.mark.parametrize(("size", "conditions"), CONDITIONS.items(), ids=list(CONDITIONS))
def test_conditions_follow_from_the_sizes(size, conditions):
    account = sa.account(MATMUL, d=size)
    assert [str(c) for c in account.conditions] == conditions
    for condition in conditions:
        assert condition in str(account)
    assert account.to_json()["conditions"] == conditions


@pytest.mark.parametrize(
    ("size", "good", "wrong", "message"),
    [
        ("k/2", {"k": 4}, {"k": 3}, r"2 divides k \(k = 3\)"),
        ("k - 1", {"k": 2}, {"k": 1}, r"k - 1 >= 1 \(k - 1 = 0"),
        ("k/h", {"k": 6, "h": 3}, {"k": 6, "h": 4}, "h divides k"),
        ("k/(b + 1)", {"k": 4}, {"k": 5}, r"\(b \+ 1\) divides k"),
        ("sqrt(k)", {"k": 9}, {"k": 10}, r"sqrt\(k\) is a whole number"),
        ("log2(k)", {"k": 8}, {"k": 1}, r"log2\(k\) >= 1"),
        ("log2(k)", {"k": 8}, {"k": 9}, r"log2\(k\) is a whole number"),
        ("floor(k/2)", {"k": 2}, {"k": 1}, r"floor\(k/2\) >= 1"),
        ("k - h", {"k": 4, "h": 2}, {"k": 4, "h": 4}, ">= 1"),
    ],
)
def test_sizes_that_break_a_condition(size, good, wrong, message):
    account = sa.account(MATMUL, d=size)
    assert account.at(b=3 if "b" in size else 2, **good).flops.value > 0
    with pytest.raises(SizeError, match="these sizes break a condition: .*" + message):
        account.at(b=3 if "b" in size else 2, **wrong)


def test_at_gives_exact_numbers_with_units():
    figures = sa.account(MATMUL, convention="exact").at(b=1024, d=256, k=64)
    assert figures.flops.value == 1024 * 64 * 511
    assert figures.bytes.value == 2 * (1024 * 256 + 1024 * 64 + 256 * 64)
    assert figures.intensity.value == sympy.Rational(1024 * 64 * 511, figures.bytes.value)
    assert [getattr(figures, f).unit for f in ("flops", "matmul_flops", "bytes", "intensity")] == [
        "FLOP",
        "FLOP",
        "B",
        "FLOP/B",
    ]
    assert str(figures).split("\n") == [
        "flops         33.489 MFLOP",
        "matmul_flops  33.489 MFLOP",
        "bytes         688.128 kB (672.000 KiB)",
        "intensity     48.6667 FLOP/B",
        "under         exact, bf16, unfused",
    ]


def test_at_says_what_is_wrong_with_sizes():
    account = sa.account(MATMUL)
    with pytest.raises(UndefinedSizeError, match=r"no number for d, k; give a size to each of b, d, k"):
        account.at(b=1)
    with pytest.raises(UndefinedSizeError, match="the size of 'k' is 2\\*m, still a name"):
        account.at(b=1, d=2, k="2*m")
    with pytest.raises(UnknownAxisError, match="no axis 'z' to size; known: b, d, k"):
        account.at(b=1, d=2, k=3, z=4)
    with pytest.raises(AxisConflictError):
        account.at(sizes={"b": 2}, b=1, d=2, k=3)
    assert account.at(sizes={"b": 2, "d": 3, "k": 4}).flops == 48


@given(st.tuples(*[st.integers(1, 10**6)] * 3), st.sampled_from(["2n", "exact"]))
@settings(max_examples=50)
def test_at_is_the_closed_form_at_the_sizes(sizes, convention):
    account = sa.account(MATMUL, convention=convention)
    at = dict(zip("bdk", sizes, strict=True))
    figures = account.at(**at)
    assert figures.flops.value == account.flops.subs(at)
    assert figures.bytes.value == account.bytes.subs(at)
    put_in = sa.account(MATMUL, convention=convention, **at)
    assert put_in.flops == figures.flops.value
    assert put_in.bytes == figures.bytes.value


@pytest.mark.parametrize("total", ["flop", "", None, "time", "Bytes"])
def test_unknown_totals(total):
    with pytest.raises(ConventionError, match=r"unknown quantity .*; known: flops, matmul_flops, bytes, intensity"):
        sa.account(MATMUL).total(total)


def test_unknown_traffic():
    with pytest.raises(ConventionError, match="unknown traffic 'fused'; known: unfused, compulsory"):
        sa.account(MATMUL, traffic="fused")


def test_nothing_is_computed_by_a_copy():
    account = sa.account("b d -> d b")
    assert account.flops == 0
    assert account.intensity == 0
    assert account.limit("b") == 0


def test_a_scalar_is_moved():
    account = sa.account("->", dtype="fp32")
    assert account.flops == 0
    assert account.bytes == 8
    assert account.names == ()
    assert account.at().bytes == 8


def test_traffic_terms_add_up():
    for pattern in (MATMUL, "i j, j k, k l -> i l", "i i, i -> i"):
        for traffic in ("unfused", "compulsory"):
            account = sa.account(pattern, traffic=traffic)
            assert sum((amount for _, amount in account.traffic_terms()), 0) == account.total("bytes")
    labels = [label for label, _ in sa.account(MATMUL).traffic_terms()]
    assert labels == ["operand 1 read", "operand 2 read", "output written"]


def test_steps_add_up():
    account = sa.account("i j, j k, k l, l m -> i m")
    assert len(account.steps) == 3
    assert sum((step.bytes for step in account.steps), 0) == account.total("bytes")


def test_free_sizes():
    account = sa.account(MATMUL, b=64, d="4*k*h")
    assert account.names == ("h", "k")
    assert account.flops.free_symbols == set(sympy.symbols("h k"))


def test_one_pattern_in_two_notations_is_not_mixed_up():
    assert sa.same(sa.flops("ij, jk -> ij jk"), "ij*jk")
    with pytest.raises(SymacctError):
        sa.flops("ij,jk->ik")
    assert sa.same(sa.flops("ij,jk->ik", notation="numpy"), "2*i*j*k")
    assert sa.flops("ab -> ab") == 0
    assert sa.flops("ab -> b", notation="numpy") == sympy.Symbol("a") * b


def test_intensity_of_mixed_units_is_refused():
    with pytest.raises(MixedUnitsError):
        sa.intensity("i j, j k, i k -> i k", convention="mac")


def test_numbers_in_mixed_units_stand_side_by_side():
    """A loop nest of three operands: one multiply and one multiply-accumulate at each of 2*3*4*5 points."""
    at = sa.account("i j, j k, k l -> i l", convention="mac", order="naive").at(i=2, j=3, k=4, l=5)
    assert (at.flops, at.intensity) == (None, None)
    assert [(q.value, q.unit) for q in at.work] == [(120, "MAC"), (120, "FLOP")]
    assert str(at).splitlines()[:3] == ["work          120 MAC", "work          120 FLOP", "matmul_flops  120 MAC"]
    assert at.to_json()["work"] == [{"value": 120, "float": 120.0, "unit": unit} for unit in ("MAC", "FLOP")]


def test_a_size_expression_counts_exactly():
    account = sa.account(MATMUL, d="ceil(h/16)", convention="exact")
    assert account.total("flops") == read("b*k*(2*ceil(h/16) - 1)")
    assert account.at(b=2, h=17, k=3).flops == 2 * 3 * 3
