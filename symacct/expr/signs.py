"""Which of two expressions is larger, for all sizes from a lower bound on, where that can be proved cheaply."""

from __future__ import annotations

from fractions import Fraction

from symacct.expr.division import divide
from symacct.expr.functions import degree
from symacct.expr.poly import Call, Expr, add, join, monomial, multiply, name, names_in, terms_of
from symacct.expr.values import substitute, whole_denominator


def sign(x: Expr, lower: int = 1) -> int | None:
    """Return -1, 0 or 1 when an expression has one sign for all integer sizes >= `lower`, else None.

    Every name is shifted by `lower`; if all coefficients then agree, so does the value. Sufficient, not necessary.

    Examples
    --------
    >>> from symacct.expr import read
    >>> sign(read("2*b*d - b")), sign(read("b - d")), sign(read("b*d - b - d + 1"), lower=2)
    (1, None, 1)

    """
    above, _ = whole_denominator(x)
    coefficients = list(terms_of(above).values())
    if not coefficients:
        return 0
    if not _positive_atoms(x):
        return None
    if _one_sign(coefficients) is None and not any(isinstance(a, Call) for m in terms_of(above) for a, _ in m):
        names = set(names_in(above))
        shifted = terms_of(substitute(above, {n: name(n) + lower for n in names}))
        coefficients = list(shifted.values()) or [0]
        constant = shifted.get((), 0)
        # a zero constant means equality at the lower corner: no strict sign
        if constant == 0 and _one_sign(coefficients) is not None:
            return 0 if coefficients == [0] else None
    return _one_sign(coefficients)


def at_most(a: Expr, b: Expr, lower: int = 1) -> bool:
    """Whether ``a <= b`` is proved for all sizes >= `lower`."""
    gap = add((b, -a))
    above, _ = whole_denominator(gap)
    terms = terms_of(above)
    if not _positive_atoms(gap):
        return False
    if all(c > 0 for c in terms.values()):
        return True
    if any(isinstance(x, Call) for m in terms for x, _ in m):
        return False
    shifted = terms_of(substitute(above, {n: name(n) + lower for n in set(names_in(above))}))
    return all(c > 0 for c in shifted.values())


def _positive_atoms(x: Expr) -> bool:
    """Whether every function is positive for sure: a difference in a denominator, log2(1) and floor(1/2) are not."""
    calls = [a for m in terms_of(x) for a, _ in m if isinstance(a, Call)]
    return all(a.function in ("ceil", "group") and sign(a.args[0]) == 1 for a in calls)


def _one_sign(coefficients: list[int | Fraction]) -> int | None:
    if all(c > 0 for c in coefficients):
        return 1
    return -1 if all(c < 0 for c in coefficients) else None


def inequality(smaller: Expr, larger: Expr) -> tuple[Expr, Expr]:
    """Return both sides of ``smaller < larger`` without common terms, as products or reciprocals: what is shorter.

    Examples
    --------
    >>> from symacct.expr import read
    >>> inequality(read("2*i*j*k + 2*i*k*l"), read("2*j*k*l + 2*i*j*l"))
    ((j + l)/(j*l), (i + k)/(i*k))

    """
    terms = terms_of(add((larger, -smaller)))
    left: Expr = add(multiply(-c, monomial(m)) for m, c in terms.items() if c < 0)
    right: Expr = add(multiply(c, monomial(m)) for m, c in terms.items() if c > 0)
    if len(terms_of(left)) == len(terms_of(right)) == 1:
        larger_side, smaller_side = whole_denominator(divide(right, left))
        return smaller_side, larger_side
    both = add((left, right))
    scale = min(_scales(both), key=lambda scale: _factors(multiply(both, scale)))
    return multiply(left, scale), multiply(right, scale)


def _factors(x: Expr) -> Fraction:
    """Return how many factors the terms have together."""
    return sum([abs(Fraction(e)) for m in terms_of(x) for _, e in m], Fraction(0))


def _scales(x: Expr) -> list[Expr]:
    """Return what to multiply by: one over the content and over what the monomials divide, or what divides them."""
    import math

    powers = [dict(m) for m in terms_of(x)]
    atoms = {a for m in powers for a in m if type(a) is str}  # positive, as a difference below a line may not be
    content = math.gcd(*(c.numerator for c in terms_of(x).values())) if powers else 1
    out = []
    for choose in (max, min):
        chosen = {a: choose(m.get(a, 0) for m in powers) for a in atoms}
        inverse = tuple(sorted((a, -e) for a, e in chosen.items() if e))
        out.append(multiply(Fraction(1, content or 1), monomial(inverse)))
    return out


def derivative(x: Expr, symbol: str) -> Expr:
    """Return the derivative by a name that stands only in plain powers.

    Examples
    --------
    >>> from symacct.expr import read
    >>> derivative(read("b*d**2 + k"), "d")
    2*b*d

    """
    degree(x, symbol)
    powers = [(m, c, dict(m).get(symbol, 0)) for m, c in terms_of(x).items()]
    return add(multiply(c * e, monomial(join(m, ((symbol, -1),)))) for m, c, e in powers if e)
