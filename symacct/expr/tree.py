"""A parsed expression and what it works out to, within limits on numbers and on work."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from symacct.errors import ExpressionError, caret
from symacct.expr.division import divide
from symacct.expr.functions import FUNCTIONS, floordiv
from symacct.expr.poly import Expr, Number, Poly, add, magnitude, multiply, name, terms_of
from symacct.expr.powers import power

MAX_POWER = 64
MAX_DIGITS = 1_000
MAX_BITS = 3_322
MAX_WORK = 200_000


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number or a name, with its place in the text."""

    kind: str
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Node:
    """An operator or function applied to parts; `start` is the place of its symbol in the text."""

    operator: str
    parts: tuple[Tree, ...]
    start: int


Tree: TypeAlias = "Leaf | Node"


def value(tree: Tree, text: str) -> Expr:
    """Work out a tree; `text` is what it was read from, for the caret of an error."""
    return _value(tree, text, [MAX_WORK])


def _value(tree: Tree, text: str, left: list[int]) -> Expr:
    chain: list[Node] = []
    while isinstance(tree, Node):  # a long product nests to the left, so there is no recursion on that side
        chain.append(tree)
        tree = tree.parts[0]
    out = _number(tree, text) if tree.kind == "number" else _name(tree, text)
    for node in reversed(chain):
        rest = node.parts[1:] if node.operator != "/" else _factors(node.parts[1])
        parts = [out, *(_value(part, text, left) for part in rest)]
        try:
            out = _apply(node, parts)
            _charge(left, node, parts, out)
        except ExpressionError as error:
            if "\n" in str(error):
                raise
            raise error_at(text, node.start, str(error)) from None
    return out


def _factors(divisor: Tree) -> list[Tree]:
    """Return what a divisor multiplies: each is divided by on its own, else a product of sums would be expanded."""
    todo, out = [divisor], []
    while todo:
        part = todo.pop()
        if isinstance(part, Node) and part.operator == "*":
            todo += reversed(part.parts)
        elif isinstance(part, Node) and (exponent := _exponent_of_sum(part)):
            out += [part.parts[0]] * exponent
        else:
            out.append(part)
    return out


def _exponent_of_sum(node: Node) -> int:
    """Return the exponent of a sum to a small whole power, else 0."""
    base, exponent = node.parts[0], node.parts[-1]
    if node.operator != "**" or not isinstance(base, Node) or base.operator != "+" or not isinstance(exponent, Leaf):
        return 0
    return int(exponent.text) if exponent.text.isdecimal() and len(exponent.text) < 3 else 0


def _name(leaf: Leaf, text: str) -> Poly:
    if not leaf.text.isidentifier():  # a superscript two is no digit, but becomes one when normalised
        raise error_at(text, leaf.start, f"{leaf.text[:40]!r} is not a name; a power is written a**2", len(leaf.text))
    return name(unicodedata.normalize("NFKC", leaf.text))


def _charge(left: list[int], node: Node, parts: list[Expr], out: Expr) -> None:
    """Take what a step cost off what is left: one text may not keep us busy for long."""
    terms = terms_of(out)
    tries = len(terms_of(parts[0])) * sum(len(terms_of(p)) for p in parts[1:]) if node.operator in "*/" else len(terms)
    if node.operator == "**":
        tries *= 1 + int(magnitude(parts[1]))  # type: ignore[arg-type]
    left[0] -= 4 * tries + sum(len(m) for m in terms)
    if left[0] < 0:
        raise ExpressionError("too much to work out; give some sizes as numbers")
    if any(max(c.numerator.bit_length(), c.denominator.bit_length()) > MAX_BITS for c in terms.values()):
        raise ExpressionError(f"a number of more than {MAX_DIGITS} digits")


def _apply(node: Node, parts: list[Expr]) -> Expr:
    if node.operator == "+":
        return add(parts)
    if node.operator == "-":
        return -parts[0]
    if node.operator == "*":
        return multiply(parts[0], parts[1])
    if node.operator == "/":
        return reduce(divide, parts)
    if node.operator == "//":
        return floordiv(parts[0], parts[1])
    if node.operator == "**":
        return _power(parts[0], parts[1])
    return FUNCTIONS[node.operator][1](*parts)


def _power(base: Expr, exponent: Expr) -> Expr:
    if isinstance(exponent, Poly):
        msg = "an exponent is a number here, not a name"
        raise ExpressionError(msg)
    if isinstance(base, Poly) and magnitude(exponent) > MAX_POWER:
        msg = f"a power above {MAX_POWER} of an expression"
        raise ExpressionError(msg)
    return power(base, exponent)


def _number(leaf: Leaf, text: str) -> Number:
    digits, _, exponent = leaf.text.lower().partition("e")
    if len(digits) > MAX_DIGITS or len(exponent) > 5 or abs(int(exponent or 0)) > MAX_DIGITS:
        raise error_at(text, leaf.start, f"a number of more than {MAX_DIGITS} digits")
    x = Fraction(digits.replace("_", "")) * Fraction(10) ** int(exponent or 0)
    return x.numerator if x.denominator == 1 else x


def error_at(text: str, start: int, what: str, length: int = 1) -> ExpressionError:
    """Make the error of a text that does not read, with a caret under the culprit."""
    shown = f"cannot read the expression: {what}"
    return ExpressionError(f"{shown}\n{caret(text, start, start + length)}")
