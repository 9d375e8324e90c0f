"""Texts as people write them, each with the formula it must be read as, worked out by Python's own parser."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import symacct as sa
from symacct.answers.evaluate import evaluate
from symacct.errors import AnswerError
from verify.answers import formulas
from verify.answers.formulas import parsed, value

TEXTS = json.loads((Path(formulas.__file__).parent / "texts.json").read_text(encoding="utf-8"))["texts"]
PRIMES = (3, 5, 7, 11, 13, 17, 19, 23)
BWC = {"B": "batch", "W": "bytes/s", "C": "FLOP/s"}


def python(form):
    return parsed(form.replace("min(", "Min(").replace("max(", "Max("))


@pytest.mark.parametrize(("text", "symbols", "unit", "form"), TEXTS, ids=[t[0] for t in TEXTS])
def test_text_is_read_as_the_formula(text, symbols, unit, form):
    reading = sa.read_answer(text, symbols, unit=unit)
    if text in ("12P", "2P+2P+8P"):  # an amount a parameter: the comparison takes the letter off
        assert reading.unknown == ("P",)
        return
    assert not reading.unknown
    for shift in range(3):
        sizes = {n: PRIMES[(i + shift) % len(PRIMES)] for i, n in enumerate(symbols)}
        wanted = float(value(python(form), sizes))
        assert math.isclose(float(evaluate(reading.tree, sizes)), wanted, rel_tol=1e-9), reading.formula


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("T/8D", ("T/(8*D)", "T*D/8")),
        ("1/2D", ("1/(2*D)", "1*D/2")),
        ("2D-1/4D+2", ("2*D - 1/(4*D) + 2", "(2*D - 1)/(4*D + 2)")),
        ("2D - 1 / 4D + 2", ("2*D - 1/(4*D) + 2", "(2*D - 1)/(4*D + 2)")),
        ("T/8 D", ("T*D/8", "T/(8*D)")),
        ("T/2(D+1)", ("T*(D + 1)/2", "T/(2*(D + 1))")),
        ("T^1/2", ("T**(1/2)", "T**1/2")),
        ("√2D", ("sqrt(2*D)", "sqrt(2)*D")),
    ],
)
def test_an_ambiguous_division_is_reported_with_both_readings(text, both):
    reading = sa.read_answer(text, "T D")
    assert (reading.formula, reading.alternatives[0].formula) == both
    warned = reading.warnings[0]
    assert all(form in warned.text for form in both)
    assert text[warned.start : warned.end] in ("/", "√")


@pytest.mark.parametrize(("text", "formula"), [("log 2D", "log(2*D)"), ("T log TD", "T*log(T*D)"), ("T^2/2", "T**2/2")])
def test_a_logarithm_is_of_the_whole_product_behind_it(text, formula):
    reading = sa.read_answer(text, "T D")
    assert (reading.formula, reading.alternatives) == (formula, ())


def test_letters_that_are_also_one_name_are_reported_with_both_readings():
    reading = sa.read_answer("BW/C", BWC)
    assert (reading.formula, reading.alternatives[0].formula) == ("B*W/C", "W/C")
    assert [w.code for w in reading.warnings] == ["two_readings"]


@pytest.mark.parametrize(
    ("text", "mode"),
    [("6ND", "exact"), ("~6ND", "approximate"), ("≈ 6ND", "approximate"), ("→ 6ND", "approximate"), ("O(ND)", "order")],
)
def test_the_mode_is_what_the_marks_say(text, mode):
    assert sa.read_answer(text, "N D").mode == mode


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("N_DP < 1 + BW/C", "<"),
        (r"N \le 1 + \frac{BW}{C}", "<"),
        ("N ≳ BW/C", ">"),
        ("1 + BW/C > N", "<"),
        ("N > 1 + BW/C", ">"),
        ("communication bound when N > 1 + BW/C", "<"),
        ("1 + BW/C", ""),
    ],
)
def test_the_direction_of_a_threshold_is_kept(text, relation):
    assert sa.read_answer(text, BWC).relation == relation


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("2*vocab_sise*D", "near_miss"),
        ("2*vocab_size*D", "alias"),
        ("8,5 + V + D", "decimal_comma"),
        ("V\u200bD", "invisible"),
    ],
)
def test_a_guess_is_warned_of_at_its_place(text, code):
    reading = sa.read_answer(text, {"V": "vocab_size", "D": "d_model"})
    warned = next(w for w in reading.warnings if w.code == code)
    assert 0 <= warned.start < warned.end <= len(text)


def test_an_unknown_symbol_is_kept_and_named():
    reading = sa.read_answer("2BDKX", "B D K")
    assert (reading.formula, reading.unknown) == ("2*B*D*K*X", ("X",))


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("2*(B", "("),
        ("2**", "the formula ends"),
        ("", "nothing"),
        ("banana", "banana"),
        ("B 2", "2"),
        ("∞", "infinity"),
        ("5!B", "!"),
    ],
)
def test_what_is_no_formula_is_refused_with_the_culprit(text, culprit):
    with pytest.raises(AnswerError, match=r"cannot read the answer") as caught:
        sa.read_answer(text, "B")
    assert culprit in str(caught.value)


@pytest.mark.parametrize("text", ["B if B < D else D", "D if B > D, otherwise B", "B if B <= D else D"])
def test_cases_are_read_and_compared(text):
    assert sa.check(text, "min(B, D)", "B D").correct
    assert not sa.check(text, "max(B, D)", "B D").correct
    assert not sa.check(text, "B", "B D").correct


def test_cases_are_piecewise_in_sympy():
    import sympy

    B, D = sympy.symbols("B D")
    expected = sympy.Piecewise((2 * B, D <= B), (D, True))
    assert sa.read_answer("2B if B >= D else D", "B D").expression == expected


def test_the_expression_is_sympy_and_the_rest_is_json():
    import sympy

    reading = sa.read_answer("min(2BD, B^2)/3", "B D")
    B, D = sympy.symbols("B D")
    assert reading.expression == sympy.Min(2 * B * D, B**2) / 3
    assert json.loads(json.dumps(reading.to_json()))["formula"] == "min(2*B*D, B**2)/3"


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("n/3 - 1/6 FLOPs/byte", "n/3 - 1/6"),
        ("1/6 FLOPs/byte", "1/6"),
        ("1979e12/2/3.35e12 FLOPs/byte", "1979e12/2/3.35e12"),
        ("140e9 bytes / 3.35e12 bytes/s", "140e9/3.35e12"),
        ("140e9 / 3.35e12 bytes/s", "140e9/3.35e12"),
    ],
)
def test_a_unit_behind_a_fraction(text: str, formula: str) -> None:
    unit = "FLOPs/byte" if "FLOP" in text else ""
    assert sa.check(text, formula, symbols={"n": "side"}, unit=unit).correct


SPOKEN = [
    ("two times B T D squared", "2*B*T*D**2"),
    ("2 times B times T times D to the power of 2", "2*B*T*D**2"),
    ("4BTD^2 plus 2BTDV", "4*B*T*D**2 + 2*B*T*D*V"),
    ("2BTDV divided by the square root of T", "2*B*T*D*V/sqrt(T)"),
    ("half of 2BTD", "B*T*D"),
    ("two thirds", "2/3"),
    ("4½", "4.5"),
    ("½B", "B/2"),
    ("twelve", "12"),
    ("forward 2BD, backward 4BD, total 6BD", "6*B*D"),
    ("QK^T costs 2BTD and AV costs the same, so the total is 4BTD.", "4*B*T*D"),
    ("Therefore, the total number of FLOPs is $\\boxed{2 B T D^{2}}$.", "2*B*T*D**2"),
    ("The compute is **6·B·D** FLOPs.", "6*B*D"),
    ("6 FLOPs per param per token => 6BD", "6*B*D"),
    ("4BD bytes per layer, i.e. 4BD", "4*B*D"),
    ("1 + 2 + ... + (T-1) = T(T-1)/2", "T*(T - 1)/2"),
    ("\\begin{aligned} 4BT \\end{aligned}", "4*B*T"),
    ("\\lim_{B\\to\\infty} = T", "T"),
    ("it tends to B", "B"),
    ("for large B it is about B/3", "B/3"),
    ("独立：共 4BT", "4*B*T"),
    ("independent of B", "1"),
    ("O(1), a constant", "1"),
    ("O(1) — constant in B", "1"),
    ("6BD, B = batch", "6*B*D"),
    ("we need 6BD flops", "6*B*D"),
    ("6\\,B\\,D~\\text{FLOPs}", "6*B*D"),
    ("### 6BD", "6*B*D"),
    ("2BD (forward) + 4BD (backward)", "6*B*D"),
    ("18 bytes/param × B + 4D", "18*B + 4*D"),
    ("∛B", "B**(1/3)"),
]


@pytest.mark.parametrize(("text", "formula"), SPOKEN)
def test_words_around_a_formula(text, formula):
    reading = sa.read_answer(text, {"B": "batch", "T": "length", "D": "d_model", "V": "vocab"})
    assert not reading.unknown
    sizes = {"B": 3, "T": 5, "D": 7, "V": 11}
    assert math.isclose(float(evaluate(reading.tree, sizes)), float(value(parsed(formula), sizes)), rel_tol=1e-12)


@pytest.mark.parametrize(
    ("text", "relation", "formula"),
    [
        ("n is at least 887", ">", "887"),
        ("when n exceeds 886", ">", "886"),
        ("n must be less than 887", "<", "887"),
        ("n 至少 887", ">", "887"),
    ],
)
def test_a_threshold_in_words(text, relation, formula):
    reading = sa.read_answer(text, {"n": "side"})
    assert (reading.relation, reading.formula) == (relation, formula)
