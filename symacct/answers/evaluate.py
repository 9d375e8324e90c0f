"""The number that a tree is at given sizes: exact fractions, roots and logarithms to 40 digits; work is bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from symacct.errors import AnswerError
from symacct.expr.tree import Leaf, Node, Tree

MAX_BITS = 6_000
WORK = 400_000
_SCALE = 1 << 140
_INEXACT = frozenset(["sqrt", "log"])
_DIGITS = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN)
_NOISE = Fraction(1, 10**35)
"""How near to a whole number a root or logarithm is one before it is rounded up or down."""


class UndefinedValueError(AnswerError):
    """A division by zero, or a root or logarithm of what has none."""


class TooLargeError(AnswerError):
    """A number that is too large to work out."""

    def __init__(self) -> None:
        """Say so."""
        super().__init__("cannot read the answer: a number too large to work out")


def evaluate(tree: Tree, sizes: Mapping[str, Fraction | int]) -> Fraction:
    """Return the value of a tree.

    Raises
    ------
    AnswerError
        For a number that is too large to work out.
    UndefinedValueError
        Where it has no value at these sizes.

    Examples
    --------
    >>> from symacct.expr.reader import parse
    >>> evaluate(parse("n/3 - 1/6"), {"n": 2})
    Fraction(1, 2)

    """
    return Fraction(_value(tree, sizes, [WORK]))


def close(given: Fraction, wanted: Fraction, tolerance: Fraction) -> bool:
    """Whether two numbers agree, relatively to the second."""
    return abs(given - wanted) <= tolerance * abs(wanted)


def is_exact(tree: Tree) -> bool:
    """Whether the values of a tree are exact: no roots, no logarithms, whole exponents."""
    if isinstance(tree, Leaf):
        return True
    if tree.operator == "**" and not _is_whole(tree.parts[1]):
        return False
    return tree.operator not in _INEXACT and all(is_exact(p) for p in tree.parts)


def _is_whole(tree: Tree) -> bool:
    if isinstance(tree, Node) and tree.operator == "-":
        return _is_whole(tree.parts[0])
    return isinstance(tree, Leaf) and (tree.kind == "name" or Fraction(number(tree)).denominator == 1)


def number(leaf: Leaf) -> Fraction:
    """Return the exact value of a number's text.

    Raises
    ------
    AnswerError
        For one of more than some 1,800 digits.

    """
    return _literal(leaf.text)


@lru_cache(maxsize=1024)
def _literal(text: str) -> Fraction:
    digits, _, power = text.partition("e")
    if len(digits) > 400 or len(power) > 5 or abs(int(power or 0)) > 400:
        raise AnswerError("cannot read the answer: a number of more than 400 digits")
    return Fraction(digits) * Fraction(10) ** int(power or 0)


def _value(tree: Tree, sizes: Mapping[str, Fraction | int], left: list[int]) -> Fraction | int:
    """Return a value; whole numbers stay plain integers on the way, which is much faster."""
    if isinstance(tree, Leaf):
        return _literal(tree.text) if tree.kind == "number" else _size(tree.text, sizes)
    out = _apply(tree, [_value(part, sizes, left) for part in tree.parts], left)
    bits = out.numerator.bit_length() + out.denominator.bit_length()
    left[0] -= 40 + bits
    if bits > MAX_BITS or left[0] < 0:
        raise TooLargeError
    return out


def _size(name: str, sizes: Mapping[str, Fraction | int]) -> Fraction | int:
    if name not in sizes:
        raise AnswerError(f"no size for {name}")
    return sizes[name]


def _apply(node: Node, parts: list[Fraction | int], left: list[int]) -> Fraction | int:
    if node.operator == "*":
        return _product(parts, left)
    if node.operator == "/":
        return _quotient(parts[0] if len(parts) > 1 else 1, parts[-1])
    if node.operator == "+":
        return sum(parts)
    if node.operator == "if":
        return parts[2] if parts[0] <= parts[1] else parts[3]
    if node.operator in ("min", "max"):
        return min(parts) if node.operator == "min" else max(parts)
    if node.operator in ("ceil", "floor"):
        return _rounded(node.operator, parts[0], exact=is_exact(node.parts[0]))
    if node.operator == "**":
        return _power(*parts)
    if node.operator not in _UNARY:
        raise AnswerError(f"cannot read the answer: {node.operator} inside a formula")
    return _UNARY[node.operator](parts[0])


def _product(parts: list[Fraction | int], left: list[int]) -> Fraction | int:
    above, below = 1, 1
    for part in parts:
        above *= part.numerator
        below *= part.denominator
        bits = above.bit_length() + below.bit_length()
        left[0] -= 10 + bits // 8
        if bits > 2 * MAX_BITS or left[0] < 0:
            raise TooLargeError
    return above if below == 1 else Fraction(above, below)


def _quotient(above: Fraction | int, below: Fraction | int) -> Fraction:
    if below == 0:
        raise UndefinedValueError("cannot read the answer: a division by zero")
    return Fraction(above, below)


def _power(base: Fraction | int, exponent: Fraction | int) -> Fraction | int:
    if not -MAX_BITS <= exponent <= MAX_BITS:
        raise TooLargeError
    if exponent.denominator == 1:
        whole = exponent.numerator
        if base == 0 and whole < 0:
            raise UndefinedValueError("cannot read the answer: a division by zero")
        if abs(whole) * max(base.numerator.bit_length() - 1, base.denominator.bit_length() - 1) > MAX_BITS:
            raise TooLargeError
        return base**whole if whole >= 0 else Fraction(base) ** whole
    if base <= 0:
        if base == 0 and exponent > 0:
            return Fraction(0)
        raise UndefinedValueError("cannot read the answer: a root of a negative number")
    if exponent.denominator <= 12:
        return _power(_root(base, exponent.denominator), Fraction(exponent.numerator))
    return _fraction(_DIGITS.power(_decimal(base), _decimal(exponent)))


def _root(x: Fraction | int, degree: int) -> Fraction:
    """Return a root: exact where it is a fraction, else to 140 bits more than it has."""
    if x < 0:
        raise UndefinedValueError("cannot read the answer: a root of a negative number")
    above, below = (_integer_root(v, degree) for v in (x.numerator, x.denominator))
    if above**degree == x.numerator and below**degree == x.denominator:
        return Fraction(above, below)
    scale = _SCALE * (1 << max(0, (x.denominator.bit_length() - x.numerator.bit_length()) // degree))
    return Fraction(_integer_root(x.numerator * scale**degree // x.denominator, degree), scale)


def _integer_root(value: int, degree: int) -> int:
    if degree == 2:
        return math.isqrt(value)
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle - 1)
    return low


def _log(x: Fraction | int) -> Fraction:
    if x <= 0:
        raise UndefinedValueError("cannot read the answer: a logarithm of what is not positive")
    return Fraction(_DIGITS.ln(_decimal(x)))


def _decimal(x: Fraction | int) -> Decimal:
    return _DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator))


def _fraction(x: Decimal) -> Fraction:
    if abs(x.adjusted()) > MAX_BITS // 3:
        raise TooLargeError
    return Fraction(x)


def _rounded(operator: str, x: Fraction | int, *, exact: bool) -> int:
    near = round(x)
    if not exact and -_NOISE < x - near < _NOISE:
        return near
    return math.ceil(x) if operator == "ceil" else math.floor(x)


_UNARY: dict[str, Callable[[Fraction | int], Fraction | int]] = {
    "-": lambda x: -x,
    "abs": lambda x: max(x, -x),
    "sqrt": lambda x: _root(x, 2),
    "log": _log,
}
