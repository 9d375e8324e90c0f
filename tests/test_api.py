"""The public verbs: that they agree with each other, and that names are only names in all of them."""

from __future__ import annotations

import inspect
import itertools
import json

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
    ExpressionError,
    PatternError,
    SizeError,
    SymacctError,
    UnknownAxisError,
)

MATMUL = "b d, d k -> b k"
VERBS = ("flops", "matmul_flops", "bytes", "intensity")

operands = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3), min_size=1, max_size=3)


@given(operands, st.sampled_from(["2n", "exact", "unit"]), st.sampled_from(["bf16", "fp32", "nvfp4"]), st.data())
@settings(max_examples=60)
def test_the_verbs_are_the_account(drawn, convention, dtype, data):
    used = sorted({n for o in drawn for n in o})
    output = data.draw(st.permutations(used))[: data.draw(st.integers(0, 3))]
    pattern = ", ".join(map(" ".join, drawn)) + " -> " + " ".join(output)
    options = {"convention": convention, "dtype": dtype, "sizes": {used[0]: "2*m"}}
    account = sa.account(pattern, **options)
    for verb in VERBS:
        assert getattr(sa, verb)(pattern, **options) == getattr(account, verb)
    assert sa.same(account.intensity * account.bytes, account.flops)
    at = {n: i + 2 for i, n in enumerate(account.names)}
    figures = account.at(sizes=at)
    for verb in VERBS:
        assert getattr(figures, verb).value == getattr(account, verb).subs({sympy.Symbol(k): v for k, v in at.items()})


@given(operands, st.data())
@settings(max_examples=60)
def test_compulsory_traffic_is_never_more_than_unfused(drawn, data):
    used = sorted({n for o in drawn for n in o})
    output = data.draw(st.permutations(used))[: data.draw(st.integers(0, 3))]
    pattern = ", ".join(map(" ".join, drawn)) + " -> " + " ".join(output)
    sizes = {n: data.draw(st.integers(1, 9)) for n in used}
    least = sa.bytes(pattern, traffic="compulsory", dtype="int8", sizes=sizes)
    for order in ("left", "naive"):
        assert least <= sa.bytes(pattern, order=order, dtype="int8", sizes=sizes)
    arrays = [np.zeros([sizes[n] for n in dict.fromkeys(o)], np.int8) for o in drawn]
    assert least == sum(a.nbytes for a in arrays) + np.zeros([sizes[n] for n in output], np.int8).nbytes


@given(operands, st.integers(1, 3), st.data())
@settings(max_examples=40)
def test_costs_grow_with_every_size(drawn, step, data):
    used = sorted({n for o in drawn for n in o})
    output = data.draw(st.permutations(used))[: data.draw(st.integers(0, 3))]
    pattern = ", ".join(map(" ".join, drawn)) + " -> " + " ".join(output)
    sizes = {n: data.draw(st.integers(1, 9)) for n in used}
    larger = {**sizes, used[0]: sizes[used[0]] + step}
    for verb in ("flops", "matmul_flops", "bytes"):
        for convention in ("2n", "exact"):
            small, large = (getattr(sa, verb)(pattern, convention=convention, sizes=s) for s in (sizes, larger))
            assert small <= large


NAMES = (
    *("E", "I", "N", "O", "Q", "S", "pi", "lambda", "beta", "gamma", "zeta"),  # mean something to sympy
    *("oo", "nan", "zoo", "e", "Symbol", "Integer", "ceil", "sqrt", "log2"),  # to sympy's reader, and to ours
    *("True", "None", "in", "x", "größe"),  # to Python
)


@pytest.mark.parametrize("n", NAMES)
def test_names_are_only_names(n):
    account = sa.account(f"{n} d, d k -> {n} k", convention="exact")
    symbol, d, k = sympy.Symbol(n), sympy.Symbol("d"), sympy.Symbol("k")
    assert account.flops == symbol * k * (2 * d - 1)
    assert sa.flops(MATMUL, b=n, convention="exact") == account.flops
    assert sa.flops(MATMUL, b=f"2*{n}") == 4 * symbol * d * k
    assert sa.flops(f"{n} d -> {n}", sizes={n: "d"}) == d**2
    assert sa.dims(n) == (symbol,)
    assert sa.same(f"{n}*k*(2*d - 1)", account.flops)
    assert sa.loads(json.dumps(account.to_json()))["flops"] == account.flops
    assert account.at(sizes={n: 2, "d": 3, "k": 4}).flops == 40
    assert account.leading(n, of="flops") == account.flops
    assert account.sensitivity(n, of="flops") == 1
    assert [c.at for c in account.crossovers(n)] == [k, d]
    assert sa.account(f"{n} d -> {n} d", d=3).solve(n, bytes=120).smallest == 10
    assert account.sweep(sizes={n: [1, 2], "d": 3, "k": 4}).flops.ravel().tolist() == [20, 40]
    assert str(account.total("flops")) == (f"{n}*k*(2*d - 1)" if n < "k" else f"k*{n}*(2*d - 1)")
    assert sa.lower_bound(f"{n} d, d k -> {n} k", memory="M").at(sizes={n: 2, "d": 3, "k": 4, "M": 1}) == 46
    assert "\\" in account.latex()


def test_symbols_match_those_of_the_user():
    E, N, S = sympy.symbols("E N S")
    assert sa.flops("E N, N S -> E S") == 2 * E * N * S
    assert sa.flops("E N, N S -> E S").subs({"E": 2, "N": 3, "S": 4}) == 48
    positive = sympy.symbols("E N S", positive=True, integer=True)
    assert sa.same(sa.flops("E N, N S -> E S"), 2 * sympy.prod(positive))
    assert sa.flops(MATMUL, b=positive[0]) == 2 * E * sympy.Symbol("d") * sympy.Symbol("k")


def test_dims():
    assert sa.dims("b d, k") == sympy.symbols("b d k")
    assert sa.dims("E pi lambda") == tuple(map(sympy.Symbol, ("E", "pi", "lambda")))
    assert sa.dims("") == ()
    assert sa.dims("ﬁ") == (sympy.Symbol("fi"),)
    for wrong in ("2", "a+b", "a b 3", "²", "a;b", "f(x)"):
        with pytest.raises(ExpressionError):
            sa.dims(wrong)


def test_rounding_helpers_are_expressions():
    assert str(sa.ceildiv(17, 16)) == "2"
    assert str(sa.floordiv(17, 16)) == "1"
    s = sa.ceildiv(sa.account("s ->").total("flops"), 128)
    assert str(s) == "ceil(s/128)"
    assert sa.same(sa.flops("b d -> b", b=s), "d*ceil(s/128)")


# JSON


def test_loads_reads_what_was_written():
    account = sa.account(MATMUL, d="k/2")
    once = sa.loads(json.dumps(account.to_json()))
    assert once["flops"] == account.flops
    assert once["steps"][0]["bytes"] == account.bytes
    assert sa.loads(json.dumps({"a": [account.to_json()["bytes"], 3, None, "text"]})) == {
        "a": [account.bytes, 3, None, "text"]
    }


def test_loads_evaluates_nothing(tmp_path):
    canary = tmp_path / "canary"
    code = f"__import__('pathlib').Path({str(canary)!r}).touch()"
    assert sa.loads({"text": "a", "srepr": code, "symbols": ["a"]}) == sympy.Symbol("a")
    with pytest.raises(ExpressionError):
        sa.loads({"text": code, "srepr": "a", "symbols": ["a"]})
    assert not canary.exists()


@pytest.mark.parametrize(
    "data",
    [
        "",
        "x",
        "{",
        "[" * 100_000,
        '{"text": "a +", "symbols": ["a"]}',
        '{"text": "a", "symbols": ["b"]}',
        '{"text": "a", "symbols": []}',
        '{"text": "a", "symbols": 3}',
        '{"text": "a", "symbols": "a"}',
        '{"text": "a", "symbols": [3]}',
        '{"text": null, "symbols": ["a"]}',
        '{"text": "9**9**9", "symbols": []}',
    ],
    ids=lambda d: d[:30],
)
def test_what_loads_refuses(data):
    with pytest.raises(ExpressionError):
        sa.loads(data)


# mistakes


@pytest.mark.parametrize("verb", [*VERBS, "account", "orders", "lower_bound"])
@pytest.mark.parametrize(
    ("pattern", "options", "kind"),
    [
        ("b d", {}, PatternError),
        ("b d -> b c", {}, UnknownAxisError),
        ("b d -> b b", {}, AxisConflictError),
        (3, {}, PatternError),
        (MATMUL, {"q": 3}, UnknownAxisError),
        (MATMUL, {"b": 0}, SizeError),
        (MATMUL, {"b": True}, SizeError),
        (MATMUL, {"b": "1 +"}, SizeError),
        (MATMUL, {"b": 2, "sizes": {"b": 3}}, AxisConflictError),
        (MATMUL, {"notation": "torch"}, PatternError),
    ],
    ids=lambda v: str(v)[:24],
)
def test_every_verb_refuses_the_same_mistakes(verb, pattern, options, kind):
    with pytest.raises(kind) as error:
        getattr(sa, verb)(pattern, **options)
    assert isinstance(error.value, SymacctError)
    assert str(error.value)


@pytest.mark.parametrize("verb", [*VERBS, "account"])
@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"convention": "exakt"}, ConventionError),
        ({"convention": None}, ConventionError),
        ({"dtype": "bf17"}, DtypeError),
        ({"dtype": ["bf16"]}, DtypeError),
        ({"dtype": None}, DtypeError),
        ({"order": "right"}, ConventionError),
        ({"traffic": "fused"}, ConventionError),
    ],
    ids=str,
)
def test_every_option_is_checked_by_every_verb(verb, options, kind):
    with pytest.raises(kind, match=r"known|unknown|give one"):
        getattr(sa, verb)(MATMUL, **options)


def test_an_option_is_not_taken_for_an_axis():
    """An axis may be called like an option; then it is sized through the mapping."""
    for option in ("convention", "dtype", "order", "traffic", "notation"):
        assert sa.same(sa.flops(f"{option} d -> {option}", sizes={option: 3}), "3*d")
    assert sa.same(sa.flops("sizes d -> sizes", sizes={"sizes": 3}), "3*d")
    assert sa.same(sa.flops("pattern d -> pattern", pattern=3), "3*d")
    assert sa.lower_bound("memory d -> memory", sizes={"memory": 3}).at(d=5) == 3 * 5 + 3


def test_answers_do_not_depend_on_what_was_asked_before():
    asked = list(
        itertools.product((MATMUL, "i j, j k -> i k"), ("2n", "exact", "mac"), ("bf16", "fp32"), ({}, {"d": 3}))
    )
    asked = [(p, c, t, s) for p, c, t, s in asked if "d" in p or not s]
    first = [str(sa.account(p, convention=c, dtype=t, **s)) for p, c, t, s in asked]
    again = [str(sa.account(p, convention=c, dtype=t, **s)) for p, c, t, s in reversed(asked)]
    assert first == again[::-1]
    assert len(set(first)) == len(first)


def test_lists_and_mappings_of_the_user_are_not_changed_nor_kept():
    sizes, dtypes = {"b": 4}, ["bf16", "bf16", "fp32"]
    account = sa.account(MATMUL, sizes=sizes, dtype=dtypes)
    before = account.bytes
    sizes["b"], dtypes[0] = 5, "fp32"
    assert account.bytes == before
    assert sa.bytes(MATMUL, sizes={"b": 4}, dtype=["bf16", "bf16", "fp32"]) == before
    assert sa.bytes(MATMUL, sizes=sizes, dtype=dtypes) != before


@pytest.mark.parametrize("verb", [*VERBS, "account", "orders", "lower_bound", "same", "dims", "loads", "compare"])
def test_every_verb_says_what_it_is(verb):
    doc = inspect.getdoc(getattr(sa, verb))
    assert doc is not None
    assert "Examples" in doc


def test_the_title_says_that_sizes_are_put_in_at_once() -> None:
    assert "k inside a size is still a name" in sa.account("b d, d k -> b k", d="4*k", k=64).title
    assert "still a name" not in sa.account("b d, d k -> b k", d="4*h", k=64).title


def test_a_bound_of_numbers_is_never_negative() -> None:
    """A memory that holds everything forces nothing: 2*1000/1000 - 2*10**6 is below 0."""
    assert sa.lower_bound("i k, k j -> i j", memory=10**6, i=10, j=10, k=10).expr == 0
    assert float(sa.lower_bound("i k, k j -> i j", memory=9, i=10, j=10, k=10).expr) == pytest.approx(2 * 1000 / 3 - 18)
