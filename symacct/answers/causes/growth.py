"""A wrong answer for large sizes: by which constant and which powers it differs there from the truth."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from symacct.answers.causes.case import Case, Monomial
from symacct.answers.causes.factors import of_number, of_powers
from symacct.answers.evaluate import evaluate
from symacct.answers.limits import same_limit
from symacct.answers.points import generic
from symacct.answers.text.printing import written
from symacct.answers.trees import ONE, joined, names_in
from symacct.answers.types import Finding
from symacct.errors import SymacctError
from symacct.expr import name

_FAR, _STEP, _SMALL_STEP = 240, 60, 20


def of_order(case: Case) -> Iterator[Finding]:
    """Yield an order that grows at another rate."""
    if case.mode == "order":
        yield Finding("wrong_growth", f"{written(case.tree)}, not {written(case.truth.tree)}")


def of_inverse_limit(case: Case) -> Iterator[Finding]:
    """Yield a limit that is upside down."""
    product = joined("*", [case.tree, case.truth.tree])
    if names_in(case.truth.tree) and same_limit(product, ONE, case.names, case.growing):
        yield Finding("inverted")


def of_leading(case: Case) -> Iterator[Finding]:
    """Yield how the leading terms differ: the ratio as a number times powers, measured at large sizes."""
    growing = case.growing or tuple(dict.fromkeys(names_in(case.truth.tree)))
    try:
        found = _fitted(case, growing)
    except (SymacctError, OverflowError):
        return
    if found is None:
        return
    number, powers = found
    if powers:
        right = case.right if case.right is not None and not case.growing else name(powers[0][0])
        yield from of_powers(powers, right)
    if number != 1:
        yield from of_number(number, case)


def _fitted(case: Case, growing: tuple[str, ...]) -> tuple[Fraction, Monomial] | None:
    found = {_fitted_at(case, growing, {n: Fraction(v) for n, v in g.items()}) for g in generic(case.names)[:2]}
    return found.pop() if len(found) == 1 else None


def _fitted_at(case: Case, growing: tuple[str, ...], sizes: dict[str, Fraction]) -> tuple[Fraction, Monomial] | None:
    far = {**sizes, **{g: sizes[g] * 2**_FAR for g in growing}}
    base = _ratio(case, far)
    powers: dict[str, int] = {}
    for n in case.names:
        step = _STEP if n in growing else _SMALL_STEP
        exponent = _exponent(_ratio(case, {**far, n: far[n] * 2**step}) / base, step)
        if exponent is None:
            return None
        powers[n] = exponent
    number = base / math.prod(far[n] ** e for n, e in powers.items())
    plain = Fraction(number).limit_denominator(120)
    if plain == 0 or abs(plain / number - 1) > Fraction(1, 10**5):
        return None
    return plain, tuple((n, e) for n, e in sorted(powers.items()) if e)


def _exponent(change: Fraction, step: int) -> int | None:
    """Return the whole power that a change over so many doublings is, or nothing."""
    if change <= 0:
        return None
    doublings = math.log2(change.numerator) - math.log2(change.denominator)
    exponent = round(doublings / step)
    return exponent if abs(exponent * step - doublings) < 0.01 else None


def _ratio(case: Case, sizes: dict[str, Fraction]) -> Fraction:
    above, below = evaluate(case.tree, sizes), evaluate(case.truth.tree, sizes)
    if above == 0 or below == 0:
        raise SymacctError("no ratio of zero")
    return above / below
