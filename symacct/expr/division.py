"""Exact division and common factors of sums."""

from __future__ import annotations

from fractions import Fraction

from symacct.expr.poly import Expr, Monomial, Number, Poly, add, from_terms, join, print_order, whole


def cancel(a: Poly, b: Poly) -> tuple[Expr, Expr]:
    """Divide both by their common factor: whole division first, the general gcd (through sympy) only when needed."""
    if a == b:
        return 1, 1
    if not _share_a_name(a, b):
        return a, b
    if (quotient := divide_exactly(a, b)) is not None:
        return quotient, 1
    if (quotient := divide_exactly(b, a)) is not None:
        return 1, quotient
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


def _share_a_name(a: Poly, b: Poly) -> bool:
    return bool({x for m in a.terms for x, _ in m} & {x for m in b.terms for x, _ in m})
