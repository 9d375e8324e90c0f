"""Powers, roots and the content of sums; a sum to a negative or fractional power stays one atom, a group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from symacct.errors import ExpressionError
from symacct.expr.poly import (
    ONE,
    Call,
    Expr,
    Monomial,
    Number,
    Poly,
    add,
    call,
    from_terms,
    has_whole_group,
    join,
    monomial,
    multiply,
    terms_of,
    whole,
)

MAX_POWER_TERMS = 2_000


def power(x: Expr, exponent: Number) -> Expr:
    """Raise to a rational power exactly, or keep the base as a group.

    Raises
    ------
    ExpressionError
        For zero to a negative power, a root of a negative number, or a result too large to read.

    """
    exponent = whole(Fraction(exponent))
    if exponent == 1:
        return x
    if exponent == 0:
        return 1
    if not isinstance(x, Poly):
        return _number_power(x, exponent)
    if len(x.terms) == 1:
        ((m, c),) = x.terms.items()
        scaled = tuple((base, whole(e * exponent)) for base, e in m)
        return multiply(_number_power(c, exponent), expand_groups(scaled, 1) if exponent > 0 else Poly({scaled: 1}))
    if type(exponent) is int and exponent >= 0:
        if math.comb(len(x.terms) + exponent - 1, exponent) > MAX_POWER_TERMS:
            msg = f"the power {exponent} of {len(x.terms)} terms would not be readable; give some sizes as numbers"
            raise ExpressionError(msg)
        out: Expr = 1
        for _ in range(exponent):
            out = multiply(out, x)
        return out
    return group_power(x, exponent)


def group_power(x: Poly, exponent: Number) -> Expr:
    """Keep a sum to a negative or fractional power: its monomial factor outside, the primitive rest as one atom."""
    content, common, rest = split_content(x)
    if content < 0 and type(exponent) is Fraction:
        content, rest = -content, -rest
    outside = multiply(_number_power(content, exponent), power(monomial(common), exponent))
    if not isinstance(rest, Poly):
        return outside
    return multiply(outside, Poly({((call("group", rest), exponent),): 1}))


def _number_power(x: Number, exponent: Number) -> Expr:
    if type(exponent) is int:
        if x == 0 and exponent < 0:
            msg = "division by zero"
            raise ExpressionError(msg)
        if abs(exponent) * max(x.numerator.bit_length(), x.denominator.bit_length()) > 100_000:
            msg = f"{x}**{exponent} is too large a number"
            raise ExpressionError(msg)
        return whole(Fraction(x) ** exponent)
    if x < 0:
        msg = f"a root of the negative number {x} is not a size"
        raise ExpressionError(msg)
    root = exponent.denominator
    top, bottom = (_integer_root(v, root) for v in (x.numerator, x.denominator))
    if top is None or bottom is None:
        return Poly({((call("group", x), exponent),): 1})
    return _number_power(Fraction(top, bottom), exponent.numerator)


def _integer_root(n: int, degree: int) -> int | None:
    """Return the whole root when there is one."""
    if degree >= n.bit_length():  # the root is below 2
        return n if n < 2 else None
    low, high = 0, 1 << (n.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= n else (low, middle - 1)
    return low if low**degree == n else None


def split_content(x: Expr) -> tuple[Number, Monomial, Expr]:
    """Split into rational content, common monomial and primitive rest: `6*n**2 - 3*n = 3 * n * (2*n - 1)`."""
    terms = terms_of(x)
    if not terms:
        return 0, ONE, 0
    content: Number = whole(
        Fraction(
            math.gcd(*(c.numerator for c in terms.values())),
            math.lcm(*(c.denominator for c in terms.values())),
        )
    )
    monomials = iter(terms)
    common = dict(next(monomials))
    for m in monomials:
        here = dict(m)
        lower = {a: e for a, e in here.items() if e < 0 and a not in common}
        common = {a: least for a, e in common.items() if (least := min(e, here.get(a, 0)))} | lower
    shared: Monomial = tuple(sorted(common.items()))
    inverse: Monomial = tuple((a, -e) for a, e in shared)
    rest = {join(m, inverse): whole(c / Fraction(content)) for m, c in terms.items()}
    if any(type(a) is Call and e < 0 for a, e in shared):  # some terms are now multiples of that sum
        expanded = add(expand_groups(m, c) for m, c in rest.items())
        if expanded != from_terms(rest):
            inner, more, primitive = split_content(expanded)
            return whole(Fraction(content) * inner), join(shared, more), primitive
    if leading(rest) < 0:
        content, rest = -content, {m: -c for m, c in rest.items()}
    return content, shared, from_terms(rest)


def leading(terms: Mapping[Monomial, Number]) -> Number:
    """Return the coefficient of the first monomial as printed: highest degree, then alphabetical."""
    return terms[min(terms, key=print_order)]


def print_order(m: Monomial) -> tuple[Number, list[tuple[str, Number]]]:
    """Sort monomials by falling degree, then by name."""
    return -sum(e for _, e in m), [(a, -e) for a, e in m]


def expand_groups(m: Monomial, coefficient: Number) -> Expr:
    """Multiply out groups whose power became a natural number, such as `sqrt(x + 1)**2`."""
    keep = tuple((a, e) for a, e in m if not has_whole_group(((a, e),)))
    out: Expr = from_terms({keep: coefficient})
    for a, e in m:
        if isinstance(a, Call) and has_whole_group(((a, e),)):
            out = multiply(out, power(a.args[0], e))
    return out
