"""Sorted tokens -> a tree.

sum     = ["-"] product (("+" | "-") product)*
product = power (("*" | "/" | "//" | nothing) power)*        nothing: an implicit product, as in 2BTD
power   = operand ["%"] [("^") exponent]
operand = number | name | unit | call arguments | "(" sum ")" | "|" sum "|" | ceil, floor and roots by sign | frac

How far a slash or a root reaches into an implicit product is ambiguous: in print ``T/8D`` is T over 8D, by the letter
it is D*T/8. `reach` chooses; the places where it matters are kept. Sums and products are flat (`-` and `/` are nodes of
one part), so long ones are not deep.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from symacct.answers.text.tokens import Token
from symacct.answers.trees import inverse, joined, negated, nodes
from symacct.errors import AnswerError, caret
from symacct.expr.tree import Leaf, Node, Tree

MAX_DEPTH = 60
CLOSING = {"(": ")", "[": "]", "{": "}", "⌈": "⌉", "⌊": "⌋", "|": "|"}
_BRACKETS = {"⌈": "ceil", "⌊": "floor", "|": "abs"}
_STARTS = frozenset(["(", "[", "{", "⌈", "⌊", "√", "frac"])
ONE_ARGUMENT = frozenset(["sqrt", "floor", "ceil", "log", "ln", "log2", "log10", "abs", "order", "same"])


@dataclass
class Parsed:
    """A tree, and the divisions that read two ways."""

    tree: Tree
    ambiguous: list[int] = field(default_factory=list)


Reach = Literal["print", "letter", "all"]
"""What a slash, root or function takes: what is glued to it, as in print; the next piece; the whole product."""


def parse(tokens: list[Token], text: str, *, reach: Reach = "print") -> Parsed:
    """Parse tokens that words were sorted of.

    Raises
    ------
    AnswerError
        With a caret under the first piece that does not fit.

    """
    parser = _Parser(tokens, text, reach=reach)
    tree = parser.sum()
    if parser.at < len(tokens):
        raise parser.refuse(f"did not expect {parser.now.text!r} here")
    return Parsed(tree, parser.ambiguous)


class _Parser:
    """A recursive descent over the tokens of one formula."""

    def __init__(self, tokens: list[Token], text: str, *, reach: Reach) -> None:
        end = tokens[-1].end if tokens else 0
        self.tokens = [*tokens, Token("end", "the end", end, end)]
        self.text = text
        self.reach = reach
        self.at = 0
        self.depth = 0
        self.in_bars = False
        self.ambiguous: list[int] = []

    @property
    def now(self) -> Token:
        return self.tokens[self.at]

    def refuse(self, what: str, token: Token | None = None) -> AnswerError:
        token = token or self.now
        return AnswerError(f"cannot read the answer: {what}\n{caret(self.text, token.start, token.end)}")

    def sign(self, *signs: str) -> Token | None:
        token = self.now
        if token.kind == "sign" and token.text in signs:
            self.at += 1
            return token
        return None

    def sum(self) -> Tree:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.refuse(f"parentheses nested deeper than {MAX_DEPTH}")
        parts: list[Tree] = []
        sign = self.sign("+", "-")
        while True:
            minus = False
            while sign:
                minus ^= sign.text == "-"
                sign = self.sign("+", "-")
            parts.append(self.product(minus=minus))
            sign = self.sign("+", "-")
            if not sign:
                break
        self.depth -= 1
        return joined("+", parts)

    def product(self, *, minus: bool) -> Tree:
        parts = [self.signed()]
        while True:
            if self.sign("*"):
                parts.append(self.signed())
            elif slash := self.sign("/"):
                parts.append(inverse(self.divisor(slash)))
            elif self.sign("//"):  # a minus before it is rounded with it, as in -(-a//b)
                whole = joined("*", [*parts, inverse(self.signed())])
                parts, minus = [Node("floor", (negated(whole) if minus else whole,), whole.start)], False
            elif percent := self.sign("%"):  # behind a formula it is of the whole, as in 100a/(a+b) %
                parts.append(Leaf("unit", "%", percent.start))
            elif self.starts_operand():
                parts.append(self.power())
            else:
                return negated(joined("*", parts)) if minus else joined("*", parts)

    def starts_operand(self) -> bool:
        token = self.now
        if token.kind in ("name", "unknown", "two", "unit", "call"):
            return True
        return token.kind == "sign" and (token.text in _STARTS or (token.text == "|" and not self.in_bars))

    def divisor(self, slash: Token) -> Tree:
        """Read what stands under a slash: of an implicit product glued to it all (as in print) or the first part."""
        parts = [self.signed()]
        first = self.tokens[self.at - 1]
        if self.now.kind == "unit" and first.kind == "number" and self.is_quantity(first.text):
            parts.append(self.power())  # 3.35 TB/s is one quantity
        while self.starts_operand() and self.now.kind != "unit":
            self.ambiguous.append(slash.start)
            number_first = isinstance(parts[0], Leaf) and parts[0].kind == "number" and len(parts) == 1
            apart = not self.now.glued or (number_first and self.now.text in "([{" and first.kind == "number")
            if self.reach == "letter" or (self.reach == "print" and apart):
                break
            parts.append(self.power())
        return joined("*", parts)

    def is_quantity(self, number: str) -> bool:
        """Whether a number under a slash and the unit behind it belong together: not in ``n/3 - 1/6 FLOPs/byte``."""
        has_unit = any(t.kind == "unit" for t in self.tokens[: self.at])
        a_rate = self.now.text.endswith(("/s", "/sec", "/second"))
        return has_unit or (a_rate and not (number.isdecimal() and len(number) < 4))

    def signed(self) -> Tree:
        minus = False
        while sign := self.sign("+", "-"):
            minus ^= sign.text == "-"
        tree = self.power()
        return negated(tree) if minus else tree

    def power(self) -> Tree:
        tree = self.operand()
        while isinstance(tree, Leaf) and tree.kind == "number" and (percent := self.sign("%")):
            tree = joined("*", [tree, Leaf("unit", "%", percent.start)])
        if self.sign("^"):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise self.refuse(f"powers nested deeper than {MAX_DEPTH}")
            tree = Node("**", (tree, self.exponent()), tree.start)
            self.depth -= 1
        return tree

    def exponent(self) -> Tree:
        if self.now.text in ("T", "top", "⊤") and self.now.kind == "unknown":
            raise self.refuse("a transpose is no size; write the sizes of the product")
        ahead = self.tokens[self.at : self.at + 3]
        if [t.text for t in ahead[:2]] == ["1", "/"] and ahead[2].kind == "number" and ahead[1].glued:
            self.ambiguous.append(ahead[1].start)  # L^1/2 is a root
            if self.reach != "letter":
                self.at += 3
                one, below = (Leaf("number", t.text, t.start) for t in ahead[::2])
                return joined("*", [one, inverse(below)])
        return self.signed()

    def operand(self) -> Tree:
        token = self.now
        self.at += 1
        if token.kind == "number":
            return Leaf("number", token.text, token.start)
        if token.kind in ("name", "unknown", "two"):
            return Leaf("name", token.text, token.start)
        if token.kind == "unit":
            return Leaf("unit", token.text, token.start)
        if token.kind == "call":
            return self.call(token)
        if token.kind == "sign":
            if found := self.bracketed(token):
                return found
            if token.text == "√":
                return self.root(token)
            if token.text == "frac":
                above = self.argument()
                return joined("*", [above, inverse(self.argument())])
            if token.text == "∞":
                raise self.refuse("infinity is no size", token)
        what = "the formula ends here" if token.kind == "end" else f"did not expect {token.text!r} here"
        self.at -= 1
        raise self.refuse(f"{what}; a number, a name or a parenthesis should follow", token)

    def bracketed(self, token: Token) -> Tree | None:
        if token.text not in CLOSING:
            return None
        outside, self.in_bars = self.in_bars, token.text == "|"
        tree = self.sum()
        self.in_bars = outside
        self.close(token)
        operator = _BRACKETS.get(token.text, "")
        if operator == "abs" and not nodes(tree, ("-",)):  # |V| is a number of things
            return tree
        return Node(operator, (tree,), token.start) if operator else tree

    def close(self, opened: Token) -> None:
        if not self.sign(CLOSING[opened.text]):
            raise self.refuse(f"this {opened.text!r} is not closed", opened)

    def argument(self) -> Tree:
        """Read one argument of a fraction or root: a group, or the single piece that follows."""
        if self.now.kind == "number" and len(self.now.text) > 1 and self.now.text.isdecimal():  # \frac12
            token = self.now
            rest = token._replace(text=token.text[1:], start=token.start + 1)
            self.tokens[self.at] = rest
            return Leaf("number", token.text[0], token.start)
        return self.operand()

    def root(self, token: Token) -> Tree:
        degree: Tree | None = None
        if opened := self.sign("["):
            degree = self.sum()
            self.close(opened)
        tree = self.reached(token, self.argument())
        if degree is None:
            return Node("sqrt", (tree,), token.start)
        return Node("**", (tree, inverse(degree)), token.start)

    def reached(self, sign: Token, argument: Tree) -> Tree:
        """Add what is glued to an argument that has no parentheses, as in ``log 2n`` and ``√BT``."""
        parts = [argument]
        while self.tokens[self.at - 1].kind in ("number", "name") and self.now.kind == "name" and self.now.glued:
            if sign.text == "√":
                self.ambiguous.append(sign.start)
                if self.reach == "letter":
                    break
            parts.append(self.power())
        return joined("*", parts)

    def call(self, token: Token) -> Tree:
        function = token.text
        exponent: Tree | None = None
        if function in ("log", "ln", "log2") and self.sign("^"):
            exponent = self.signed()
        opened = self.sign("(", "[", "{")
        if opened is None:
            if function not in ONE_ARGUMENT or function in ("order", "same"):
                raise self.refuse(f"{function} needs parentheses", token)
            parts = [self.reached(token, self.power())]
        else:
            parts = [self.sum()]
            while self.sign(","):
                parts.append(self.sum())
            self.close(opened)
        tree = self.applied(function, parts, token)
        return tree if exponent is None else Node("**", (tree, exponent), token.start)

    def applied(self, function: str, parts: list[Tree], token: Token) -> Tree:
        if function == "pow" and len(parts) == 2:
            return Node("**", (parts[0], parts[1]), token.start)
        if function in ("log", "order") and len(parts) == 2:
            return parts[0] if function == "order" else _log(parts[0], parts[1], token)
        if (function in ONE_ARGUMENT and len(parts) != 1) or (function in ("min", "max") and len(parts) < 2):
            raise self.refuse(
                f"{function} takes {'one argument' if function in ONE_ARGUMENT else 'two or more'}", token
            )
        if function == "same":
            return parts[0]
        if function in ("log2", "log10"):
            return _log(parts[0], Leaf("number", function[3:], token.start), token)
        return Node("log" if function == "ln" else function, tuple(parts), token.start)


def _log(x: Tree, base: Tree, token: Token) -> Tree:
    return joined("*", [Node("log", (x,), token.start), inverse(Node("log", (base,), token.start))])
