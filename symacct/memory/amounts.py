"""What a person gives for an amount: a number, text with a unit, or a name that stands for one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from symacct.errors import ExpressionError, SizeError
from symacct.expr import Expr, Poly, from_sympy, read
from symacct.units import quantity


def amount(what: str, given: Any, unit: str) -> Expr:
    """Read an amount: a name or an expression in names, or a quantity in a unit.

    Raises
    ------
    SizeError
        For nothing, or less; for a part of something that is counted.

    Examples
    --------
    >>> amount("memory", "80 GB", "B"), amount("memory", "2*M", "B")
    (80000000000, 2*M)

    """
    if isinstance(given, str):
        try:
            formula = read(given)
        except ExpressionError:
            formula = None
        if isinstance(formula, Poly):
            return formula
    elif type(given).__module__.partition(".")[0] == "sympy":
        return from_sympy(given)
    value = quantity(given, unit).value
    exact = Fraction(str(value)) if isinstance(value, float) else value
    if exact <= 0:
        msg = f"{what} is {given!r}; it must be more than nothing"
        raise SizeError(msg)
    if unit != "B" and exact.denominator != 1:
        msg = f"{what} is {given!r}; it is a count, a whole number"
        raise SizeError(msg)
    return exact
