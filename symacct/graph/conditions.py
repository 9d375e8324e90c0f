"""Conditions: what must hold for an answer to be true, as people write it and at numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from symacct.errors import SymacctError
from symacct.expr import Expr, Poly, add, at_most, divide, read_size, sign, whole_denominator


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that must hold for an answer to be true: ``2 divides k``, ``k - 1 >= 1``, or a sentence.

    `under` is the switch of a convention, such as ``"attention=exact"``, without which it need not hold.
    """

    kind: Literal["divides", "at_least", "equal", "stated"]
    left: Expr | str
    right: Expr | str = ""
    under: str = ""

    def __str__(self) -> str:
        """Print the condition as a person would write it."""
        if self.kind == "stated":
            return str(self.left)
        if self.kind == "divides":
            return f"{self.left} divides {self.right}" if self.left != 1 else f"{self.right} is a whole number"
        return f"{self.left} {'>=' if self.kind == 'at_least' else '='} {self.right}"

    def with_sizes(self, put_in: Callable[[Expr], Expr]) -> Condition:
        """Return the condition with other sides; a sentence as it is."""
        if isinstance(self.left, str) or isinstance(self.right, str):
            return self
        return replace(self, left=put_in(self.left), right=put_in(self.right))

    @property
    def holds(self) -> bool | None:
        """Whether it holds at all sizes; None where that depends on them, and for a sentence."""
        if isinstance(self.left, str) or isinstance(self.right, str):
            return None
        gap = add((self.left, -self.right))
        if self.kind == "divides":
            quotient = divide(self.right, self.left)
            return True if whole_denominator(quotient)[1] == 1 else None if isinstance(quotient, Poly) else False
        if self.kind == "equal":
            return True if gap == 0 else None if isinstance(gap, Poly) else False
        return True if at_most(self.right, self.left) else False if sign(gap) == -1 else None


def read_condition(text: str) -> Condition:
    """Read ``"h divides d"`` and comparisons of sizes; anything else is a sentence."""
    for pattern, make in _FORMS:
        sides = re.split(pattern, text)
        if len(sides) == 2:
            try:
                left, right = (read_size(side.strip()) for side in sides)
            except SymacctError:
                break
            return make(left, right)
    return Condition("stated", text)


_FORMS: tuple[tuple[str, Callable[[Expr, Expr], Condition]], ...] = (
    (r"\bdivides\b", lambda a, b: Condition("divides", a, b)),
    (r">=", lambda a, b: Condition("at_least", a, b)),
    (r"<=", lambda a, b: Condition("at_least", b, a)),
    (r">", lambda a, b: Condition("at_least", a, add((b, 1)))),
    (r"<", lambda a, b: Condition("at_least", b, add((a, 1)))),
    (r"={1,2}", lambda a, b: Condition("equal", a, b)),
)
