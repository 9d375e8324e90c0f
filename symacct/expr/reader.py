"""Text -> expression, by our own small grammar; nothing a person writes is ever evaluated as code.

sum     = product (("+" | "-") product)*
product = signed (("*" | "/" | "//") signed)*
signed  = ("+" | "-") signed | power
power   = operand (("**" | "^") signed)?
operand = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from symacct.errors import ExpressionError, SizeError, caret, nearest, one_of
from symacct.expr.division import divide
from symacct.expr.functions import FUNCTIONS, floordiv
from symacct.expr.poly import Expr, Number, Poly, add, magnitude, multiply, name, terms_of
from symacct.expr.powers import power

MAX_LENGTH = 10_000
MAX_DEPTH = 100
MAX_POWER = 64
MAX_DIGITS = 1_000
MAX_WORK = 400_000

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[^\W\d]\w*)|(?P<op>\*\*|//|[-+*/^(),]))"
)


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


@lru_cache(maxsize=4096)
def read(text: str) -> Expr:
    """Read text as an exact expression in names.

    Parameters
    ----------
    text
        Such as ``"4*k"``, ``"h*k + 1"``, ``"ceil(s/128)"``, ``"n/3 - 1/6"``.

    Raises
    ------
    ExpressionError
        With a caret under the first character that does not fit.

    Examples
    --------
    >>> read("2*(x + y)"), read("2^10"), read("ceil(17/4)")
    (2*(x + y), 1024, 5)

    """
    return value(parse(text), text)


def read_size(text: str) -> int | Poly:
    """Read the size of an axis: a positive integer, a name, or an expression in names.

    Raises
    ------
    SizeError
        For a constant that is not a positive integer.

    Examples
    --------
    >>> read_size("4*k"), read_size("128")
    (4*k, 128)

    """
    x = read(text)
    if isinstance(x, Poly):
        return x
    if type(x) is not int or x < 1:
        msg = f"the size {text!r} is {x}; a size is a positive integer, a name, or an expression in names"
        raise SizeError(msg)
    return x


def parse(text: str) -> Tree:
    """Read text into a tree of `Leaf` and `Node`, the form that every reader here shares."""
    if len(text) > MAX_LENGTH:
        msg = f"an expression of {len(text):,} characters; at most {MAX_LENGTH:,} are read"
        raise ExpressionError(msg)
    return _Parser(text).parse()


class _Parser:
    """A recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0

    def parse(self) -> Tree:
        tree = self.sum()
        kind, shown, start = self.tokens[self.at]
        if kind != "end":
            hint = "; write products with *, as in 4*k" if kind in ("name", "number") or shown == "(" else ""
            raise _error(self.text, start, f"did not expect {shown!r} here{hint}", max(1, len(shown)))
        return tree

    def take(self, *symbols: str) -> tuple[str, int] | None:
        kind, shown, start = self.tokens[self.at]
        if kind == "op" and shown in symbols:
            self.at += 1
            return shown, start
        return None

    def sum(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _error(self.text, self.tokens[self.at][2], f"parentheses nested deeper than {MAX_DEPTH}")
        parts, start = [self.product()], self.tokens[self.at][2]
        while found := self.take("+", "-"):
            part = self.product()
            parts.append(part if found[0] == "+" else Node("-", (part,), found[1]))
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Node("+", tuple(parts), start)

    def product(self) -> Tree:
        tree = self.signed()
        while found := self.take("*", "/", "//"):
            tree = Node(found[0], (tree, self.signed()), found[1])
        return tree

    def signed(self) -> Tree:
        signs: list[tuple[str, int]] = []
        while found := self.take("+", "-"):
            signs.append(found)
        tree = self.power()
        for sign, start in reversed(signs):
            tree = Node(sign, (tree,), start)
        return tree

    def power(self) -> Tree:
        tree = self.operand()
        if found := self.take("**", "^"):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise _error(self.text, found[1], f"powers nested deeper than {MAX_DEPTH}")
            tree = Node("**", (tree, self.signed()), found[1])
            self.depth -= 1
        return tree

    def operand(self) -> Tree:
        kind, shown, start = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return Leaf("number", shown, start)
        if kind == "name":
            if self.take("("):
                return self.call(shown, start)
            return Leaf("name", shown, start)
        if shown == "(":
            tree = self.sum()
            self.close(start)
            return tree
        what = "the text ends here" if kind == "end" else f"did not expect {shown!r} here"
        raise _error(self.text, start, f"{what}; a number, a name or a parenthesis should follow")

    def call(self, function: str, start: int) -> Tree:
        if function not in FUNCTIONS:
            hint = nearest(function, FUNCTIONS) or f" For a product write {function[:20]}*(...)."
            raise _error(
                self.text,
                start,
                f"unknown function {function[:40]!r}; known: {one_of(FUNCTIONS)}.{hint}",
                len(function),
            )
        parts = [self.sum()]
        while self.take(","):
            parts.append(self.sum())
        self.close(start)
        wanted = FUNCTIONS[function][0]
        if len(parts) != wanted:
            raise _error(self.text, start, f"{function} takes {wanted} argument{'s' * (wanted > 1)}, not {len(parts)}")
        return Node(function, tuple(parts), start)

    def close(self, opened: int) -> None:
        if not self.take(")"):
            raise _error(self.text, opened, "this parenthesis is not closed")


def _tokens(text: str) -> list[tuple[str, str, int]]:
    out: list[tuple[str, str, int]] = []
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if not found:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise _error(text, at, f"did not expect {text[at]!r} here")
        kind = found.lastgroup or ""
        out.append((kind, found[kind], found.start(kind)))
        at = found.end()
    out.append(("end", "", len(text)))
    return out


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
        parts = [out, *(_value(part, text, left) for part in node.parts[1:])]
        try:
            out = _apply(node, parts)
            _charge(left, node, parts, out)
        except ExpressionError as error:
            if "\n" in str(error):
                raise
            raise _error(text, node.start, str(error)) from None
    return out


def _name(leaf: Leaf, text: str) -> Poly:
    if not leaf.text.isidentifier():  # a superscript two is no digit, but becomes one when normalised
        raise _error(text, leaf.start, f"{leaf.text[:40]!r} is not a name; a power is written a**2", len(leaf.text))
    return name(unicodedata.normalize("NFKC", leaf.text))


def _charge(left: list[int], node: Node, parts: list[Expr], out: Expr) -> None:
    """Take what a step cost off what is left: one text may not keep us busy for long."""
    terms = terms_of(out)
    tries = math.prod(len(terms_of(p)) for p in parts) if node.operator == "*" else len(terms)
    left[0] -= 4 * tries + sum(len(m) for m in terms)
    if left[0] < 0:
        raise ExpressionError("too much to work out; give some sizes as numbers")
    if any(max(c.numerator.bit_length(), c.denominator.bit_length()) > 3.3 * MAX_DIGITS for c in terms.values()):
        raise ExpressionError(f"a number of more than {MAX_DIGITS} digits")


def _apply(node: Node, parts: list[Expr]) -> Expr:
    if node.operator == "+":
        return add(parts)
    if node.operator == "-":
        return -parts[0]
    if node.operator == "*":
        return multiply(parts[0], parts[1])
    if node.operator == "/":
        return divide(parts[0], parts[1])
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
        raise _error(text, leaf.start, f"a number of more than {MAX_DIGITS} digits")
    x = Fraction(digits.replace("_", "")) * Fraction(10) ** int(exponent or 0)
    return x.numerator if x.denominator == 1 else x


def _error(text: str, start: int, what: str, length: int = 1) -> ExpressionError:
    shown = f"cannot read the expression: {what}"
    return ExpressionError(f"{shown}\n{caret(text, start, start + length)}")
