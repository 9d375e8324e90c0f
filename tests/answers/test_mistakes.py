"""Likely mistakes: a wrong form of each kind gets its code first, and each code has its sentences."""

from __future__ import annotations

import re

import pytest

import symacct as sa
from symacct.answers import MISTAKES, Finding
from symacct.answers.mistakes import sentence, told
from symacct.errors import ConventionError

NET = {"B": "batch_size", "T": "context_length", "L": "layers", "D": "d_model", "F": "d_ff", "V": "vocab_size"}
LAYER = "8*B*T*D**2 + 4*B*T**2*D + 6*B*T*D*F"
RING = {"N": "devices", "S": "bytes", "W": "bytes/s"}

WRONG = [
    # answer, truth, symbols, unit, the code that comes first, and what it is about
    ("B*D*K", "2*B*D*K", "B D K", "FLOPs", "macs_for_flops", ""),
    ("2*B*D**2", "4*B*D**2", {"B": "batch", "D": "width"}, "FLOPs", "input_gradient", ""),
    ("6*B*T*D*V", "2*B*T*D*V", {**NET, "V": "outputs"}, "FLOPs", "training_for_forward", ""),
    ("2*B*T*D", "6*B*T*D", NET, "FLOPs", "forward_for_training", ""),
    (
        "2*B*H*T**2*d",
        "4*B*H*T**2*d",
        {"B": "", "H": "heads", "T": "length", "d": "head size"},
        "FLOPs",
        "causal_half",
        "",
    ),
    ("12*B*T*D*V", "6*B*T*D*V", NET, "FLOPs", "embedding_as_matmul", "twice the head"),
    ("8*B*D*F", "12*B*D*F", NET, "FLOPs", "gated_ffn", "2/3"),
    ("B*T*D", "2*B*T*D", NET, "bytes", "elements_for_bytes", ""),
    ("2*B*T*D", "4*B*T*D", NET, "bytes", "dtype_bytes", "1/2"),
    ("5*B*T*D", "B*T*D", NET, "", "factor", "5"),
    ("2*B*D", "2*B*D*K", "B D K", "", "axis_forgotten", "K"),
    ("2*B*D*D*K", "2*B*D*K", "B D K", "", "axis_twice", "D"),
    ("2*B*D*K*M", "2*B*D*K", "B D K M", "", "axis_extra", "M"),
    ("2*B*D*M", "2*B*D*K", "B D K M", "", "axis_swapped", "M for K"),
    ("12*B*D", "12*B*D/N", "B D N", "", "division_forgotten", "N"),
    ("12*B*D/N**2", "12*B*D/N", "B D N", "", "divided_twice", "N"),
    ("2*B*D**4", "2*B*D", "B D", "", "wrong_exponent", "D**3 too much"),
    ("D/(4*B)", "4*B/D", "B D", "", "inverted", ""),
    ("C/120", "sqrt(C/120)", "C", "", "root_forgotten", ""),
    ("sqrt(C)", "C", "C", "", "root_extra", ""),
    ("2*B*D + 2*D*K", "2*B*D*K", "B D K", "", "sum_for_product", ""),
    ("2*B*D*D*K", "2*B*D**2 + 2*B*D*K", "B D K", "", "product_for_sum", ""),
    ("8*B*T*D**2 + 6*B*T*D*F", LAYER, NET, "FLOPs", "missing_term", "4*B*D*T**2"),
    (f"{LAYER} + B*T", LAYER, NET, "FLOPs", "extra_term", "B*T"),
    ("8*B*T*D**2 + 4*B*T**2*D + 4*B*T*D*F", LAYER, NET, "FLOPs", "gated_ffn", "4*B*D*F*T for 6*B*D*F*T"),
    ("8*B*T*D**2 + 2*B*T**2*D + 6*B*T*D*F", LAYER, NET, "FLOPs", "causal_half", ""),
    ("9*B*T*D**2 + 4*B*T**2*D + 6*B*T*D*F", LAYER, NET, "FLOPs", "term_coefficient", "9*B*D**2*T for 8*B*D**2*T"),
    ("2*B*T*D*V + 8*B*D**2", "8*B*D**2", NET, "FLOPs", "embedding_as_matmul", "2*B*D*T*V"),
    ("max(a, b)", "a + b", "a b", "s", "max_for_sum", ""),
    ("a + b", "max(a, b)", "a b", "s", "sum_for_max", ""),
    ("min(a, b)", "max(a, b)", "a b", "s", "max_for_min", ""),
    ("a/h", "min(1, a/h)", "a h", "", "branch_only", "a/h"),
    ("2*S/W", "2*(N-1)/N*S/W", RING, "s", "leading_term_only", ""),
    ("N*S/W", "(N-1)*S/W", RING, "s", "off_by_one", "N for N - 1"),
    ("floor(a/b)", "ceil(a/b)", "a b", "", "rounding", ""),
    ("B*D", "0*B*D", "B D", "FLOPs", "not_zero", ""),
    ("B*X", "2*B", "B", "", "unknown_symbol", "X"),
    ("12", "2*B", "B", "", "number_for_formula", ""),
    ("O(B)", "2*B", "B", "", "order_for_exact", ""),
    ("2*B + O(1)", "2*B + 3", "B", "", "remainder_left_open", "O(1)"),
    ("< 2*B", "2*B", "B", "", "bound_for_value", "< 2*B"),
    ("2*B GB", "2*B", "B", "FLOPs", "wrong_unit", "GB, not FLOPs"),
    ("2*(B", "2*B", "B", "", "unreadable", ""),
    ("exp(B)*D", "2*B", "B", "", "unknown_symbol", "exp"),
    ("2*B*hidden", "2*B*D", "B D", "", "unknown_symbol", "hidden"),
]

NUMBERS = [
    # answer, truth, unit, the code that comes first
    ("590.7", "1979e12/2/3.35e12", "FLOPs/byte", "sparsity"),
    ("20.1", "1979e12/2/3.35e12", "FLOPs/byte", "other_peak"),
    ("0.00339", "1979e12/2/3.35e12", "FLOPs/byte", "inverted"),
    ("31.7e9", "16*2127057600", "bytes", "gb_gib"),
    ("1024", "4*8*4", "bytes", "bits_bytes"),
    ("64", "4*8*4", "bytes", "dtype_bytes"),
    ("17.7", "6.3e24/(8960*4.59e14*0.4)/86400", "days", "constant_dropped"),
    ("3.83e6", "6.3e24/(8960*4.59e14*0.4)/86400", "days", "time_unit"),
    ("14.8", "6.3e24/(8960*4.59e14*0.4)/86400", "days", "forward_for_training"),
    ("66.9", "0.669", "", "percent"),
    ("3.15e20", "6*175e9*300e9", "FLOPs", "prefix"),
    ("1.58e23", "6*175e9*300e9", "FLOPs", "macs_for_flops"),
    ("43", "ceil(3517578215424/80e9)", "devices", "rounding"),
    ("271", "262.7", "tokens", "rounded_inputs"),
    ("2.6e6", "sqrt(2*4.19e6*8960/28672)", "devices", "root_forgotten"),
    ("512", "2**24", "", "wrong_exponent"),
    ("7", "1234567", "", "different"),
]


@pytest.mark.parametrize("case", WRONG, ids=[f"{w[4]} {w[0]}" for w in WRONG])
def test_a_wrong_formula_gets_its_code_first(case):
    answer, truth, symbols, unit, code, about = case
    verdict = sa.check(answer, truth, symbols, unit=unit)
    assert not verdict.correct
    assert verdict.findings[0] == Finding(code, about)


@pytest.mark.parametrize(("answer", "truth", "unit", "code"), NUMBERS)
def test_a_wrong_number_gets_its_code_first(answer, truth, unit, code):
    rtol = 1e-9 if truth.startswith("ceil") else 0.01
    verdict = sa.check(answer, truth, mode="numeric", rtol=rtol, unit=unit)
    assert not verdict.correct
    assert verdict.mistakes[0] == code


def test_every_code_has_a_sentence_in_both_languages():
    for code, text in MISTAKES.items():
        for lang in ("en", "zh"):
            said = sentence(Finding(code, "THIS"), lang)
            assert "{" not in said
            assert ("THIS" in said) == ("{about}" in text.en)
        assert ("{about}" in text.en) == ("{about}" in text.zh)
        assert re.search(r"[\u4e00-\u9fff]", text.zh)
        assert not re.search(r"[\u4e00-\u9fff]", text.en)


OTHERS = [
    # answer, truth, options, a mistake that is found
    ("O(L)", "sqrt(L)", {"mode": "order"}, ("wrong_growth", "L, not sqrt(L)")),
    ("L < 887", "L > 887", {}, ("wrong_direction", "")),
    ("V", "4*D", {"mode": "numeric", "at": {"D": 2}, "symbols": "D L V"}, ("formula_for_number", "V")),
    ("L/2", "2*sqrt(L)", {"at": {"L": 16}}, ("coincidence", "")),
    (
        "N_TP*N_DP",
        "N",
        {"symbols": {"N": "devices"}},
        ("symbol_with_two_meanings", "N_TP and N_DP would both be N (devices)"),
    ),
    (r"\frac{2n-1}{4n+2} \to \frac13", "(2*n-1)/(4*n+2)", {}, ("wrong_limit", "")),
    ("3*D*V + L", "2*D + L", {"symbols": "D L V"}, ("wrong_term", "3*D*V for 2*D")),
]


@pytest.mark.parametrize(("answer", "truth", "options", "found"), OTHERS)
def test_a_mistake_in_another_mode(answer, truth, options, found):
    verdict = sa.check(answer, truth, **options)
    assert not verdict.correct
    assert Finding(*found) in verdict.findings


def test_every_published_code_is_that_of_a_case():
    assert {w[4] for w in WRONG} | {n[3] for n in NUMBERS} | {o[3][0] for o in OTHERS} == set(MISTAKES)


def test_a_verdict_in_sentences():
    verdict = sa.check("8*B*T*D**2 + 6*B*T*D*F", LAYER, NET, unit="FLOPs")
    english, chinese = told(verdict), told(verdict, "zh")
    assert english[0].startswith("wrong: at B=2, T=3, ")
    assert english[1] == "A term is missing: 4*B*D*T**2."
    assert chinese[1] == "漏了一项：4*B*D*T**2。"
    with pytest.raises(ConventionError, match="no language 'fr'"):
        told(verdict, "fr")


@pytest.mark.parametrize(
    ("answer", "truth", "mode", "codes"),
    [
        ("(B + D)/(B*D)", "B*D/(B + D)", "exact", ["inverted"]),
        ("2/7", "(7*n + 3)/(2*n)", "asymptotic", ["inverted"]),
        ("k/L + k", "L/k + k", "exact", ["inverted"]),
        ("floor(B/D)", "ceil(B/D)", "exact", ["rounding"]),
        ("ceil(B/D)", "ceil(B/(8*D))", "exact", ["factor"]),
        ("floor((n + p)/s) + 1", "floor((n + 2*p)/s) + 1", "exact", ["term_coefficient"]),
        ("P", "P*(1 + 1/k)", "exact", ["missing_term"]),
        ("1/2", "(2*n - 1)/(4*n + 2)", "exact", ["leading_term_only", "number_for_formula"]),
        ("1", "min(1, n/k)", "exact", ["branch_only", "number_for_formula"]),
        ("8*k*n", "min(B, 8)*k*n", "exact", ["branch_only"]),
        ("ln(n)*k", "log2(n)*k", "exact", ["factor"]),
        ("1 + B*D", "1 + B*D/k", "exact", ["division_forgotten"]),
        ("2*P*B/k", "(2*P + B)/k", "exact", ["product_for_sum"]),
        ("O(2^n)", "n**2", "order", ["wrong_growth"]),
    ],
)
def test_causes_of_every_shape(answer, truth, mode, codes):
    verdict = sa.check(answer, truth, "B D L P k n p s", mode)
    assert not verdict.correct
    assert verdict.counterexample is not None
    assert list(verdict.mistakes[: len(codes)]) == codes


def test_a_wrong_direction_is_shown_beyond_the_threshold():
    assert str(sa.check("n < 885", "n > 885", "n").counterexample) == "at n=886: False, not True"
