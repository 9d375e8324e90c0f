"""Several formulas joined by signs: what is said to be equal must be, and an arrow from one number leads to another."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from symacct.answers.evaluate import close, evaluate
from symacct.answers.points import generic
from symacct.answers.text.names import Names
from symacct.answers.text.quantities import settle
from symacct.answers.trees import names_in
from symacct.errors import AnswerError
from symacct.expr.tree import Leaf, Tree

MOST_APART = Fraction(1, 20)
"""How far two may be apart that are said to be equal, as rounding and lower orders put them."""
_LARGE = 10**6


def refuse_unequal(trees: list[tuple[str, Tree]], names: Names) -> None:
    """Refuse ``2BTD = 4BTD`` and ``72 → 144``.

    Raises
    ------
    AnswerError
        For two neighbours that are said to be equal and are not.

    """
    for (_, left), (sign, right) in pairwise(trees):
        if sign in ("=", "≈", "→") and _are_unequal(left, right, names, sign):
            if sign == "→":
                raise AnswerError("cannot read the answer: the arrow leads to another answer; give one answer")
            raise AnswerError("cannot read the answer: the two sides differ; give one answer")


def _are_unequal(left: Tree, right: Tree, names: Names, sign: str) -> bool:
    """Whether two formulas in the same symbols and the same unit differ; a lone symbol on the left is a label."""
    used = set(names_in(left))
    if used != set(names_in(right)) or not used <= names.symbols.keys() or (used and sign != "="):
        return False
    if isinstance(left, Leaf) and left.kind == "name":
        return False
    sizes = {name: size * _LARGE for name, size in generic(tuple(names.symbols))[0].items()}
    try:
        return not any(_agree(left, right, sizes, convert=way) for way in (True, False))
    except AnswerError:
        return False


def _agree(left: Tree, right: Tree, sizes: dict[str, int], *, convert: bool) -> bool:
    """Whether two agree, counted in base units or, where only one has a unit, as they are written."""
    one, other = settle(left, convert=convert), settle(right, convert=convert)
    if one.dims and other.dims and (one.dims != other.dims or not convert):
        return one.dims != other.dims
    given, last = evaluate(one.tree, sizes), evaluate(other.tree, sizes)
    rounded = last.denominator == 1 and abs(given - last) < 1 and given.denominator > 1
    return rounded or close(given, last, MOST_APART)
