"""Wrong answers that are right at the sizes one tries first, or say the right thing beside the point."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import ConventionError

FORMULAS = [  # (answer, truth)
    ("min(n, 10**9)", "n"),
    ("max(s/w, 1e-6)", "s/w"),
    ("n", "max(n, 2)"),
    ("8*t*d", "min(b, 8)*t*d"),
    ("floor(n/2) + 1", "ceil(n/2)"),
    ("floor(n/295) + 1", "ceil(n/295)"),
    ("floor(a/b) + 1", "ceil(a/b)"),
    ("ceil(a/b) - 1", "floor(a/b)"),
    ("n - 2*floor(n/2)", "1"),
    ("ceil(sqrt(n))", "floor(sqrt(n)) + 1"),
    ("ceil(log2(n))", "floor(log2(n)) + 1"),
    ("abs(n - 3)", "n - 3"),
    ("n**(1 + 1e-15)", "n"),
    ("n + 1e-15", "n"),
    ("sqrt(n**2 + 1e-20)", "n"),
    ("0.33333n + 0.001", "n/3"),
    ("2n + O(1)", "2*n"),
    ("6ND ≈ 2ND", "6*N*D"),
    ("2ND ≈ 6ND", "6*N*D"),
    ("6ND (= 2ND)", "6*N*D"),
    ("6ND for training and 2ND for inference", "6*N*D"),
    ("6ND if causal else 2ND", "6*N*D"),
    ("not 6ND", "6*N*D"),
    ("the answer is not 6ND", "6*N*D"),
    ("6ND, so 2ND", "6*N*D"),
    ("6ND (wrong: 3ND)", "6*N*D"),
    ("n!", "n"),
    ("Inference takes 2ND FLOPs. Training takes 6ND FLOPs.", "6*N*D"),
    ("Training takes 6ND FLOPs. Inference takes 2ND FLOPs.", "6*N*D"),
    ("6ND, or 8ND with recomputation", "6*N*D"),
    ("unlike 2ND, 6ND", "6*N*D"),
    ("2ND rather than 6ND", "6*N*D"),
    ("6ND ~ 2ND", "6*N*D"),
    ("n, or d", "n"),
    ("n, otherwise d", "n"),
    ("n but d", "n"),
    ("n is not greater than 885", "n > 885"),
    ("n > 884", "n > 885"),
    ("2n = 4n", "2*n"),
    ("4n = 2n", "2*n"),
    ("~~2n~~ 4n", "2*n"),
]
BOUNDS = ("<144", ">144", "≤144", "> 144 days", "at most 144", "more than 144", "up to 144 days", "T < 144 days")
ORDERS = ("o(√L)", "Ω(√L)", r"\Omega(\sqrt L)", "L^0.49999", "L^0.501")
NUMBERS = [  # (answer, truth, unit)
    ("16 TFLOP/s", "16e12", "FLOPs"),
    ("16 TFLOPs per second", "16e12", "FLOPs"),
    ("16 TFLOP", "16e12", "FLOP/s"),
    ("16 Gib", "16*2**30", "bytes"),
    ("16 tokens", "16", "GB"),
    ("16 layers", "16", "tokens"),
    ("16 J", "16", "FLOPs"),
    ("50%", "50", ""),
    ("0.5%", "0.5", ""),
    ("50", "50%", ""),
    ("140B", "140e9", "bytes"),
    ("70B * 2 bytes", "140", "bytes"),
    ("144i", "144", ""),
    ("100 ≈ 144", "144", ""),
]
GROWTH = [  # (answer, truth, mode)
    ("O(n)", "1", "order"),
    ("O(log n)", "1", "order"),
    ("O(L*N)", "L", "order"),
    ("O(sqrt(L) log N)", "sqrt(L)", "order"),
    ("0", "floor(M/(2*L*D))", "asymptotic"),
    ("n/3*(1 + 1e-7)", "n/3", "asymptotic"),
    ("n/3 + O(n)", "n/3", "asymptotic"),
]


@pytest.mark.parametrize(("answer", "truth"), FORMULAS)
def test_a_formula_that_is_nearly_right(answer, truth):
    verdict = sa.check(answer, truth, "a b d n s t w N D")
    assert not verdict.correct
    assert verdict.mistakes


@pytest.mark.parametrize(("answer", "truth", "unit"), NUMBERS)
def test_a_number_of_another_unit(answer, truth, unit):
    assert not sa.check(answer, truth, mode="numeric", unit=unit).correct


@pytest.mark.parametrize(("answer", "truth", "mode"), GROWTH)
def test_a_growth_that_is_another(answer, truth, mode):
    assert not sa.check(answer, truth, "n L N M D", mode).correct


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("floor((a - 1)/b) + 1", "ceil(a/b)"),
        ("-(-a//b)", "ceil(a/b)"),
        ("(a + b - 1)//b", "ceil(a/b)"),
        ("ceil(log2(2n)) - 1", "ceil(log2(n))"),
        ("2^b*2^(n+5)", "32*2**(b + n)"),
        ("|a - b|", "max(a, b) - min(a, b)"),
        ("2|a-b|", "2*abs(a - b)"),
        ("n >= 886", "n > 885"),
    ],
)
def test_what_is_right_everywhere_stays_right(answer, truth):
    assert sa.check(answer, truth, "a b n").correct


@pytest.mark.parametrize("text", BOUNDS)
def test_a_bound_is_not_the_value(text):
    assert sa.check(text, "144", unit="days", mode="numeric").mistakes == ("bound_for_value",)


def test_a_least_count_is_rounded_up_and_a_largest_down():
    options = {"at": {"n": 5}, "mode": "numeric"}
    assert sa.check("at least 3", "ceil(n/2)", **options).correct
    assert sa.check("at most 2", "floor(n/2)", **options).correct
    assert sa.check("at most 3", "ceil(n/2)", **options).mistakes == ("bound_for_value",)


@pytest.mark.parametrize("text", ORDERS)
def test_another_claim_is_not_the_order(text):
    assert not sa.check(text, "sqrt(L)", mode="order").correct


@pytest.mark.parametrize("text", ["O(√L)", "Θ(L^{1/2})", "3√L + 7", "L^0.5", "sqrt(L) + log(L)"])
def test_the_order_is_right_in_other_words(text):
    assert sa.check(text, "sqrt(L)", mode="order").correct


@pytest.mark.parametrize("text", ["2.68 GB → 1.34 GB", "1.34 -> 2.68 GB", "1.34 GB ≈ 2.68 GB", "1.34 GB = 2.68 GB"])
def test_two_numbers_are_two_answers(text):
    for truth in ("1.34", "2.68"):
        verdict = sa.check(text, truth, mode="numeric", unit="GB")
        assert not verdict.correct


def test_what_is_struck_through_is_no_answer():
    assert sa.check("~~10.28~~ 3.43", "3.43", mode="numeric").correct
    assert not sa.check("~~3.43~~ 10.28", "3.43", mode="numeric").correct


PER_OTHER = ("2BTD FLOP/s", "2BTD FLOPs per token", "2BTD per GPU", "2BTD per head", "2BTD * layers", "2BTD*experts")


@pytest.mark.parametrize("text", PER_OTHER)
def test_a_formula_in_another_unit_is_not_the_total(text):
    assert not sa.check(text, "2*B*T*D", {"B": "batch", "T": "tokens", "D": "width"}, unit="FLOPs").correct


@pytest.mark.parametrize("text", ["144 GPU-days", "144 GPU days", "144 H100-days"])
def test_days_of_devices_are_no_days(text):
    assert sa.check(text, "144", unit="days", mode="numeric").mistakes[0] == "wrong_unit"
    assert sa.check(text, "144", unit="GPU-days", mode="numeric").correct
    assert sa.check("3456 GPU hours", "144", unit="GPU-days", mode="numeric").correct


def test_what_is_counted_per_piece_is_taken_times_their_number():
    for text in ("16 bytes/param * P", "16 bytes per parameter"):
        assert sa.check(text, "16*P", {"P": "parameters"}, unit="bytes").correct


@pytest.mark.parametrize("text", ["每个参数16字节", "每参数 16 字节", "per parameter 16 bytes", "per parameter 16"])
def test_what_is_counted_per_piece_may_say_so_first(text):
    symbols = {"P": "parameters", "L": "layers"}
    assert sa.read_answer(text, symbols).per == "param"
    assert sa.check(text, "16*P", symbols, unit="bytes").correct
    assert not sa.check(text, "16*L", symbols, unit="bytes").correct
    assert not sa.check(text, "16", symbols, unit="bytes/layer").correct


@pytest.mark.parametrize("text", ["per step 6P", "每步 6P", "per walrus 6P", "per layer"])
def test_an_amount_per_something_else_is_not_the_total(text):
    assert not sa.check(text, "6*P", {"P": "parameters"}, unit="FLOPs").correct


@pytest.mark.parametrize("text", ["989.5 TFLOPS / 3.35 TB/s", "295 FLOP/s per B/s", "295 FLOP/B"])
def test_an_intensity_may_be_a_ratio_of_rates(text):
    assert sa.check(text, "295.4", unit="FLOPs/byte", mode="numeric").correct
    assert not sa.check(text, "300", unit="FLOPs/byte", mode="numeric").correct


CACHE = {"B": "batch", "T": "tokens", "L": "layers", "G": "kv heads", "K": "head width"}


@pytest.mark.parametrize("text", ["4BTLGK B", "2·BTLGK·2B", "4BTLGK/1e9 GB", "4BTLGK bytes"])
def test_a_unit_at_the_end_may_look_like_a_symbol(text):
    assert sa.check(text, "4*B*T*L*G*K", CACHE, unit="bytes").correct
    assert not sa.check(text, "2*B*T*L*G*K", CACHE, unit="bytes").correct


def test_the_symbol_comes_before_the_unit():
    assert sa.check("4TLGK B", "4*B*T*L*G*K", CACHE, unit="bytes").correct
    for answer, truth in (("4BTLGKB", "4*B*T*L*G*K"), ("4BT^2B", "4*B*T**2"), ("TLK/2B", "T*L*K/2")):
        assert not sa.check(answer, truth, CACHE, unit="bytes").correct


def test_quantities_in_falling_units_are_added():
    assert sa.check("2 h 30 min", "2.5", unit="hours", mode="numeric", rtol=1e-9).correct
    assert sa.check("143 days 22 hours", "143 + 22/24", unit="days", mode="numeric", rtol=1e-9).correct
    assert not sa.check("30 min 2 h", "2.5", unit="hours", mode="numeric").correct
    assert not sa.check("2 h 3 GB", "2", unit="hours", mode="numeric").correct


def test_what_decides_nothing_is_refused():
    var = {"var": "n"}
    for options in ({"quantity": "bytes"}, {"unit": "furlong"}, {**var, "mode": "numeric", "at": {"n": 2}}, var):
        with pytest.raises(ConventionError):
            sa.check("2n", "2*n", **options)


def test_the_limit_behind_a_formula_may_be_that_of_one_size():
    assert sa.check("nd/(n+d) → d", "n*d/(n + d)", "n d").correct
    assert sa.check("nd/(n+d) → d/2", "n*d/(n + d)", "n d").mistakes == ("wrong_limit",)


def test_a_counterexample_has_the_sizes_that_matter():
    assert sa.check("3a", "2*a", "a b c").counterexample.sizes == {"a": 2}
    assert sa.check("12 GB", "2*a", "a b", at={"a": 7}, unit="FLOPs").counterexample.sizes == {"a": 7}
