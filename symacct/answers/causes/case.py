"""A wrong answer as the search for its mistake sees it: both formulas as trees and as exact expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from symacct.answers.algebra import expanded
from symacct.answers.equality import edges_of
from symacct.answers.evaluate import evaluate
from symacct.answers.points import generic
from symacct.answers.question import Question
from symacct.answers.text.units import read_unit
from symacct.answers.truth import Truth, seem_flops
from symacct.errors import SymacctError
from symacct.expr import Call, Expr, Number, Poly, monomial, multiply, terms_of
from symacct.expr.poly import join, whole
from symacct.expr.tree import Tree

Monomial = tuple[tuple[str, Number], ...]
MOST_TERMS = 60
"""Of longer sums nothing is looked for."""
_POINTS = 6


@dataclass(frozen=True, slots=True)
class Case:
    """A wrong answer and the truth."""

    tree: Tree
    truth: Truth
    mode: str = "exact"
    at: Mapping[str, Fraction] | None = None
    growing: tuple[str, ...] = ()
    """What grows, in a question about large sizes."""
    answer: Expr | None = None
    right: Expr | None = None
    """Both multiplied out, where that is possible."""
    points: tuple[Mapping[str, Fraction | int], ...] = ()
    values: tuple[Fraction | None, ...] = ()
    """Sizes at which the answer is compared with what it may have been, and its values there."""

    @property
    def names(self) -> tuple[str, ...]:
        """The question's symbols."""
        return tuple(self.truth.names.symbols)

    @property
    def numbers(self) -> bool:
        """Whether both are plain numbers, whatever names cancel in them."""
        if self.mode == "numeric":
            return True
        return not any(x is None or isinstance(x, Poly) for x in (self.answer, self.right))

    @property
    def kind(self) -> str:
        """What is asked for: ``flops bytes intensity rate time``, or ``""`` for a count or a share."""
        if not self.truth.unit and seem_flops(self.right, self.truth.names):
            return "flops"
        unit = read_unit(self.truth.unit)
        dims = dict(unit.dims) if unit else {}
        if dims.get("FLOP", 0) > 0 or dims.get("MAC", 0) > 0:
            return "intensity" if dims.get("byte", 0) < 0 else "rate" if dims.get("s", 0) < 0 else "flops"
        return "bytes" if dims.get("byte", 0) > 0 else "time" if dims.get("s", 0) > 0 else ""

    def meaning(self, symbol: str) -> str:
        """Return what the question says a symbol means."""
        return self.truth.names.symbols.get(symbol, "")

    def is_feed_forward(self, symbol: str) -> bool:
        """Whether a symbol is the width of a feed-forward layer."""
        return bool(re.search(r"d_?ff|feed.?forward|intermediate|ffn", self.meaning(symbol), re.IGNORECASE))

    def is_width(self, symbol: str) -> bool:
        """Whether a symbol is a width rather than a length or a count."""
        return bool(re.search(r"width|d_?model|hidden|dim", self.meaning(symbol), re.IGNORECASE))

    def of(self, tree: Tree, right: Tree) -> Case:
        """Return the case of one part against another."""
        values = tuple(_value(tree, p) for p in self.points)
        truth = replace(self.truth, tree=right)
        return replace(self, tree=tree, truth=truth, answer=expanded(tree), right=expanded(right), values=values)

    def constant_ratio(self, other: Tree) -> Fraction | None:
        """Return the answer over another tree, where that is the same number at all sizes tried."""
        first: Fraction | None = None
        try:
            for value, point in zip(self.values, self.points, strict=True):
                ratio = value / evaluate(other, point) if value is not None else None
                first = ratio if first is None else first
                if ratio is None or first is None or not _near(ratio, first, self.mode):
                    return None
        except (SymacctError, ZeroDivisionError):
            return None
        return first

    def equals(self, other: Tree) -> bool:
        """Whether the answer has the values of another tree at some generic sizes (or at the given ones)."""
        try:
            return all(
                value is not None and _near(value, evaluate(other, p), self.mode)
                for p, value in zip(self.points, self.values, strict=True)
            )
        except SymacctError:
            return False


def _near(a: Fraction, b: Fraction, mode: str) -> bool:
    tolerance = Fraction(1, 200) if mode == "numeric" else Fraction(1, 10**12)
    return abs(a - b) <= tolerance * abs(b)


def case_of(tree: Tree, question: Question) -> Case:
    """Return the case of a wrong answer."""
    growing = question.var if question.mode in ("asymptotic", "order") else ()
    truth = question.truth
    points: list[Mapping[str, Fraction | int]] = [question.at or {}]
    if question.mode != "numeric":
        edges = edges_of(tree, truth.tree, question.names)[::5]
        defined = [p for p in edges if _value(tree, p) is not None and _value(truth.tree, p) is not None]
        points = [*generic(question.names)[:_POINTS], *defined]
    values = tuple(_value(tree, p) for p in points)
    return Case(
        tree, truth, question.mode, question.at, growing, expanded(tree), expanded(truth.tree), tuple(points), values
    )


def _value(tree: Tree, sizes: Mapping[str, Fraction | int]) -> Fraction | None:
    try:
        return evaluate(tree, sizes)
    except SymacctError:
        return None


def ratio_of(a: Expr, b: Expr) -> tuple[Number, Monomial] | None:
    """Return ``a/b`` as a number times powers of names, where it is that.

    Examples
    --------
    >>> from symacct.expr import read
    >>> ratio_of(read("2*B*D + 2*B"), read("D + 1"))
    (2, (('B', 1),))

    """
    above, below = terms_of(a), terms_of(b)
    if not above or len(above) != len(below) or len(above) > MOST_TERMS:
        return None
    first, wanted = next(iter(below.items()))
    inverse = tuple((n, -e) for n, e in first)
    for m, c in above.items():
        ratio, number = join(m, inverse), whole(Fraction(c) / wanted)
        if multiply(multiply(number, monomial(ratio)), b) == a:
            return None if any(isinstance(n, Call) for n, _ in ratio) else (number, ratio)
    return None
