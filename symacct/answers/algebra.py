"""A tree as an exact expression, so that two can be compared by algebra.

What a sum of products cannot hold (min, max, logarithms, a power of names) stands in it as one name, its canonical
text: equal arguments give equal names, so the algebra around them still decides.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from symacct.answers.evaluate import MAX_BITS, number
from symacct.errors import AnswerError, SymacctError
from symacct.expr import Call, Expr, Poly, add, ceildiv, divide, floordiv, multiply, name, power, terms_of, to_text
from symacct.expr.poly import magnitude
from symacct.expr.tree import Leaf, Node, Tree

WORK = 4_000
_MAX_POWER = 24


class TooMuchError(AnswerError):
    """Multiplying out would take too long; numbers have to decide."""


def expression(tree: Tree) -> Expr:
    """Return a tree multiplied out.

    Raises
    ------
    TooMuchError
        Where that has too many terms.
    SymacctError
        Where it has no value, as in a division by zero.

    Examples
    --------
    >>> from symacct.expr.reader import parse
    >>> expression(parse("2*B*(D + K)"))
    2*B*(D + K)

    """
    return _expression(tree, [WORK])


def expanded(tree: Tree) -> Expr | None:
    """Return a tree multiplied out, or nothing where that takes too long or has no value."""
    try:
        return expression(tree)
    except SymacctError:
        return None


def is_opaque(x: str | Call) -> bool:
    """Whether a name stands for a function of sizes, or for a sum below a fraction."""
    return isinstance(x, Call) or not x.isidentifier()


def _expression(tree: Tree, left: list[int]) -> Expr:
    if isinstance(tree, Leaf):
        if tree.kind == "name":
            return name(tree.text)
        x = number(tree)
        return x.numerator if x.denominator == 1 else x
    if tree.operator == "*":
        return _product(tree, left)
    parts = [_expression(p, left) for p in tree.parts]
    _charge(left, sum(len(terms_of(p)) for p in parts))
    if tree.operator == "**":
        return _power(parts[0], parts[1], left)
    if tree.operator == "sqrt":
        return _power(parts[0], Fraction(1, 2), left)
    if tree.operator == "/":
        _charge(left, len(terms_of(parts[-1])) ** 2)
        return divide(parts[0] if len(parts) > 1 else 1, parts[-1])
    if tree.operator in _EXACT:
        return _EXACT[tree.operator](parts)
    return _opaque(tree, parts)


_EXACT: dict[str, Callable[[list[Expr]], Expr]] = {
    "+": add,
    "-": lambda parts: multiply(-1, parts[0]),
    "ceil": lambda parts: ceildiv(parts[0], 1),
    "floor": lambda parts: floordiv(parts[0], 1),
}


def _product(tree: Node, left: list[int]) -> Expr:
    """Multiply what stands above, then divide by each factor below, as sums below are kept unexpanded."""
    out: Expr = 1
    below: list[Tree] = []
    for part in tree.parts:
        if isinstance(part, Node) and part.operator == "/" and len(part.parts) == 1:
            under = part.parts[0]
            below += under.parts if isinstance(under, Node) and under.operator == "*" else (under,)
            continue
        factor = _expression(part, left)
        _charge(left, len(terms_of(out)) * len(terms_of(factor)))
        out = multiply(out, factor)
    for part in below:
        divisor = _expression(part, left)
        _charge(left, len(terms_of(divisor)) * (len(terms_of(out)) + len(terms_of(divisor))))
        out = divide(out, divisor)
    return out


def _power(base: Expr, exponent: Expr, left: list[int]) -> Expr:
    if isinstance(exponent, Poly):
        return name(f"{_bracketed(base)}**{_bracketed(exponent)}")
    if not isinstance(base, Poly):
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if magnitude(exponent) * bits > MAX_BITS:
            raise AnswerError("cannot read the answer: a number too large to work out")
    elif magnitude(exponent) > _MAX_POWER:
        raise TooMuchError("a power with too many terms")
    else:
        _charge(left, len(terms_of(base)) ** min(6, int(magnitude(exponent)) + 1))
    return power(base, exponent)


def _bracketed(x: Expr) -> str:
    text = to_text(x)
    return text if text.isalnum() else f"({text})"


def _charge(left: list[int], work: int) -> None:
    left[0] -= work
    if left[0] < 0:
        raise TooMuchError("too much to multiply out")


def _opaque(tree: Node, parts: list[Expr]) -> Expr:
    if tree.operator in ("min", "max"):
        return _extreme(tree.operator, parts)
    if tree.operator not in ("log", "abs", "if"):
        raise SymacctError(f"{tree.operator} is no part of a formula")
    if tree.operator == "log" and parts[0] == 1:
        return 0
    return name(f"{tree.operator}({', '.join(to_text(p) for p in parts)})")


def _extreme(function: str, parts: list[Expr]) -> Expr:
    unique = sorted({to_text(p): p for p in parts}.items())
    if len(unique) == 1:
        return unique[0][1]
    if not any(isinstance(p, Poly) for _, p in unique):
        values = [p for _, p in unique]
        return (min if function == "min" else max)(values)  # type: ignore[type-var]
    return name(f"{function}({', '.join(text for text, _ in unique)})")
