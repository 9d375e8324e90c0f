"""Exact division and common factors of sums."""

from __future__ import annotations

from fractions import Fraction

from symacct.expr.poly import Call, Expr, Monomial, Number, Poly, add, from_terms, join, monomial, multiply, whole
from symacct.expr.powers import group_power, power, print_order, split_content

MAX_CANCEL = 300
"""Terms up to which common factors are looked for; that takes seconds above."""
MAX_GCD_NAMES = 20
"""Names up to which sympy is asked for a common factor: half a second for 20, a minute for 64."""


def divide(a: Expr, b: Expr) -> Expr:
    """Divide and cancel: contents, monomials, whole factors; else one group in the denominator.

    Examples
    --------
    >>> from symacct.expr import read
    >>> divide(read("x**2 - 1"), read("2*x + 2")), divide(1, read("x + 1"))
    ((x - 1)/2, 1/(x + 1))

    """
    if not isinstance(b, Poly):
        return multiply(a, power(b, -1))
    content_a, common_a, rest_a = split_content(a)
    content_b, common_b, rest_b = split_content(b)
    outside = multiply(
        whole(Fraction(content_a) / Fraction(content_b)),
        monomial(join(common_a, tuple((x, -e) for x, e in common_b))),
    )
    if not isinstance(rest_b, Poly):
        return multiply(outside, rest_a)
    if isinstance(rest_a, Poly):
        rest_a, rest_b = cancel(rest_a, rest_b)
        if not isinstance(rest_b, Poly):
            return multiply(multiply(outside, rest_a), power(rest_b, -1))
    return multiply(multiply(outside, rest_a), group_power(rest_b, -1))


def without_group(a: Poly, b: Poly) -> Expr | None:
    """Return ``a*b`` where a sum below all terms of a divides b, as in ``d/(s + 1) * (s + 1)``, else None."""
    if len(b.terms) > MAX_CANCEL or any(type(x) is not str or e < 0 for m in b.terms for x, e in m):
        return None
    for group, _ in next(iter(a.terms)):
        if not isinstance(group, Call) or group.function != "group" or not isinstance(group.args[0], Poly):
            continue
        if _names(b) & _names(group.args[0]) and all(dict(m).get(group, 0) <= -1 for m in a.terms):
            quotient = divide_exactly(b, group.args[0])
            if quotient is not None:
                return multiply(multiply(a, monomial(((group, 1),))), quotient)
    return None


def cancel(a: Poly, b: Poly) -> tuple[Expr, Expr]:
    """Divide both by their common factor: whole division first, the general gcd (through sympy) only when needed."""
    if a == b:
        return 1, 1
    if not _names(a) & _names(b) or len(a.terms) + len(b.terms) > MAX_CANCEL:
        return a, b
    if (quotient := divide_exactly(a, b)) is not None:
        return quotient, 1
    if (quotient := divide_exactly(b, a)) is not None:
        return 1, quotient
    if len(_names(a) | _names(b)) > MAX_GCD_NAMES:
        return a, b
    from symacct.expr.border import common_factor

    factor = common_factor(a, b)
    if not isinstance(factor, Poly):
        return a, b
    over_a, over_b = divide_exactly(a, factor), divide_exactly(b, factor)
    return (a, b) if over_a is None or over_b is None else (over_a, over_b)


def divide_exactly(a: Poly, b: Poly) -> Expr | None:
    """Return `a / b` when it is a polynomial, else None; both must have natural exponents."""
    lead = min(b.terms, key=print_order)
    inverse: Monomial = tuple((x, -e) for x, e in lead)
    rest: Expr = a
    quotient: dict[Monomial, Number] = {}
    for _ in range(len(a.terms) * 8 + 8):
        if not isinstance(rest, Poly):
            return from_terms(quotient) if rest == 0 else None
        top = min(rest.terms, key=print_order)
        factor = join(top, inverse)
        if any(e < 0 for _, e in factor):
            return None
        coefficient = whole(Fraction(rest.terms[top]) / Fraction(b.terms[lead]))
        quotient[factor] = coefficient
        rest = add((rest, -(from_terms({factor: coefficient}) * b)))
    return None


def _names(x: Poly) -> set[str]:
    return {name for m in x.terms for name, _ in m}
