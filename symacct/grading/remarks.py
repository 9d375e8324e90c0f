"""What there is to say about one mark, line by line, in a language; every report shows these lines."""

from __future__ import annotations

from collections.abc import Sequence

from symacct.answers import Counterexample
from symacct.answers.mistakes import sentence
from symacct.answers.types import shown
from symacct.grading.display import visible
from symacct.grading.types import Mark, Question
from symacct.grading.words import label, say, spoken

MOST_MISTAKES = 1


def outcome(mark: Mark, language: str) -> str:
    """Return right, partly right, wrong, no answer, or not graded."""
    if mark.problem:
        return say("problem", language)
    if mark.answer is None:
        return say("no_answer", language)
    full = mark.verdict is not None and (mark.verdict.correct or mark.points == mark.out_of > 0)
    return say("right" if full else "partly" if mark.points else "wrong", language)


def remarks(question: Question, mark: Mark, language: str) -> Sequence[str]:
    """Return how an answer was read, why it is wrong, where, and what is to be looked at.

    The right answer itself is not told: reports go to students who may hand in again.
    """
    verdict = mark.verdict
    if mark.problem:
        return (visible(spoken(mark.problem, language)),)
    if verdict is None:
        return ()
    lines: list[str] = []
    if verdict.reading and _plain(verdict.reading.formula) != _plain(verdict.reading.text):
        lines.append(label("read_as", language, verdict.reading.formula))
    if not verdict.correct:
        lines += [sentence(finding, language) for finding in verdict.findings[:MOST_MISTAKES]]
        if verdict.other_convention:
            word = "accepted_under" if verdict.other_convention in question.accept else "other_convention"
            lines.append(say(word, language, verdict.other_convention))
        if verdict.counterexample:
            lines.append(label("counterexample", language, counterexample(verdict.counterexample, language)))
    if verdict.problem:
        lines.append(spoken(verdict.problem.partition("\n")[0], language))
    lines += [label("note", language, spoken(warned.text, language)) for warned in verdict.warnings]
    return tuple(dict.fromkeys(visible(line) for line in lines))


def counterexample(found: Counterexample, language: str) -> str:
    """Return sizes at which an answer is wrong, what it gives there, and what it should."""
    at = ", ".join(f"{name}={shown(size)}" for name, size in found.sizes.items())
    word = "counterexample_at" if at else "counterexample_value"
    return say(word, language, at, shown(found.answer), shown(found.truth))


def _plain(formula: str) -> str:
    return formula.replace(" ", "").replace("^", "**")
