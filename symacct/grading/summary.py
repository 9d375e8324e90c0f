"""A graded class, and a key that was tried against itself, as text for a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from symacct.grading.display import number, visible
from symacct.grading.lint import Linted
from symacct.grading.remarks import outcome, remarks
from symacct.grading.types import Graded, Key, in_language
from symacct.grading.words import headed, say, spoken
from symacct.show import table

NARROW = 24


def to_text(key: Key, graded: Sequence[Graded], language: str = "en") -> str:
    """Return a table of students; of a single one, what there is to say about each answer."""
    title = in_language(key.title, language)
    if len(graded) == 1:
        return "\n".join([title, *_one(key, graded[0], language)])
    headers = [say(word, language) for word in ("student", "total", "not_right")]
    rows = [[visible(g.submission.student, NARROW), number(g.points), _not_right(g, language)] for g in graded]
    failed = sum(bool(g.submission.problem) for g in graded)
    blank = "" if language == "zh" else " "
    end = blank.join(
        [say("points_of", language, number(key.points)), say("submissions", language, len(graded), failed)]
    )
    return f"{table(headers, rows, title)}\n\n{end}"


def _not_right(graded: Graded, language: str) -> str:
    if graded.submission.problem:
        return say("problem", language)
    wrong = [visible(m.question) for m in graded.marks if (m.answer is not None or m.problem) and m.points < m.out_of]
    missing = sum(m.answer is None and not m.problem for m in graded.marks)
    return ", ".join([*wrong, *([say("unanswered", language, missing)] if missing else [])]) or "–"


def _one(key: Key, graded: Graded, language: str) -> list[str]:
    points = say("goodbye", language, number(graded.points), number(key.points))
    lines = [headed(visible(graded.submission.student), language, points)]
    for question, mark in zip(key.questions, graded.marks, strict=True):
        points = f"{number(mark.points)}/{number(mark.out_of)}"
        answer = f"  {visible(mark.answer, 60)}" if mark.answer is not None else ""
        lines += ["", f"{visible(question.id)}  {points}  {outcome(mark, language)}{answer}"]
        lines += [f"  {line}" for line in remarks(question, mark, language)]
    return lines


def lint_text(key: Key, linted: Linted, language: str = "en") -> str:
    """Return what a key says of itself and does not hold, a line each with its place."""
    file, count = Path(key.file).name, len(linted.complaints)
    lines = [
        headed(say("at_line", language, file, c.line, c.question), language, visible(spoken(c.text, language)))
        for c in linted.complaints
    ]
    end = say("do_not_hold" if count else "all_hold", language, file, len(key.questions), linted.tried, count)
    return "\n".join([*lines, end])
