"""An answer against the truth in each mode: equal, the same limit, the same order, or the same number."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from symacct.answers.causes.case import case_of
from symacct.answers.causes.findings import explain_difference, other_convention
from symacct.answers.equality import Equality, agree_rounded, counterexample, equal_for_all, plain, rounding, values_at
from symacct.answers.evaluate import TooLargeError, close, evaluate
from symacct.answers.limits import same_limit, same_order
from symacct.answers.points import generic, small
from symacct.answers.question import Question
from symacct.answers.text.printing import written
from symacct.answers.trees import ONE, joined, names_in, negated
from symacct.answers.types import Counterexample, Finding, Reading, Verdict, Warned
from symacct.errors import one_of
from symacct.expr.tree import Tree

MOST_ROUNDED = Fraction(3, 100)
"""How far a number may be off that is right to its last digit."""


def compare(tree: Tree, reading: Reading, question: Question) -> Verdict:
    """Compare the formula of an answer with the truth in the question's mode."""
    return _COMPARE[question.mode](tree, reading, question)


def example(tree: Tree, truth: Tree, question: Question) -> Counterexample | None:
    """Return sizes at which an answer and a truth differ."""
    a_number = question.mode == "numeric" or not names_in(tree)
    if question.at and a_number and question.open_names <= set(question.at):
        return values_at(tree, truth, question.at)
    return counterexample(tree, truth, question.names)


def _wrong(tree: Tree, question: Question, shown: Counterexample | None, *first: Finding) -> Verdict:
    if shown is None:
        evaluate(tree, generic(question.names)[0])  # raises where it has no value at all
    case = case_of(tree, question)
    found = (*first, *explain_difference(case))
    return Verdict(
        correct=False,
        counterexample=shown,
        findings=tuple(dict.fromkeys(found)),
        other_convention=other_convention(case, question),
    )


def _exact(tree: Tree, reading: Reading, question: Question) -> Verdict:
    truth, names = question.truth.tree, question.names
    if reading.remainder:
        about = f"O({written(reading.remainder)})"
        shown = counterexample(tree, truth, names)
        return Verdict(correct=False, counterexample=shown, findings=(Finding("remainder_left_open", about),))
    if reading.mode == "order":
        return _order_given(tree, question)
    if reading.relation and question.truth.relation and reading.relation != question.truth.relation:
        return Verdict(correct=False, counterexample=_beyond(question, reading), findings=(Finding("wrong_direction"),))
    found = equal_for_all(tree, truth, names)
    if moved := _put_alike(tree, reading, question):
        stepped = equal_for_all(moved, truth, names)
        whole = not names_in(truth) and evaluate(truth, {}).denominator == 1
        # n > 887 is not n >= 887; but of n > 886, or of 1 + B*W/C, people do not ask whether it is reached
        if stepped.equal or (whole and _is_strict(reading.text)):
            tree, found = moved, stepped
    if found.equal:
        return _with_limit(Verdict(correct=True, proof=found.proof), reading, question)
    if agree_rounded(tree, truth, names):
        note = Warned("rounded", "right up to the rounding of its decimals", 0, len(reading.text))
        return Verdict(correct=True, proof="rounded", warnings=(note,))
    if not names_in(tree) and question.open_names:
        return _number_for_formula(tree, found, question)
    return _wrong(tree, question, found.counterexample)


def _beyond(question: Question, reading: Reading) -> Counterexample | None:
    """Return sizes just above a threshold, and on which side the answer and the truth put them."""
    sides = (side.strip() for side in re.split(r"[<>]=?", question.truth.text))
    name = next((side for side in sides if side.isidentifier()), "")
    if not name:
        return None
    sizes = next(small([n for n in question.names if n != name]))
    sizes[name] = math.floor(max(evaluate(t, sizes) for t in (reading.tree, question.truth.tree))) + 1
    return Counterexample(sizes, reading.relation == ">", question.truth.relation == ">")


def _put_alike(tree: Tree, reading: Reading, question: Question) -> Tree | None:
    """Return 887 for the 886 of ``n > 886`` where the truth is put as ``n >= ...``, as for whole sizes; and back."""
    strict, wanted = _is_strict(reading.text), _is_strict(question.truth.text)
    if not reading.relation or not question.truth.relation or strict == wanted:
        return None
    return joined("+", [tree, ONE if strict == (reading.relation == ">") else negated(ONE)])


def _is_strict(text: str) -> bool:
    """Whether a threshold itself is left out, as in ``n > 886``."""
    return bool(re.search(r"(?<![-=])[<>](?!=)", text))


def _number_for_formula(tree: Tree, found: Equality, question: Question) -> Verdict:
    """Judge a number where a formula was asked: right only at the sizes that the question gives."""
    truth = question.truth.tree
    if not question.at or not question.open_names <= set(question.at):
        verdict = _wrong(tree, question, found.counterexample)
        likelier = verdict.mistakes[0] in ("leading_term_only", "branch_only")
        findings = [*verdict.findings]
        findings.insert(int(likelier), Finding("number_for_formula"))
        return replace(verdict, findings=tuple(findings))
    given, wanted = evaluate(tree, {}), evaluate(truth, question.at)
    if given != wanted and same_limit(tree, truth, question.names, tuple(dict.fromkeys(names_in(truth)))):
        return _wrong(tree, question, found.counterexample, Finding("leading_term_only"))
    if abs(given - wanted) <= max(question.rtol * abs(wanted), rounding(tree, truth, question.at)):
        note = Warned("number_for_formula", "a number, right at the given sizes; the formula was asked", 0, 0)
        return Verdict(correct=True, proof="value", warnings=(note,))
    shown = Counterexample(dict(question.at), plain(given), plain(wanted))
    return _wrong(tree, question, shown)


def _order_given(tree: Tree, question: Question) -> Verdict:
    shown = counterexample(tree, question.truth.tree, question.names)
    return Verdict(correct=False, counterexample=shown, findings=(Finding("order_for_exact"),))


def _with_limit(verdict: Verdict, reading: Reading, question: Question) -> Verdict:
    """Check the limit too that an answer adds, as all sizes grow or one of them: ``(2n-1)/(4n+2) → 1/2``."""
    if reading.limit is None:
        return verdict
    names, truth = question.names, question.truth.tree
    if any(same_limit(reading.limit, truth, names, growing) for growing in (names, *((n,) for n in names))):
        return verdict
    shown = values_at(reading.limit, truth, _large(names, names))
    return Verdict(correct=False, counterexample=shown, findings=(Finding("wrong_limit"),))


def _asymptotic(tree: Tree, reading: Reading, question: Question) -> Verdict:
    truth, names = question.truth.tree, question.names
    if reading.mode == "order":
        return _order_given(tree, question)
    if reading.remainder:  # n/3 + O(n) says nothing of the limit
        tree = joined("+", [tree, reading.remainder])
    if same_limit(tree, truth, names, question.var):
        limit = reading.limit
        if limit is None or same_limit(limit, truth, names, question.var):
            return Verdict(correct=True, proof="limit")
        tree = limit
    large = _large(names, question.var)
    try:
        given, wanted = evaluate(tree, large), evaluate(truth, large)
    except TooLargeError:
        return _wrong(tree, question, counterexample(tree, truth, names))
    off = rounding(tree, truth, large)
    if off and abs(given - wanted) <= off + abs(wanted) / 10**8:
        note = Warned("rounded", "right up to the rounding of its decimals", 0, len(reading.text))
        return Verdict(correct=True, proof="rounded", warnings=(note,))
    if not names_in(tree) and question.open_names and question.at:
        return _number_for_formula(tree, Equality(equal=False), question)
    return _wrong(tree, question, values_at(tree, truth, large))


def _large(names: Iterable[str], growing: Iterable[str]) -> dict[str, int]:
    """Return small sizes for what stays and large ones for what grows."""
    primes = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43)
    grows = set(growing)
    return {n: p * 10**9 if n in grows else p for n, p in zip(names, primes, strict=False)}


def _order(tree: Tree, _: Reading, question: Question) -> Verdict:
    if same_order(tree, question.truth.tree, question.names, question.var):
        return Verdict(correct=True, proof="limit")
    try:
        shown = values_at(tree, question.truth.tree, _large(question.names, question.var))
    except TooLargeError:
        return _wrong(tree, question, counterexample(tree, question.truth.tree, question.names))
    return _wrong(tree, question, shown)


def _numeric(tree: Tree, reading: Reading, question: Question) -> Verdict:
    truth, sizes = question.truth.tree, question.at or {}
    if reading.mode == "order":
        return Verdict(correct=False, findings=(Finding("order_for_exact"),))
    if missing := set(names_in(tree)) - set(sizes):
        return Verdict(correct=False, findings=(Finding("formula_for_number", one_of(sorted(missing))),))
    given, wanted = evaluate(tree, sizes), evaluate(truth, sizes)
    if close(given, wanted, max(question.rtol, _last_digit(reading.text) if question.to_last_digit else question.rtol)):
        return Verdict(correct=True, proof="value")
    return _wrong(tree, question, values_at(tree, truth, sizes))


def _last_digit(text: str) -> Fraction:
    """Return half a unit of the last digit of a text's one number, relatively; nothing for a single digit."""
    found = re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)
    if len(found) != 1 and found[1:2] != ["10"]:  # 1.4 x 10^2
        return Fraction(0)
    whole, _, decimals = found[0].partition(".")
    value = Fraction(found[0])
    if len((whole + decimals).lstrip("0")) < 2:
        return Fraction(0)
    return min(Fraction(1, 2 * 10 ** len(decimals)) / value, MOST_ROUNDED)


_COMPARE = {"exact": _exact, "asymptotic": _asymptotic, "order": _order, "numeric": _numeric}
