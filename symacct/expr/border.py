"""The one door to sympy: what users get and give are ordinary sympy expressions over plain symbols."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from fractions import Fraction
from functools import cmp_to_key, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from symacct.errors import ExpressionError
from symacct.expr.division import divide
from symacct.expr.functions import ceildiv, floordiv, log2
from symacct.expr.poly import (
    Call,
    Expr,
    Monomial,
    Number,
    Poly,
    add,
    multiply,
    name,
    names_in,
    product,
    terms_of,
    whole,
)
from symacct.expr.powers import power, split_content
from symacct.expr.printer import to_text
from symacct.expr.signs import at_most

if TYPE_CHECKING:
    import sympy

    Sympy: TypeAlias = sympy.Expr
    SympySymbol: TypeAlias = sympy.Symbol
else:
    Sympy = SympySymbol = Any

MAX_POWER = 64
_LN2 = "ln 2"
"""Stands for log(2) until it cancels, as in log(n)/log(2); no name of a user has a space."""


@lru_cache(maxsize=4096)
def symbol(text: str) -> sympy.Symbol:
    """Return the plain sympy symbol of a name, so that `sympy.symbols` matches an answer."""
    import sympy

    return sympy.Symbol(text)


@lru_cache(maxsize=8192)
def to_sympy(x: Expr) -> sympy.Expr:
    """Return the sympy form: common monomial in front, sums expanded.

    Examples
    --------
    >>> from symacct.expr import read
    >>> to_sympy(read("2*b*d*k - b*k"))
    b*k*(2*d - 1)

    """
    import sympy

    if not isinstance(x, Poly):
        return sympy.Rational(x.numerator, x.denominator) if isinstance(x, Fraction) else sympy.Integer(x)
    if len(x.terms) == 1:
        ((m, c),) = x.terms.items()
        return _term(m, c)
    content, common, rest = split_content(x)
    terms = [_term(m, whole(c * content)) for m, c in terms_of(rest).items()]
    inside = _joined(sympy.Add, terms) if _only_names(rest) else sympy.Add(*terms)
    if not common:
        return inside
    factors = [*(_sympy_power(a, e) for a, e in common), inside]
    return _joined(sympy.Mul, factors) if _only_names(x) else sympy.Mul(*factors)


def _term(m: Monomial, c: Number) -> Any:
    import sympy

    factors = [_sympy_power(a, e) for a, e in m]
    if c == 1 and len(factors) == 1:
        return factors[0]
    if any(isinstance(a, Call) for a, _ in m):
        return sympy.Mul(to_sympy(c), *factors)
    if not m:
        return to_sympy(c)
    return _joined(sympy.Mul, factors if c == 1 else [to_sympy(c), *factors])


def _joined(kind: Any, args: list[Any]) -> Any:
    """Return a sum or product of parts that nothing can be simplified in, sorted as sympy sorts them.

    sympy's own constructors look for things to simplify first, 70 us for ``2*b*d*k``, ten times what the rest takes;
    the result is the same to the last argument and hash (tested on random expressions).
    """
    from sympy import Basic

    numbers = [a for a in args if a.is_Number]
    rest = [a for a in args if not a.is_Number]
    if not all(a.is_Symbol for a in rest):  # symbols come sorted by name, as sympy sorts them
        rest.sort(key=cmp_to_key(Basic.compare))
    return kind._from_args((*numbers, *rest), True)  # noqa: FBT003, SLF001 # True: all parts commute


def _only_names(x: Expr) -> bool:
    return not any(isinstance(a, Call) for m in terms_of(x) for a, _ in m)


def _sympy_power(base: str, exponent: int | Fraction) -> Any:
    import sympy

    if not isinstance(base, Call):
        out: Any = symbol(base)
    else:
        args = [to_sympy(a) for a in base.args]
        out = {
            "ceil": sympy.ceiling,
            "floor": sympy.floor,
            "log2": lambda a: sympy.log(a, 2),
            "group": lambda a: a,
        }[base.function](*args)
    return out if exponent == 1 else out ** to_sympy(exponent)


def from_sympy(x: Any) -> Expr:
    """Return the exact expression of a sympy one; symbols are merged by name, assumptions are ours.

    Raises
    ------
    ExpressionError
        For parts outside the exact forms kept here: floats, infinities, unknown functions.

    Examples
    --------
    >>> import sympy
    >>> from_sympy(sympy.Symbol("n", positive=True) / 3 - sympy.Rational(1, 6))
    (2*n - 1)/6

    """
    out = _exact(x)
    if _LN2 in names_in(out):
        msg = f"{x} has a natural logarithm; only log2 is kept exactly"
        raise ExpressionError(msg)
    return out


def _exact(x: Any) -> Expr:
    import sympy

    if isinstance(x, int | Fraction):
        return whole(x)
    if isinstance(x, sympy.Symbol):
        if not x.name.isidentifier():
            msg = f"the symbol {x.name!r} is not a name; a name has letters, digits and underscores"
            raise ExpressionError(msg)
        return name(unicodedata.normalize("NFKC", x.name))
    if isinstance(x, sympy.Rational):
        return int(x.p) if x.q == 1 else Fraction(int(x.p), int(x.q))
    if isinstance(x, sympy.Add):
        return add(_exact(a) for a in x.args)
    if isinstance(x, sympy.Mul):
        return _product(x)
    if isinstance(x, sympy.Pow) and isinstance(x.exp, sympy.Rational):
        return power(_exact(x.base), Fraction(int(x.exp.p), int(x.exp.q)))
    if isinstance(x, sympy.ceiling | sympy.floor):
        rounded = ceildiv if isinstance(x, sympy.ceiling) else floordiv
        return rounded(_exact(x.args[0]), 1)
    if isinstance(x, sympy.log):
        return multiply(log2(_exact(x.args[0])), name(_LN2))
    msg = f"{x} ({type(x).__name__}) is outside the exact forms: sums, products, rational powers, ceil, floor, log2"
    raise ExpressionError(msg)


def _product(x: Any) -> Expr:
    """Multiply what stands above, then divide by what stands below factor by factor, as it is kept."""
    import sympy

    below = [a for a in x.args if isinstance(a, sympy.Pow) and isinstance(a.base, sympy.Add) and a.exp.is_negative]
    below = [a for a in below if isinstance(a.exp, sympy.Integer) and abs(a.exp) <= MAX_POWER]
    out = product(_exact(a) for a in x.args if a not in below)
    for a in below:
        for _ in range(-int(a.exp)):
            out = divide(out, _exact(a.base))
    return out


def common_factor(a: Poly, b: Poly) -> Expr:
    """Return the greatest common divisor of two sums with natural exponents."""
    import sympy

    return from_sympy(sympy.gcd(to_sympy(a), to_sympy(b)).expand())


def positive_roots(x: Expr, unknown: str) -> tuple[sympy.Expr, ...]:
    """Return the positive real roots of an expression in one name: numbers exactly isolated, or closed forms.

    With other names present, roots that are not positive for some sizes are kept; only provably negative ones go.

    Examples
    --------
    >>> from symacct.expr import read
    >>> positive_roots(read("n**2 - 5*n + 6"), "n"), positive_roots(read("d*n - b"), "n")
    ((2, 3), (b/d,))

    """
    import sympy

    free = sorted(set(names_in(x)))
    if unknown not in free:
        return ()
    plain = {n: sympy.Dummy(n, positive=True) for n in free}
    form = to_sympy(x).xreplace({symbol(n): d for n, d in plain.items()})
    if len(free) == 1:
        found = [r for r in sympy.real_roots(sympy.Poly(form, plain[unknown])) if r.is_positive or sympy.N(r) > 0]
    else:
        found = [r for r in sympy.roots(sympy.Poly(form, plain[unknown])) if r.is_positive is not False]
    back = {d: symbol(n) for n, d in plain.items()}
    return tuple(dict.fromkeys(sympy.factor(r.xreplace(back)) if len(free) > 1 else r for r in found))


def to_json(x: Expr) -> dict[str, Any]:
    """Return an expression as JSON-able data: text for our reader, srepr for sympy, and its names.

    Examples
    --------
    >>> from symacct.expr import read
    >>> to_json(read("2*E"))
    {'text': '2*E', 'srepr': "Mul(Integer(2), Symbol('E'))", 'symbols': ['E']}

    """
    import sympy

    return {"text": to_text(x), "srepr": sympy.srepr(to_sympy(x)), "symbols": sorted(set(names_in(x)))}


def infinity() -> Any:
    """Return sympy's infinity, the limit of what grows without bound."""
    import sympy

    return sympy.oo


def maximum(*of: Expr) -> Any:
    """Return the largest in sympy's form; what another is at least as large as at all sizes is left out.

    Examples
    --------
    >>> from symacct.expr import name
    >>> maximum(name("n"), 2 * name("n"), name("m")), minimum(1, name("n") / 2)
    (Max(m, 2*n), Min(1, n/2))

    """
    import sympy

    return _extreme(sympy.Max, of, lambda a, b: at_most(b, a))


def minimum(*of: Expr) -> Any:
    """Return the smallest in sympy's form; see `maximum`."""
    import sympy

    return _extreme(sympy.Min, of, at_most)


def _extreme(function: Any, of: tuple[Expr, ...], rules: Callable[[Expr, Expr], bool]) -> Any:
    """Leave out what is ruled out by another, and let sympy compare no further: it would try long."""
    left: list[Expr] = []
    for x in dict.fromkeys(of):
        if not any(rules(other, x) for other in left):
            left = [other for other in left if not rules(x, other)] + [x]
    return to_sympy(left[0]) if len(left) == 1 else function(*map(to_sympy, left), evaluate=False)
