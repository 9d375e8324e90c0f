"""What a mistake in a pattern is told, and that no text takes long."""

from __future__ import annotations

import time

import pytest

import symacct as sa
from symacct.errors import AxisConflictError, PatternError, SymacctError, UnknownAxisError
from symacct.pattern import parse

ERRORS = [
    # text, class, where the caret stands, what the message says
    ("", PatternError, 0, "no arrow '->'; write the output after it, as in 'b d, d k -> b k'"),
    ("b d, d k", PatternError, 8, "no arrow '->'"),
    ("b d => b", PatternError, 8, "no arrow '->'"),
    ("b d - > b", PatternError, 9, "no arrow '->'"),
    ("b d -> b -> d", PatternError, 9, "a second arrow; a pattern has one output"),
    ("b d -> b → d", PatternError, 9, "a second arrow"),
    ("b d, d k -> b c", UnknownAxisError, 14, "the output axis 'c' is in no operand; known: b, d, k"),
    ("heads d -> head", UnknownAxisError, 11, "Did you mean 'heads'?"),
    ("bd,dk->bk", UnknownAxisError, 7, "For one letter an axis use notation='numpy'"),
    ("d -> ... d", UnknownAxisError, 5, "the output axis '...' is in no operand; known: d"),
    ("b d -> b b", AxisConflictError, 9, "the axis 'b' stands twice in the output; an output axis is written once"),
    ("b bb -> bb b b", AxisConflictError, 13, "the axis 'b' stands twice"),
    ("... d -> ... ...", PatternError, 13, "a second '...' in one operand"),
    ("... d ... -> d", PatternError, 6, "a second '...' in one operand"),
    ("b d -> b, d", PatternError, 8, "axes are separated by spaces, operands by commas, and there is one output"),
    ("b d; d k -> b k", PatternError, 3, "operands are separated by a comma"),
    ("b*d -> b", PatternError, 1, "a product of axes is written (h d)"),
    ("b d+1 -> b", PatternError, 3, "give a size such as n + 1 apart, by keyword"),
    ("b [h d] -> b", PatternError, 2, "composite axes use round parentheses"),
    ("b.. d -> b", PatternError, 1, "three dots '...' stand for the batch axes"),
    ("b d-1 -> b", PatternError, 3, "did not expect '-' here"),
    ("b (h d -> b", PatternError, 2, "this parenthesis is not closed"),
    ("b h d) -> b", PatternError, 5, "this parenthesis was not opened"),
    ("b (h (d k)) -> b", PatternError, 5, "parentheses inside parentheses; name the axes in one pair"),
    ("b d -> (b d", PatternError, 7, "this parenthesis is not closed"),
    ("b 3 -> b", PatternError, 2, "give its size apart, as in 'n' with n=3 (only 1 may stand here)"),
    ("b 0 -> b", PatternError, 2, "give its size apart"),
    ("b ٣ -> b", PatternError, 2, "give its size apart"),
    ("b 1d -> b", PatternError, 2, "'1d' is not a name; a name starts with a letter"),
    ("b² d -> d", PatternError, 0, "'b²' is not a name"),
    ("_ d -> d", PatternError, 0, "'_' says nothing about its size; give the axis a name"),
    ("b\u200bd -> b", PatternError, 1, "did not expect '\\u200b' here"),
    ("b 'd' -> b", PatternError, 2, 'did not expect "\'" here'),
    ("b d -> b #", PatternError, 9, "did not expect '#' here"),
]


@pytest.mark.parametrize(("text", "kind", "column", "message"), ERRORS, ids=[e[0] or "empty" for e in ERRORS])
def test_error_points_at_the_culprit(text, kind, column, message):
    with pytest.raises(SymacctError) as error:
        parse(text)
    assert type(error.value) is kind
    first, shown, caret = str(error.value).split("\n")
    assert message in first
    assert shown == "  " + text
    assert caret.index("^") == 2 + column


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("ij,jk", 5, "as in 'ij,jk->ik'"),
        ("i1,j->i", 1, "'1' is not a letter; numpy notation has one letter an axis"),
        ("i_,j->i", 1, "'_' is not a letter"),
        ("i²,j->i", 1, "'²' is not a letter"),
    ],
)
def test_errors_in_numpy_notation(text, column, message):
    with pytest.raises(PatternError) as error:
        parse(text, "numpy")
    first, _, caret = str(error.value).split("\n")
    assert message in first
    assert caret.index("^") == 2 + column


def test_an_axis_twice_in_the_output_in_numpy_notation():
    with pytest.raises(AxisConflictError, match="the axis 'i' stands twice in the output"):
        parse("ij->ii", "numpy")


@pytest.mark.parametrize("thing", [None, 3, b"b d -> b", 4.0])
def test_a_pattern_is_a_string(thing):
    with pytest.raises(PatternError, match="a pattern is a string such as 'b d, d k -> b k', not"):
        parse(thing)


def test_unknown_notation():
    with pytest.raises(PatternError, match="unknown notation 'torch'; known: einops, numpy"):
        parse("ij->i", "torch")


HOSTILE = {
    "one name": "a" * 9_990 + " ->",
    "too long": "a" * 10_001 + " ->",
    "too long and plain": "a " * 10_000 + "->",
    "no arrow": "a " * 5_000,
    "operands": "a," * 4_990 + "->",
    "parentheses": "(" * 5_000 + "->",
    "minus signs": "-" * 9_990 + ">",
    "arrows": "->" * 5_000,
    "spaces": " " * 9_990 + "->",
    "dots": "…" * 9_000 + "->",
    "parentheses after": "a -> " + "(" * 9_990,
    "one long word after": "a -> " + "b" * 9_990,
    "nearly plain": "a -> " + "b" * 60 + ";",
    "words after": "a -> " + "b " * 4_990 + ";",
    "axes": " ".join(f"a{i}" for i in range(1_001)) + " ->",
    "composite axes": "(" + " ".join(f"a{i}" for i in range(1_001)) + ") ->",
    "null": "\x00" * 5_000 + "->",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_patterns_are_answered_or_refused_within_a_second(text):
    started = time.process_time()
    try:
        shown = repr(sa.account(text).total("flops"))
    except SymacctError as error:
        shown = str(error) if len(str(error)) < 600 else ""
    assert time.process_time() - started < 2  # a second, and as much again for a slow machine
    assert shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HOSTILE["too long"], "10,004 characters; at most 10,000 are read"),
        (HOSTILE["too long and plain"], "20,002 characters; at most 10,000 are read"),
        (HOSTILE["operands"], "more than 64 operands"),
        (HOSTILE["axes"], "1,001 axes; at most 1,000 are taken"),
        (HOSTILE["composite axes"], "1,001 axes; at most 1,000 are taken"),
    ],
    ids=["characters", "plain characters", "operands", "axes", "composite axes"],
)
def test_limits_are_named(text, message):
    with pytest.raises(PatternError, match=message):
        parse(text)


def test_what_fits_the_limits_is_taken():
    assert len(parse(",".join(f"a{i}" for i in range(64)) + " ->").operands) == 64
    assert len(parse(" ".join(f"a{i}" for i in range(1_000)) + " ->").names) == 1_000
