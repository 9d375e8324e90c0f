"""The assignment of examples/: its key holds, and what was handed in gets the points that were counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from symacct.grading import grade, lint, read_key, read_submissions

LECTURE = Path(__file__).parents[1] / "examples" / "lecture"
POINTS = {"alice": 55 - 2 - 1, "bob": 7 + 0.5 * 2, "陈": 11, "dana": 7, "emil": 0, "fay": 5}
WRONG = {
    "alice": {"square-intensity": "leading_term_only", "attention-share": "missing_term"},
    "bob": {"matmul": "macs_for_flops", "backward": "input_gradient", "checkpoint-order": "wrong_growth"},
    "陈": {"gpt3-matrix": "rounded_inputs"},
    "dana": {},
    "fay": {"relu-intensity": "inverted"},
}


@pytest.mark.claim(
    "S3",
    "S4",
    "S5",
    "S7",
    "S8",
    "S9",
    "S11",
    "S12",
    "S13",
    "S15",
    "S16",
    "S18",
    "S19",
    "S20",
    "S22",
    "S25",
    "S26",
    "S27",
    "S30",
    "S31",
    "S32",
    "S33",
    "S34",
    "S37",
    "S39",
    "S40",
    "S41",
    "S42",
    "S43",
    "S44",
    "S45",
    "S46",
    "S47",
    "S48",
    "S49",
    "S50",
    "S51",
    "S52",
    "S53",
    "S54",
    "S55",
    "S56",
    "S57",
    "S58",
    "S59",
    "S60",
    "S61",
    "S62",
    "S63",
    "S64",
    "S66",
    "S67",
)
def test_the_key_holds_against_itself() -> None:
    linted = lint(read_key(LECTURE / "key.toml"))
    assert linted.complaints == ()
    assert linted.tried > 370


def test_what_was_handed_in_gets_its_points() -> None:
    key = read_key(LECTURE / "key.toml")
    graded = grade(key, read_submissions([LECTURE / "answers"], tuple(q.id for q in key.questions)))
    assert {g.submission.student: g.points for g in graded} == POINTS
    assert key.points == 55
    assert not any(g.submission.problem or g.submission.notes for g in graded)
    for g in graded:
        wrong = {m.question: m.verdict.mistakes[0] for m in g.marks if m.verdict and not m.verdict.correct}
        if g.submission.student in WRONG:
            assert wrong == WRONG[g.submission.student]
        else:
            assert len(wrong) == 6


def test_every_question_is_in_both_languages_and_tried_both_ways() -> None:
    for question in read_key(LECTURE / "key.toml").questions:
        assert set(question.prompt) == {"en", "zh"}
        assert question.right
        assert question.wrong
