"""A formula with min, max, logarithms and powers of names, as sympy has it: for trees that are no exact sum."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any

from symacct.expr.border import Sympy, symbol
from symacct.expr.tree import Leaf, Tree

FUNCTIONS = {
    "ceil": "ceiling",
    "floor": "floor",
    "sqrt": "sqrt",
    "min": "Min",
    "max": "Max",
    "log": "log",
    "abs": "Abs",
    "order": "Order",
}


def to_sympy(tree: Tree) -> Sympy:
    """Return the sympy form of a tree of sums, products, powers and the functions above.

    A sum holds its subtracted terms as ``-``, a product its divisors as ``/`` nodes of one part; ``if`` is its third
    part where the first is at most the second, else its fourth.

    Examples
    --------
    >>> from symacct.expr.reader import parse
    >>> to_sympy(parse("2*B*D + 1"))
    2*B*D + 1

    """
    import sympy

    if isinstance(tree, Leaf):
        if tree.kind == "name":
            return symbol(tree.text)
        x = Fraction(tree.text)
        return sympy.Rational(x.numerator, x.denominator)
    parts: list[Any] = [to_sympy(p) for p in tree.parts]
    if tree.operator == "+":
        return sympy.Add(*parts)
    if tree.operator == "*":
        return sympy.Mul(*parts)
    if tree.operator == "**":
        return parts[0] ** parts[1]
    if tree.operator == "-":
        return -parts[0]
    if tree.operator == "if":
        return sympy.Piecewise((parts[2], parts[0] <= parts[1]), (parts[3], True))
    if tree.operator == "/":
        return 1 / parts[0] if len(parts) == 1 else reduce(lambda a, b: a / b, parts)
    return getattr(sympy, FUNCTIONS[tree.operator])(*parts)
