"""Whether two formulas agree for large sizes: as a limit (their ratio goes to 1) or as an order (to any constant)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from symacct.answers.algebra import expanded
from symacct.answers.evaluate import TooLargeError, UndefinedValueError, evaluate
from symacct.answers.points import generic
from symacct.errors import AnswerError
from symacct.expr.tree import Tree

_STEPS = (40, 80, 160, 320)
"""Powers of two that the growing sizes take; a logarithm doubles from one to the next."""
_SLOW_STEPS = (0, 1, 2, 3)
"""Powers of two where those are too large to work out, as in 2**b."""
_CLOSE = Fraction(1, 10**20)
_ORDER_BAND = Fraction(12, 100)


def same_limit(a: Tree, b: Tree, names: Sequence[str], growing: Sequence[str]) -> bool:
    """Whether ``a/b -> 1`` as the growing sizes grow together, the others at generic values.

    Examples
    --------
    >>> from symacct.expr.reader import parse
    >>> same_limit(parse("(2*n - 1)/6"), parse("n/3"), ["n"], ["n"])
    True

    """
    return _holds(a, b, names, growing, _tends_to_one)


def same_order(a: Tree, b: Tree, names: Sequence[str], growing: Sequence[str]) -> bool:
    """Whether ``a/b`` tends to a positive constant as each growing size grows.

    Examples
    --------
    >>> from symacct.expr.reader import parse
    >>> same_order(parse("3*L + 7"), parse("L"), ["L"], ["L"]), same_order(parse("L**2"), parse("L"), ["L"], ["L"])
    (True, False)

    """
    together = _holds(a, b, names, growing, _settles)
    return together and all(_holds(a, b, names, [g], _settles) for g in growing)


def _holds(
    a: Tree, b: Tree, names: Sequence[str], growing: Sequence[str], test: Callable[[list[Fraction]], bool]
) -> bool:
    starts, steps = generic(tuple(names))[:3], _STEPS
    if _is_too_large(b, _grown(starts[0], growing, _STEPS[-1])):
        starts, steps = starts[:1], _SLOW_STEPS
    for fixed in starts:
        ratios: list[Fraction] = []
        for step in steps:
            sizes = _grown(fixed, growing, step)
            try:
                ratios.append(evaluate(a, sizes) / evaluate(b, sizes))
            except (UndefinedValueError, TooLargeError, ZeroDivisionError):
                return a == b or expanded(a) == expanded(b) == 0
        if not test(ratios):
            return False
    return True


def _grown(sizes: Mapping[str, int], growing: Sequence[str], step: int) -> dict[str, int]:
    return {**sizes, **{g: sizes[g] << step for g in growing}}


def _is_too_large(tree: Tree, sizes: Mapping[str, int]) -> bool:
    try:
        evaluate(tree, sizes)
    except TooLargeError:
        return True
    except AnswerError:
        return False
    return False


def _tends_to_one(ratios: list[Fraction]) -> bool:
    """Whether the last ratio is 1, or its distance from it shrinks each step, as one over a logarithm does."""
    gaps = [abs(r - 1) for r in ratios]
    if gaps[-1] < _CLOSE:
        return True
    return all(later * 3 < earlier * 2 for earlier, later in pairwise(gaps[1:])) and gaps[-1] < Fraction(3, 20)


def _settles(ratios: list[Fraction]) -> bool:
    if any(r <= 0 for r in ratios):
        return False
    changes = [abs(b / a - 1) for a, b in pairwise(ratios)]
    return changes[-1] < _ORDER_BAND and changes[-1] <= max(changes[0], _CLOSE)
