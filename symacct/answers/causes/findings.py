"""Why an answer is wrong: each search in a fitting order, the plainest explanation first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from symacct.answers.causes.case import Case
from symacct.answers.causes.factors import of_ratio
from symacct.answers.causes.growth import of_inverse_limit, of_leading, of_order
from symacct.answers.causes.numeric import of_numbers
from symacct.answers.causes.structure import (
    of_dropped,
    of_extremes,
    of_larger,
    of_limits,
    of_products,
    of_replaced,
    of_rounding,
    of_steps,
    of_swaps,
)
from symacct.answers.causes.terms import of_arguments, of_divisors, of_terms
from symacct.answers.equality import equal_for_all
from symacct.answers.evaluate import close, evaluate
from symacct.answers.question import Question
from symacct.answers.trees import names_in
from symacct.answers.types import Finding
from symacct.errors import SymacctError
from symacct.expr import Expr, add, divide, multiply, name
from symacct.expr.tree import Tree

MOST = 3
"""How many likely mistakes are looked for."""
Search = Callable[[Case], Iterator[Finding]]
_FOR_NUMBERS: tuple[Search, ...] = (of_rounding, of_numbers, of_extremes, of_larger)
_FOR_GROWTH: tuple[Search, ...] = (of_order, of_inverse_limit, of_ratio, of_leading, of_terms, of_swaps, of_replaced)
_FOR_FORMULAS: tuple[Search, ...] = (
    of_rounding,
    of_extremes,
    of_ratio,
    of_arguments,
    of_products,
    of_swaps,
    of_dropped,
    of_steps,
    of_terms,
    of_replaced,
    of_limits,
    of_divisors,
    of_leading,
)


def explain_difference(case: Case) -> tuple[Finding, ...]:
    """Return the likely mistakes, the likeliest first; never none."""
    found: list[Finding] = []
    try:
        for finding in _search(case):
            if finding.code not in {f.code for f in found}:
                found.append(finding)
            if len(found) == MOST:
                break
    except (SymacctError, ArithmeticError):  # what was found by then stands; a search may divide by zero
        pass
    if _coincides(case):
        found.append(Finding("coincidence"))
    return tuple(found) or (Finding("different"),)


def _search(case: Case) -> Iterator[Finding]:
    if case.right == 0:
        yield Finding("not_zero")
        return
    searches = _FOR_FORMULAS
    if case.numbers:
        searches = _FOR_NUMBERS
    elif case.growing:
        searches = _FOR_GROWTH
    for search in searches:
        yield from search(case)


def _coincides(case: Case) -> bool:
    """Whether a wrong formula has the right value at the question's own numbers."""
    if case.mode == "numeric" or not case.at or not names_in(case.tree):
        return False
    try:
        return evaluate(case.tree, case.at) == evaluate(case.truth.tree, case.at)
    except SymacctError:
        return False


def other_convention(case: Case, question: Question) -> str:
    """Return the rule under which an answer would be right: one that the truth states, MACs, or the exact count."""
    for rule, other in question.truth.others.items():
        if _agrees(case.tree, other, question):
            return rule
    if case.kind != "flops" or case.answer is None or case.right is None or not names_in(case.tree):
        return ""
    if multiply(2, case.answer) == case.right:
        return "mac"
    return _exact_or_2n(case.answer, case.right, case.names)


def _agrees(tree: Tree, other: Tree, question: Question) -> bool:
    if question.mode != "numeric":
        return equal_for_all(tree, other, question.names).equal
    sizes = question.at or {}
    return close(evaluate(tree, sizes), evaluate(other, sizes), question.rtol)


def _exact_or_2n(answer: Expr, right: Expr, symbols: Iterable[str]) -> str:
    """Tell a sum of n products counted as 2n - 1 operations from one counted as 2n."""
    for symbol in symbols:
        n = name(symbol)
        share = divide(add((multiply(2, n), -1)), multiply(2, n))
        if multiply(right, share) == answer:
            return "exact"
        if multiply(answer, share) == right:
            return "2n"
    return ""
