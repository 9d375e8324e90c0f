"""The verb `check`: an answer against the truth, in the mode of the question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from symacct.answers.equality import equal_for_all
from symacct.answers.meaning import Meant, meant_by
from symacct.answers.modes import compare, example
from symacct.answers.question import Question, question_of
from symacct.answers.reading import read_answer
from symacct.answers.text.words import UnknownWordError
from symacct.answers.trees import halved
from symacct.answers.truth import truth_of
from symacct.answers.types import Finding, Reading, Verdict, Warned
from symacct.errors import AnswerError, SymacctError


def check(  # noqa: PLR0917 # the order of the contract
    answer: str,
    truth: Any,
    symbols: Mapping[str, str] | Iterable[str] = (),
    mode: str = "exact",
    rtol: float | None = None,
    var: str | Iterable[str] | None = None,
    at: Mapping[str, Any] | None = None,
    *,
    unit: str = "",
    quantity: str = "flops",
    convention: str = "2n",
    conventions: Mapping[str, str] | None = None,
    show_derivation: bool = False,
) -> Verdict:
    """Compare what a person answered with the truth.

    Parameters
    ----------
    answer
        The text of the answer; see `symacct.read_answer`.
    truth
        A formula, an einsum pattern, a graph, an account, or a file (``.py`` of a worked graph, ``.json`` of a graph).
    symbols
        The question's symbols, as names or ``{name: meaning}``; by default those of the truth.
    mode
        ``"exact"``: equal for all sizes; ``"asymptotic"``: the ratio tends to 1 as `var` grows; ``"order"``: to any
        positive constant; ``"numeric"``: numbers within `rtol`.
    rtol
        The relative tolerance of numbers, 1 % by default.
    var
        What grows in mode asymptotic or order, one name or several; by default every symbol.
    at
        The sizes that the question gives: a number is then accepted for the formula, if it is right there.
    unit
        The unit that the question asks for, such as ``"bytes"`` or ``"FLOPs/token"``.
    quantity, convention
        Which total of a pattern, graph, account or file (flops, matmul_flops, bytes, intensity), and how one counts.
    conventions
        Formulas that are right under another rule, by its name: told, not accepted.
    show_derivation
        Whether the verdict holds how the truth comes about.

    Returns
    -------
    A `Verdict`; what cannot be read is a verdict too, with `problem`.

    Raises
    ------
    SymacctError
        For a truth, a mode or sizes that do not read; never for what the answer says.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.check("2BDK", "2*B*D*K", symbols={"B": "rows", "D": "width", "K": "outputs"}).correct
    True
    >>> wrong = sa.check("BDK", "b d, d k -> b k")
    >>> wrong.correct, wrong.other_convention, str(wrong.counterexample)
    (False, 'mac', 'at b=2, d=3, k=5: 30, not 60')

    """
    right = truth_of(truth, symbols, unit=unit, quantity=quantity, convention=convention, conventions=conventions)
    verdict = judge(answer, question_of(right, mode, rtol, var, at))
    return replace(verdict, derivation=right.derivation) if show_derivation else verdict


def judge(answer: str, question: Question) -> Verdict:
    """Judge one answer; never raises for what it says."""
    truth = question.truth
    try:
        reading = read_answer(answer, truth.names.symbols, unit=truth.unit)
    except UnknownWordError as error:
        lacking = Finding("unknown_symbol", error.word)
        return Verdict(correct=False, problem=str(error), findings=(lacking,), truth=truth.text)
    except AnswerError as error:
        return Verdict(correct=False, problem=str(error), findings=(Finding("unreadable"),), truth=truth.text)
    first = _judge_reading(reading, question)
    if first.correct:
        return first
    for other in reading.alternatives:
        verdict = _judge_reading(other, question)
        if verdict.correct:
            said = Warned("read_as", f"right when read as {other.formula}", 0, len(answer))
            return replace(verdict, warnings=(*reading.warnings, said), reading=reading)
    return first


def _judge_reading(reading: Reading, question: Question) -> Verdict:
    meant = meant_by(reading, question.truth)
    if meant.refused:
        return _refused(meant, reading, question)
    try:
        verdict = compare(meant.tree, reading, question)
        if meant.otherwise and not verdict.correct:
            second = compare(meant.otherwise, reading, question)
            verdict = second if second.correct else verdict
    except SymacctError as error:
        verdict = Verdict(correct=False, problem=str(error), findings=(Finding("unreadable"),))
    said = (*reading.warnings, *meant.warnings, *verdict.warnings)
    return replace(verdict, reading=reading, truth=question.truth.text, warnings=said)


def _refused(meant: Meant, reading: Reading, question: Question) -> Verdict:
    """Return the verdict on an answer whose unit or symbols do not fit; its value is compared all the same."""
    shown, convention = None, ""
    names = question.names
    try:
        if not reading.unknown:
            shown = example(meant.tree, question.truth.tree, question)
        if meant.refused[0].code == "macs_for_flops":
            convention = "mac" if equal_for_all(meant.tree, halved(question.truth.tree), names).equal else ""
    except SymacctError:
        shown = None
    return Verdict(
        correct=False,
        counterexample=shown,
        findings=meant.refused,
        other_convention=convention,
        reading=reading,
        warnings=(*reading.warnings, *meant.warnings),
        truth=question.truth.text,
    )
