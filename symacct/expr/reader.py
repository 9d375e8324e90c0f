"""Text -> expression, by our own small grammar; nothing a person writes is ever evaluated as code.

sum     = product (("+" | "-") product)*
product = signed (("*" | "/" | "//") signed)*
signed  = ("+" | "-") signed | power
power   = operand (("**" | "^") signed)?
operand = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"
"""

from __future__ import annotations

import re
from functools import lru_cache

from symacct.errors import ExpressionError, SizeError, nearest, one_of
from symacct.expr.functions import FUNCTIONS
from symacct.expr.poly import Expr, Poly
from symacct.expr.tree import Leaf, Node, Tree, error_at, value

MAX_LENGTH = 10_000
MAX_DEPTH = 100

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<name>[^\W\d]\w*)|(?P<op>\*\*|//|[-+*/^(),]))"
)


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
        what = f"{x} is no size" if text.strip() == str(x) else f"{text!r} is {x}"
        msg = f"{what}; a size is a positive integer, a name, or an expression in names such as 4*k"
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
            raise error_at(self.text, start, f"did not expect {shown!r} here{hint}", max(1, len(shown)))
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
            raise error_at(self.text, self.tokens[self.at][2], f"parentheses nested deeper than {MAX_DEPTH}")
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
                raise error_at(self.text, found[1], f"powers nested deeper than {MAX_DEPTH}")
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
        raise error_at(self.text, start, f"{what}; a number, a name or a parenthesis should follow")

    def call(self, function: str, start: int) -> Tree:
        if function not in FUNCTIONS:
            hint = nearest(function, FUNCTIONS) or f" For a product write {function[:20]}*(...)."
            raise error_at(
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
            raise error_at(self.text, start, f"{function} takes {wanted} argument(s), not {len(parts)}")
        return Node(function, tuple(parts), start)

    def close(self, opened: int) -> None:
        if not self.take(")"):
            raise error_at(self.text, opened, "this parenthesis is not closed")


def _tokens(text: str) -> list[tuple[str, str, int]]:
    out: list[tuple[str, str, int]] = []
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if not found:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise error_at(text, at, f"did not expect {text[at]!r} here")
        kind = found.lastgroup or ""
        out.append((kind, found[kind], found.start(kind)))
        at = found.end()
    out.append(("end", "", len(text)))
    return out
