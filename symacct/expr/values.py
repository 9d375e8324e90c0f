"""Put sizes into expressions: names for names, or numbers for names, all at once and exactly."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from symacct.errors import UndefinedSizeError, one_of
from symacct.expr.functions import apply
from symacct.expr.poly import Call, Expr, Number, Poly, add, monomial, multiply, names_in, terms_of
from symacct.expr.powers import power


def substitute(x: Expr, sizes: Mapping[str, Expr]) -> Expr:
    """Replace names by expressions, all at once: ``b -> d, d -> b`` swaps.

    Examples
    --------
    >>> from symacct.expr import name, read
    >>> substitute(read("2*b*d*k"), {"b": name("d"), "d": name("b"), "k": 3})
    6*b*d

    """
    if not isinstance(x, Poly):
        return x
    parts: list[Expr] = []
    for m, c in x.terms.items():
        keep = tuple((a, e) for a, e in m if type(a) is str and a not in sizes)
        part: Expr = Poly({keep: c}) if keep else c
        for a, e in m:
            if isinstance(a, Call):
                part = multiply(part, power(apply(a.function, tuple(substitute(arg, sizes) for arg in a.args)), e))
            elif a in sizes:
                part = multiply(part, power(sizes[a], e))
        parts.append(part)
    return add(parts)


def evaluate(x: Expr, sizes: Mapping[str, Number]) -> Number | float:
    """Return the number for given sizes: exact, or a float where a root or logarithm is not a fraction.

    Raises
    ------
    UndefinedSizeError
        Names the sizes that were not given.

    Examples
    --------
    >>> from symacct.expr import read
    >>> evaluate(read("n/3 - 1/6"), {"n": 1024})
    Fraction(2047, 6)

    """
    if missing := sorted(set(names_in(x)) - set(sizes)):
        msg = f"no number for {one_of(missing)}; give a size to each of {one_of(sorted(set(names_in(x))))}"
        raise UndefinedSizeError(msg)
    out = substitute(x, sizes)
    return float_of(out) if isinstance(out, Poly) else out


def evaluator(x: Expr) -> Callable[[Mapping[str, Number]], Number | float]:
    """Return a function that evaluates an expression at many sizes: sums of products of names in one pass each."""
    terms = [(c, [(a, int(e)) for a, e in m]) for m, c in terms_of(x).items()]
    if any(isinstance(a, Call) or type(e) is not int or e < 0 for m in terms_of(x) for a, e in m):
        return lambda sizes: evaluate(x, sizes)
    return lambda sizes: sum(c * math.prod([sizes[a] ** e for a, e in m]) for c, m in terms)


def float_of(x: Expr) -> float:
    """Return the float value of an expression without names (roots and logarithms of numbers may remain)."""
    if not isinstance(x, Poly):
        return float(x)
    return sum(float(c) * _float_product(m) for m, c in x.terms.items())


def _float_product(m: tuple[tuple[str, Number], ...]) -> float:
    out = 1.0
    for a, e in m:
        if not isinstance(a, Call):
            msg = f"no number for {a}"
            raise UndefinedSizeError(msg)
        inside = float_of(a.args[0])
        out *= {"log2": math.log2, "ceil": math.ceil, "floor": math.floor, "group": float}[a.function](inside) ** float(
            e
        )
    return out


def whole_denominator(x: Expr) -> tuple[Expr, Expr]:
    """Split into numerator and denominator, both with natural exponents and whole coefficients.

    Examples
    --------
    >>> from symacct.expr import read
    >>> whole_denominator(read("d/h + 1/2"))
    (2*d + h, 2*h)

    """
    if not isinstance(x, Poly):
        return Fraction(x).numerator, Fraction(x).denominator
    lowest: dict[str, Number] = {}
    for m in x.terms:
        for a, e in m:
            if e < 0:
                lowest[a] = min(lowest.get(a, 0), e)
    scale = math.lcm(*(c.denominator for c in x.terms.values()))
    below = multiply(scale, monomial(tuple(sorted((a, -e) for a, e in lowest.items()))))
    return multiply(x, below), below


def numerator(x: Expr) -> Expr:
    """Return an expression that is zero exactly where `x` is: every denominator, sums too, multiplied out.

    Examples
    --------
    >>> from symacct.expr import read
    >>> numerator(read("b*d/(b + d) - 3"))
    b*d - 3*b - 3*d

    """
    above, _ = whole_denominator(x)
    while groups := [
        (a, e) for m in terms_of(above) for a, e in m if isinstance(a, Call) and a.function == "group" and e < 0
    ]:
        base, lowest = min(groups, key=lambda g: g[1])
        above, _ = whole_denominator(_times_group(above, base, -lowest))
    return above


def _times_group(x: Expr, base: Call, exponent: Number) -> Expr:
    """Multiply every term by `base ** exponent`, expanded where the group cancels to a natural power."""
    parts: list[Expr] = []
    for m, c in terms_of(x).items():
        own = dict(m).get(base, 0)
        rest = monomial(tuple(p for p in m if p[0] != base))
        parts.append(multiply(multiply(c, rest), power(base.args[0], own + exponent)))
    return add(parts)
