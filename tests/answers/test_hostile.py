"""Strangers' texts: each is one clear line or a reading, in bounded time, and never code."""

from __future__ import annotations

import time

import pytest

import symacct as sa
from symacct.answers.text.characters import DIRECTION, INVISIBLE, MAX_LENGTH
from symacct.errors import AnswerError
from verify.answers.fuzz import attack

HUGE = [
    "9**9**9",
    "10^10^10",
    "2^(10^9)",
    "1e999999",
    "(1e300)^20",
    "1" * 1_500,
    "(" * 100_000 + "B" + ")" * 100_000,
    "(" * 500 + "B" + ")" * 500,
    "-" * 1_000_000 + "B",
    "B" * 10_000_000,
    "B^B^B^B^B^B",
    "((((B+T)^9)^9)^9)^9",
]
SLOW = [
    "(B+T)" * 150,
    "(B+T+1)^24*(B-T+2)^24",
    "1/(B+T)" + "/(B+2T)" * 100,
    "sqrt(" * 50 + "B" + ")" * 50,
    "max(B,T,ceil(B/3)," * 20 + "T" + ")" * 20,
    "+".join(f"1/(B+{i})" for i in range(1, 120)),
]
CODE = [
    "__import__('os').system('x')",
    "exec('1')",
    "B.__class__",
    "(lambda: 0)()",
    "open('x')",
    "{B.__class__}",
    "sympify('B')",
]


@pytest.mark.parametrize("text", [*HUGE, *CODE], ids=lambda t: t[:20])
def test_what_is_too_large_or_code_is_one_clear_error(text):
    start = time.process_time()
    verdict = sa.check(text, "2*B*T", "B T")
    assert time.process_time() - start < 2
    assert not verdict.correct
    assert verdict.mistakes[0] in ("unreadable", "unknown_symbol")
    assert len(verdict.problem) < 500
    assert len(verdict.problem.splitlines()) <= 3


@pytest.mark.parametrize("text", SLOW, ids=lambda t: t[:20])
@pytest.mark.parametrize("mode", ["exact", "asymptotic", "order"])
def test_what_takes_work_is_cut_short(text, mode):
    start = time.process_time()
    assert not sa.check(text, "2*B*T + 1", "B T", mode).correct
    assert time.process_time() - start < 5


@pytest.mark.parametrize("char", sorted(DIRECTION))
def test_characters_that_reorder_are_refused_by_name(char):
    with pytest.raises(AnswerError, match=f"U\\+{ord(char):04X}"):
        sa.read_answer(f"2{char}B", "B")


@pytest.mark.parametrize("char", sorted(INVISIBLE))
def test_invisible_characters_are_passed_over_with_a_warning(char):
    reading = sa.read_answer(f"2{char}B", "B")
    assert reading.formula == "2*B"
    assert [(w.code, w.start) for w in reading.warnings] == [("invisible", 1)]


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\x7f", "\ud800", "\ue000", "\U000f0000"])
def test_control_characters_are_refused(char):
    with pytest.raises(AnswerError, match="control character"):
        sa.read_answer(f"2{char}B", "B")


@pytest.mark.parametrize(("char", "name"), [("В", "CYRILLIC"), ("Β", "GREEK"), ("Н", "CYRILLIC"), ("ο", "GREEK")])
def test_letters_that_only_look_latin_are_refused_by_name(char, name):
    with pytest.raises(AnswerError, match=f"{name} .* only looks like a Latin letter"):
        sa.read_answer(f"2{char}T", "B T H o")


def test_digits_of_other_scripts_are_digits():
    assert sa.read_answer("٢B", "B").formula == "2*B"


def test_what_is_no_text_is_refused():
    for thing in (None, 12, b"2B", ["2B"]):
        with pytest.raises(AnswerError, match="an answer is text"):
            sa.read_answer(thing, "B")


def test_a_text_just_short_enough_is_read():
    assert sa.read_answer("B" + " " * (MAX_LENGTH - 1), "B").formula == "B"
    with pytest.raises(AnswerError, match="at most 2,000"):
        sa.read_answer("B" + " " * MAX_LENGTH, "B")


def test_what_has_no_value_is_told():
    for text in ("1/0", "0/0", "B/(T-T)", "log(0)", "sqrt(0-2)", "0^-1"):
        verdict = sa.check(text, "2*B*T", "B T")
        assert not verdict.correct
        assert "cannot read the answer" in verdict.problem


def test_a_unit_on_what_has_no_value_is_told():
    assert not sa.check("2 GiB(-1)**0.55", "12", mode="numeric", unit="FLOPs").correct
    assert not sa.check("2 GiB/(B-B)", "12*B", "B", unit="FLOPs").correct
    assert not sa.check("2 - N GiB", "2*n", "n", unit="FLOPs").correct


def test_generated_inputs_never_crash():
    seen = attack(2_000, 77)
    assert seen["read"] > 150
    assert seen["refused"] > 500
