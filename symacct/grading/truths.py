"""The truth of a question: a formula's text, or the account of a pattern or a graph; and what answers are judged by."""

from __future__ import annotations

from typing import Any

from symacct.answers.question import Question as Judged
from symacct.answers.question import question_of
from symacct.answers.truth import truth_of
from symacct.api import account
from symacct.grading.types import Question
from symacct.worked import account_of_file


def value_of(question: Question) -> Any:
    """Return a formula as text, or an account.

    Raises
    ------
    SymacctError
        For a pattern, a graph's file or options that do not read.

    Examples
    --------
    >>> from symacct.grading.types import Truth
    >>> q = Question("q", {"": "?"}, Truth("pattern", "b d, d k -> b k"), {})
    >>> value_of(q).flops
    2*b*d*k

    """
    kind, text, _, options = question.truth
    if kind == "formula":
        return text
    if kind == "pattern":
        return account(text, **options)
    return account_of_file(text, **options)


def judged_by(question: Question) -> Judged:
    """Return what `symacct.answers.comparing.judge` takes besides an answer: made once, used for every answer.

    Raises
    ------
    SymacctError
        For a truth that does not read, names that are not among the symbols, a number that is missing.

    """
    symbols, conventions = dict(question.symbols), dict(question.conventions)
    truth = truth_of(
        value_of(question), symbols, unit=question.unit, quantity=question.truth.of, conventions=conventions
    )
    return question_of(truth, question.mode, question.rtol, question.var, dict(question.at))
