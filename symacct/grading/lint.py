"""Prove a key against itself: its right forms are accepted, its wrong forms rejected for the reason given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from symacct.accounting import Account
from symacct.answers import Verdict
from symacct.answers.question import Question as Judged
from symacct.answers.text.units import read_unit
from symacct.answers.trees import names_in
from symacct.grading.marking import judge_safely
from symacct.grading.truths import judged_by, value_of
from symacct.grading.types import Key, Question


class Complaint(NamedTuple):
    """Something that a key says and that does not hold."""

    question: str
    line: int
    text: str


class Linted(NamedTuple):
    """What was tried of a key, and what did not hold."""

    tried: int
    complaints: tuple[Complaint, ...]


def lint(key: Key) -> Linted:
    """Try everything that a key says of itself.

    For each question: the truth and the forms under `right` are accepted; those under `conventions` are wrong, and
    right under that convention; those under `wrong` are rejected, and the code that is given is that of the likeliest
    mistake; every symbol is used, and no form has another one; the unit is that of the quantity.

    Parameters
    ----------
    key
        From `read_key`.

    Returns
    -------
    Linted

    Examples
    --------
    >>> from symacct.grading.types import Truth
    >>> question = Question("q", {"": "?"}, Truth("formula", "2*n"), {"n": ""}, right=("n + n", "3n"), line=4)
    >>> for complaint in lint(Key({"": ""}, (question,), "key.toml")).complaints:
    ...     print(complaint.question, complaint.text)
    q the right form '3n' is rejected: factor, at n=2: 6, not 4

    """
    tried = 0
    complaints: list[Complaint] = []
    for question in key.questions:
        for complaint in _tries(question, judged_by(question)):
            tried += 1
            if complaint:
                complaints.append(Complaint(question.id, question.line, complaint))
    return Linted(tried, tuple(complaints))


def _tries(question: Question, judged: Judged) -> Iterator[str]:
    """Yield a complaint, or nothing, for each thing that was tried."""
    own = judged.truth.text
    verdicts = {
        form: judge_safely(form, judged)
        for form in (own, *question.right, *question.conventions.values(), *question.wrong)
    }
    yield _accepted(question, verdicts[own], own, "its own truth")
    for form in question.right:
        yield _accepted(question, verdicts[form], form, "the right form")
    for name, form in question.conventions.items():
        if verdicts[form].correct:
            yield f"{form!r}, right under {name!r}, is the truth itself"
        else:
            under = verdicts[form].other_convention or "none"
            yield "" if under == name else f"{form!r} should be right under {name!r}, and is under {under}"
    for form, code in question.wrong.items():
        yield _rejected(question, verdicts[form], form, code)
    yield from _names(question, judged, verdicts)
    yield from _unit(question)


def _full(question: Question, verdict: Verdict) -> str:
    """Return by what an answer gets all points, or nothing."""
    if verdict.correct:
        return verdict.proof or "right"
    return verdict.other_convention if verdict.other_convention in question.accept else ""


def _accepted(question: Question, verdict: Verdict, form: str, what: str) -> str:
    return "" if _full(question, verdict) else f"{what} {form!r} is rejected: {_why(verdict)}"


def _rejected(question: Question, verdict: Verdict, form: str, code: str) -> str:
    if by := _full(question, verdict):
        return f"the wrong form {form!r} is accepted ({by})"
    found = (*verdict.mistakes[:1], *([verdict.other_convention] if verdict.other_convention else []))
    if code and code not in found:
        return f"the wrong form {form!r} should be {code!r}, and is {' or '.join(found) or 'rejected without a reason'}"
    return ""


def _names(question: Question, judged: Judged, verdicts: Mapping[str, Verdict]) -> Iterator[str]:
    """Every symbol is used somewhere, and every form has the question's symbols only."""
    readings = [v.reading for v in verdicts.values() if v.reading]
    used = {*question.at, *question.var, *names_in(judged.truth.tree), *(n for r in readings for n in names_in(r.tree))}
    counted = value_of(question)
    used |= set(counted.names) if isinstance(counted, Account) else set()
    for symbol in question.symbols:
        yield "" if symbol in used else f"the symbol {symbol!r} stands in no truth and in no form"
    for form, code in question.wrong.items():
        reading = verdicts[form].reading
        if reading and reading.unknown and code != "unknown_symbol":
            yield f"the wrong form {form!r} has {', '.join(reading.unknown)}, none of the symbols"


def _unit(question: Question) -> Iterator[str]:
    """Say where the unit that is asked for is of another kind than what a pattern or a graph counts."""
    asked, truth = read_unit(question.unit), value_of(question)
    if asked is not None and isinstance(truth, Account):
        own = truth.unit(question.truth.of)
        counted = read_unit(own)
        fits = counted is None or counted.dims == asked.dims
        yield "" if fits else f"the unit {question.unit!r} is asked for, and {question.truth.of} are counted in {own}"


def _why(verdict: Verdict) -> str:
    if verdict.problem:
        return verdict.problem.partition("\n")[0]
    reasons = [*verdict.mistakes[:1], str(verdict.counterexample or "")]
    return ", ".join(r for r in reasons if r) or "no reason is known"
