"""Rounding and other functions of sizes, kept exact: `ceil(d/16)` stays until `d` is known."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from symacct.errors import ExpressionError
from symacct.expr.division import divide
from symacct.expr.poly import (
    Call,
    Expr,
    Monomial,
    Number,
    Poly,
    add,
    atom,
    call,
    from_terms,
    monomial,
    multiply,
    names_in,
    terms_of,
    whole,
)
from symacct.expr.powers import power


def ceildiv(a: Expr, b: Expr) -> Expr:
    """Return ``ceil(a / b)``: an integer when both are numbers, an exact quotient when it divides, else the function.

    Parameters
    ----------
    a, b
        Numbers or expressions in sizes; a name is a whole number from 1 on.

    Returns
    -------
    A number, or an expression, in which whole parts stand outside the function.

    Raises
    ------
    ExpressionError
        For a division by zero.

    Examples
    --------
    >>> from symacct.expr import name
    >>> ceildiv(17, 16), ceildiv(name("d"), 16), ceildiv(32 * name("d"), 16)
    (2, ceil(d/16), 2*d)

    """
    return _rounded("ceil", a, b)


def floordiv(a: Expr, b: Expr) -> Expr:
    """Return ``floor(a / b)``, exact like `ceildiv`.

    Parameters
    ----------
    a, b
        Numbers or expressions in sizes; a name is a whole number from 1 on.

    Returns
    -------
    A number, or an expression, in which whole parts stand outside the function.

    Raises
    ------
    ExpressionError
        For a division by zero.

    Examples
    --------
    >>> from symacct.expr import name
    >>> floordiv(17, 16), floordiv(name("s") + 4, 2)
    (1, floor(s/2) + 2)

    """
    return _rounded("floor", a, b)


def _rounded(function: str, a: Expr, b: Expr) -> Expr:
    if b == 0:
        msg = f"{function} of a division by zero"
        raise ExpressionError(msg)
    ratio = divide(a, b)
    if not isinstance(ratio, Poly):
        return -(-ratio // 1) if function == "ceil" else ratio // 1
    outside: dict[Monomial, Number] = {m: c for m, c in ratio.terms.items() if type(c) is int and _is_whole(m)}
    inside = {m: c for m, c in ratio.terms.items() if m not in outside}
    if not inside:
        return ratio
    return add((from_terms(outside), _atom_of(function, from_terms(inside))))


def _atom_of(function: str, x: Expr) -> Expr:
    if isinstance(x, Poly):
        return atom(call(function, x))
    return -(-x // 1) if function == "ceil" else x // 1


def _is_whole(m: Monomial) -> bool:
    """Whether a monomial of sizes is a whole number: names and roundings to natural powers."""
    return all(type(e) is int and e > 0 and not (isinstance(a, Call) and a.function not in ROUNDINGS) for a, e in m)


ROUNDINGS = ("ceil", "floor")


def sqrt(x: Expr) -> Expr:
    """Return the square root: exact for squares, else the power 1/2."""
    return power(x, Fraction(1, 2))


def log2(x: Expr) -> Expr:
    """Return the logarithm to base 2: a number for powers of two, else the function; of 6/5, log2(3) - log2(5) + 1."""
    if isinstance(x, Poly):
        return atom(call("log2", x))
    if x <= 0:
        msg = f"log2 of {x}, which is not positive"
        raise ExpressionError(msg)
    out: Expr = 0
    for sign, part in ((1, x.numerator), (-1, x.denominator)):
        twos = (part & -part).bit_length() - 1
        odd = part >> twos
        out = add((out, sign * twos, multiply(sign, atom(call("log2", odd))) if odd > 1 else 0))
    return out


FUNCTIONS: dict[str, tuple[int, Callable[..., Expr]]] = {
    "ceil": (1, lambda x: ceildiv(x, 1)),
    "ceiling": (1, lambda x: ceildiv(x, 1)),
    "floor": (1, lambda x: floordiv(x, 1)),
    "ceildiv": (2, ceildiv),
    "floordiv": (2, floordiv),
    "sqrt": (1, sqrt),
    "log2": (1, log2),
}


def apply(function: str, args: tuple[Expr, ...]) -> Expr:
    """Apply a function atom's function to new arguments."""
    return args[0] if function == "group" else FUNCTIONS[function][1](*args)


def degree(x: Expr, symbol: str) -> int | Fraction:
    """Return the highest power of a name, where the expression is a sum of its powers.

    Raises
    ------
    ExpressionError
        Where the name also stands inside a function such as ceil.

    """
    for m in terms_of(x):
        for a, _ in m:
            if isinstance(a, Call) and symbol in {n for arg in a.args for n in names_in(arg)}:
                msg = f"{symbol} stands inside {a}; its leading power is not a plain exponent"
                raise ExpressionError(msg)
    return max((whole(dict(m).get(symbol, 0)) for m in terms_of(x)), default=0)


def coefficient(x: Expr, symbol: str, exponent: int | Fraction) -> Expr:
    """Return the factor of `symbol ** exponent`."""
    picked = [(m, c) for m, c in terms_of(x).items() if dict(m).get(symbol, 0) == exponent]
    return add(multiply(c, monomial(tuple(p for p in m if p[0] != symbol))) for m, c in picked)
