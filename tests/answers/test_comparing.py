"""Answers against truths: in each mode, with units, under other conventions, and what is told apart."""

from __future__ import annotations

import json
import math

import pytest

import symacct as sa
from verify.answers.formulas import parsed, value

BDK = {"B": "rows", "D": "contracted width", "K": "outputs"}
PT = {"P": "parameters", "T": "tokens"}
MATMUL = "2*B*D*K"


@pytest.mark.parametrize(
    "answer", ["2BDK", "BDK + BDK", "2(BD)K", "D·2K·B", "4BDK/2", "2*B*D*K*(D+1)/(D+1)", "BDK(1+1)"]
)
def test_equal_formulas_are_right_by_algebra(answer):
    verdict = sa.check(answer, MATMUL, BDK)
    assert verdict.correct
    assert verdict.proof == "algebra"
    assert verdict.mistakes == ()


@pytest.mark.parametrize(
    "answer", ["BDK", "2BD", "2BDDK", "2BDK + 1", "2BDK - BK", "2*B*D*K**2", "2BDK/2", "max(BDK, 2BD)"]
)
def test_a_wrong_formula_is_rejected_with_a_counterexample_that_is_one(answer):
    verdict = sa.check(answer, MATMUL, BDK)
    assert not verdict.correct
    assert verdict.mistakes
    shown = verdict.counterexample
    sizes = list(shown.sizes.values())
    assert len(set(sizes)) == len(sizes)
    assert all(2 <= s < 60 for s in sizes)
    plain = {"BDK": "B*D*K", "2BD": "2*B*D", "2BDDK": "2*B*D*D*K", "2BDK + 1": "2*B*D*K+1", "2BDK - BK": "2*B*D*K-B*K"}
    form = plain.get(answer, answer.replace("2BDK/2", "B*D*K").replace("max(BDK, 2BD)", "Max(B*D*K, 2*B*D)"))
    assert shown.answer == value(parsed(form), shown.sizes)
    assert shown.truth == value(parsed(MATMUL), shown.sizes)
    assert shown.answer != shown.truth


def test_the_smallest_distinct_sizes_are_shown():
    assert str(sa.check("BDK", MATMUL, BDK).counterexample) == "at B=2, D=3, K=5: 30, not 60"


@pytest.mark.parametrize(
    ("answer", "truth"),
    [
        ("min(a, h)/h", "min(1, a/h)"),
        ("1/max(1, h/a)", "min(1, a/h)"),
        ("ceil(a/h)*h", "h*ceil(a/h)"),
        ("max(h, a)", "max(a, h)"),
        ("(a + h + abs(a - h))/2", "max(a, h)"),
        ("sqrt(a^2 + 2ah + h^2)", "a + h"),
    ],
)
def test_what_algebra_cannot_decide_is_sampled_or_proved(answer, truth):
    verdict = sa.check(answer, truth, "a h")
    assert verdict.correct
    assert verdict.proof == "algebra" or verdict.proof.startswith("sampled(")


@pytest.mark.parametrize("answer", ["a/h", "max(1, a/h)", "min(1, h/a)", "1", "ceil(a/h)"])
def test_a_branch_is_not_the_minimum(answer):
    assert not sa.check(answer, "min(1, a/h)", "a h").correct


@pytest.mark.parametrize(
    ("answer", "correct"),
    [
        ("143.9 days", True),
        ("144 d", True),
        ("143", True),
        ("3454 h", True),
        ("4.73 months", True),
        ("150", False),
        ("12.4e6", False),
    ],
)
def test_numbers_are_compared_relatively_and_in_the_unit_asked_for(answer, correct):
    truth = "6*70e9*15e12/(1024*989.5e12*0.5)/86400"
    exact = 6 * 70e9 * 15e12 / (1024 * 989.5e12 * 0.5) / 86400
    verdict = sa.check(answer, truth, mode="numeric", unit="days")
    assert verdict.correct is correct
    if not correct:
        assert math.isclose(float(verdict.counterexample.truth), exact, rel_tol=1e-12)


def test_the_tolerance_is_the_questions():
    assert sa.check("1010", "1000", mode="numeric", rtol=0.02).correct
    assert not sa.check("1010", "1000", mode="numeric", rtol=0.001).correct
    assert sa.check("887", "887", mode="numeric", rtol=0).correct


@pytest.mark.parametrize(
    ("answer", "unit", "correct", "code"),
    [
        ("16 GB", "bytes", True, ""),
        ("14.9 GiB", "bytes", True, ""),
        ("16e9", "bytes", True, ""),
        ("16 GiB", "bytes", False, "gb_gib"),
        ("128 Gbit", "bytes", True, ""),
        ("16 TFLOP", "bytes", False, "wrong_unit"),
        ("16 GB/s", "bytes", False, "wrong_unit"),
        ("16e9 FLOPs", "bytes", False, "wrong_unit"),
        ("128e9", "bytes", False, "bits_bytes"),
    ],
)
def test_units(answer, unit, correct, code):
    verdict = sa.check(answer, "16e9", mode="numeric", unit=unit)
    assert verdict.correct is correct
    assert (verdict.mistakes[0] if code else "") == code


def test_a_share_is_not_an_intensity():
    assert sa.check("25%", "1/4", unit="").correct
    assert sa.check("25%", "1/4", unit="FLOPs/byte").mistakes == ("wrong_unit",)


def test_an_amount_per_parameter_is_taken_times_the_parameters():
    assert sa.check("~14 FLOPs/param", "14*P", PT, unit="FLOPs").correct
    assert not sa.check("~13 FLOPs/param", "14*P", PT, unit="FLOPs").correct
    assert sa.check("12P", "12", unit="bytes/param").correct
    assert not sa.check("16P", "12", unit="bytes/param").correct


def test_per_token_may_repeat_what_the_question_asks():
    symbols = {"L": "layers", "K": "kv heads", "T": "tokens"}
    assert sa.check("2LK bytes per token", "2*L*K", symbols, unit="bytes").correct
    assert sa.check("2LK bytes per token", "2*L*K*T", symbols, unit="bytes").correct
    assert not sa.check("4LK bytes per token", "2*L*K*T", symbols, unit="bytes").correct


def test_a_number_under_another_convention_is_told_within_the_tolerance():
    verdict = sa.check("5115 days", "6583.6", mode="numeric", unit="days", conventions={"two matrices": "5115.2"})
    assert (verdict.correct, verdict.other_convention) == (False, "two matrices")


def test_macs_are_another_convention():
    verdict = sa.check("BDK", MATMUL, BDK, unit="FLOPs")
    assert (verdict.correct, verdict.other_convention) == (False, "mac")
    assert verdict.mistakes[0] == "macs_for_flops"
    said = sa.check("BDK MACs", MATMUL, BDK, unit="FLOPs")
    assert (said.correct, said.other_convention, said.mistakes[0]) == (False, "mac", "macs_for_flops")


def test_the_exact_count_is_another_convention():
    assert sa.check("BK(2D-1)", MATMUL, BDK, unit="FLOPs").other_convention == "exact"
    assert sa.check("2BDK", "B*K*(2*D-1)", BDK, unit="FLOPs").other_convention == "2n"
    assert sa.check("7BDK", MATMUL, BDK, conventions={"seven": "7*B*D*K"}).other_convention == "seven"


def test_a_number_for_a_formula_is_right_only_at_sizes_that_are_given():
    assert sa.check("60", MATMUL, BDK).mistakes[0] == "number_for_formula"
    at = {"B": 2, "D": 3, "K": 5}
    verdict = sa.check("60", MATMUL, BDK, at=at)
    assert verdict.correct
    assert [w.code for w in verdict.warnings] == ["number_for_formula"]
    assert not sa.check("30", MATMUL, BDK, at=at).correct


def test_an_order_for_an_exact_form_is_told_apart():
    assert sa.check("O(BDK)", MATMUL, BDK).mistakes == ("order_for_exact",)
    assert sa.check("Θ(2BDK)", MATMUL, BDK).mistakes == ("order_for_exact",)


def test_a_symbol_that_the_question_lacks_is_named():
    verdict = sa.check("2BDKX", MATMUL, BDK)
    assert verdict.findings[0] == ("unknown_symbol", "X")


@pytest.mark.claim("D11")
@pytest.mark.parametrize("answer", ["n_h*D", "2*N_DP*N_TP"])
def test_a_symbol_with_two_meanings_is_told_apart(answer):
    symbols = {"A": "num_heads", "C": "query heads", "D": "d_model", "N": "devices"}
    assert sa.check(answer, "A*C*D*N", symbols).mistakes == ("symbol_with_two_meanings",)


def test_an_ambiguous_division_is_right_either_way_and_told():
    for truth in ("T/(8*D)", "T*D/8"):
        verdict = sa.check("T/8D", truth, "T D")
        assert verdict.correct
        assert any(w.code == "ambiguous_division" for w in verdict.warnings)
    assert not sa.check("T/8D", "8*D/T", "T D").correct


def test_the_direction_of_a_threshold_counts_where_the_truth_has_one():
    symbols = {"B": "batch", "W": "bytes/s", "C": "FLOP/s"}
    assert sa.check("N <= 1 + BW/C", "N < 1 + B*W/C", symbols).correct
    assert sa.check("communication bound when N > 1 + BW/C", "N < 1 + B*W/C", symbols).correct
    assert sa.check("N > 1 + BW/C", "N < 1 + B*W/C", symbols).mistakes == ("wrong_direction",)


def test_a_limit_behind_the_exact_form_is_checked_too():
    assert sa.check(r"\frac{2n-1}{4n+2} \to \frac12", "(2*n-1)/(4*n+2)", "n").correct
    assert sa.check(r"\frac{2n-1}{4n+2} \to \frac13", "(2*n-1)/(4*n+2)", "n").mistakes == ("wrong_limit",)


def test_rounded_decimals_are_right_up_to_their_last_digit():
    assert sa.check("0.083", "1/12", "n").correct
    assert not sa.check("0.08", "1/12", "n").correct
    assert sa.check("0.33n", "n/3", "n").correct
    assert not sa.check("0.35n", "n/3", "n").correct


def test_a_right_number_from_a_wrong_formula_is_a_coincidence():
    assert "coincidence" in sa.check("L/2", "2*sqrt(L)", "L", at={"L": 16}).mistakes


def test_a_verdict_is_json():
    for answer in ("2BDK", "BDK", "2BDK/0", "sqrt(B)", "O(B)", "2BX"):
        assert json.loads(json.dumps(sa.check(answer, MATMUL, BDK).to_json()))["truth"] == MATMUL


@pytest.mark.parametrize(
    ("answer", "truth", "correct"),
    [
        ("144 days", "143.93 days", True),
        ("3456 h", "144 days", True),
        ("12.4e6 s", "143.93 days", True),
        ("144 h", "144 days", False),
        ("80 GB", "80 GB", True),
        ("80 GiB", "80 GB", False),
        ("0.5", "50%", True),
        ("50%", "0.5", True),
        ("70B * 2 bytes", "140 GB", True),
        ("140GB/70B", "2 bytes", True),
        ("70B * 2 bytes", "140 bytes", False),
    ],
)
def test_a_truth_with_a_unit(answer: str, truth: str, correct: bool) -> None:  # noqa: FBT001
    assert sa.check(answer, truth, mode="numeric", rtol=0.01).correct == correct


@pytest.mark.parametrize(
    ("answer", "truth", "correct"),
    [
        ("n > 886", "n >= 887", True),
        ("886 < n", "n >= 887", True),
        ("n at least 887", "n >= 887", True),
        ("n >= 886", "n >= 887", False),
        ("n > 885", "n >= 887", False),
        ("n > 887", "n >= 887", False),
        ("n ≥ 886", "n > 886", True),
        ("n at least 887", "n > 886", True),
        (r"n \ge 887", "n > 886", True),
        ("n < 887", "n <= 887", False),
        ("n < 888", "n <= 887", True),
        ("n ≤ 1 + B*W/C", "n < 1 + B*W/C", True),
        ("n <= B*W/C", "n < 1 + B*W/C", True),
        ("n <= 2 + B*W/C", "n < 1 + B*W/C", False),
    ],
)
def test_a_threshold_of_whole_sizes(answer: str, truth: str, correct: bool) -> None:  # noqa: FBT001
    verdict = sa.check(answer, truth, symbols="n B W C")
    assert verdict.correct == correct
    assert correct or verdict.counterexample
    assert "coincidence" not in verdict.mistakes


@pytest.mark.parametrize(
    ("answer", "convention", "mistake"),
    [("B*D*K", "mac", "macs_for_flops"), ("B*K*(2*D - 1)", "exact", "extra_term"), ("4*B*D*K", "", "factor")],
)
def test_another_convention_of_a_formula_without_a_unit(answer: str, convention: str, mistake: str) -> None:
    verdict = sa.check(answer, "2*B*D*K", symbols={"B": "rows", "D": "width", "K": "outputs"})
    assert not verdict.correct
    assert (verdict.other_convention, verdict.mistakes[0]) == (convention, mistake)


def test_macs_that_are_said_are_no_flops() -> None:
    symbols = {"B": "rows", "D": "width", "K": "outputs"}
    assert sa.check("BDK MACs", "2*B*D*K", symbols).other_convention == "mac"
    said = sa.check("2BDK MACs", "2*B*D*K", symbols)
    assert (said.correct, said.mistakes[0], said.other_convention) == (False, "macs_for_flops", "")


def test_half_of_a_cache_is_no_count_of_macs() -> None:
    symbols = {"L": "layers", "S": "cached tokens", "K": "kv heads", "H": "head dim"}
    verdict = sa.check("LSKH", "2*L*S*K*H", symbols)
    assert (verdict.other_convention, verdict.mistakes[0]) == ("", "factor")
