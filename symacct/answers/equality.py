"""Whether two formulas are equal for all sizes: by algebra, else by exact values at generic sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

from symacct.answers.algebra import TooMuchError, expression, is_opaque
from symacct.answers.evaluate import TooLargeError, UndefinedValueError, close, evaluate, is_exact, number
from symacct.answers.points import edges, generic, small
from symacct.answers.trees import exchanged, joined, leaves, nodes, numbers_in
from symacct.answers.types import Counterexample
from symacct.errors import AnswerError, ExpressionError
from symacct.expr import Call, add, multiply, names_in, numerator, terms_of
from symacct.expr.tree import Leaf, Tree

_TINY = Fraction(1, 10**30)
_TURNING = ("ceil", "floor", "min", "max", "abs", "if")
FEWEST = 6
"""Generic sizes at which both must have a value."""
MOST_DIVISORS = 8
"""Sums below fractions that are multiplied out; of more, numbers decide."""
MOST_ROUNDING = Fraction(15, 1000)
"""How far a formula may be off by its rounded decimals, relatively."""


class Equality(NamedTuple):
    """Whether two formulas are equal, how that is known, and sizes where they are not."""

    equal: bool
    proof: str = ""
    counterexample: Counterexample | None = None


def equal_for_all(answer: Tree, truth: Tree, names: Sequence[str]) -> Equality:
    """Compare two formulas.

    Examples
    --------
    >>> from symacct.expr.reader import parse
    >>> equal_for_all(parse("2*B*(D + 1)"), parse("2*B*D + 2*B"), ["B", "D"]).proof
    'algebra'
    >>> print(equal_for_all(parse("B*D"), parse("2*B*D"), ["B", "D"]).counterexample)
    at B=2, D=3: 6, not 12

    """
    decided = _by_algebra(answer, truth)
    if decided:
        return Equality(equal=True, proof="algebra")
    if decided is None and (tried := agreeing(answer, truth, names)):
        return Equality(equal=True, proof=f"sampled({tried})")
    return Equality(equal=False, counterexample=counterexample(answer, truth, names))


def _by_algebra(answer: Tree, truth: Tree) -> bool | None:
    """Return whether two trees are equal, or nothing where multiplying out does not tell."""
    try:
        difference = add((expression(answer), multiply(-1, expression(truth))))
        if len({a for m in terms_of(difference) for a, _ in m if isinstance(a, Call)}) > MOST_DIVISORS:
            return None
        gap = numerator(difference)
    except (TooMuchError, ExpressionError):
        return None
    if gap == 0:
        return True
    special = any(isinstance(a, Call) or type(e) is Fraction for m in terms_of(gap) for a, e in m)
    return None if special or any(is_opaque(n) for n in names_in(gap)) else False


def agreeing(answer: Tree, truth: Tree, names: Sequence[str]) -> int:
    """Return at how many generic sizes two formulas agree: 0 where they differ at one, or have no value at most."""
    tolerance = _tolerance(answer, truth)
    tried = 0
    for sizes in generic(tuple(names)):
        try:
            wanted = evaluate(truth, sizes)
        except (UndefinedValueError, TooLargeError):
            continue
        try:
            given = evaluate(answer, sizes)
        except (UndefinedValueError, TooLargeError):
            return 0
        if not close(given, wanted, tolerance):
            return 0
        tried += 1
    if tried < FEWEST:
        return 0
    return 0 if _first_difference(answer, truth, edges_of(answer, truth, names)) else tried


def _tolerance(answer: Tree, truth: Tree) -> Fraction:
    return Fraction(0) if is_exact(answer) and is_exact(truth) else _TINY


def edges_of(answer: Tree, truth: Tree, names: Sequence[str]) -> Sequence[Mapping[str, int]]:
    """Return the sizes at which the ceilings, maxima and the like of two formulas turn over, where they have any."""
    if not any(nodes(tree, _TURNING) for tree in (answer, truth)):
        return ()
    stated = (number(leaf) for tree in (answer, truth) for leaf in numbers_in(tree))
    return edges(tuple(names), tuple(sorted({int(x) for x in stated if x.denominator == 1 and x > 2})))


def counterexample(answer: Tree, truth: Tree, names: Sequence[str]) -> Counterexample | None:
    """Return the smallest distinct sizes at which two formulas differ, with both values."""
    return _first_difference(answer, truth, chain(small(names), edges_of(answer, truth, names)))


def _first_difference(answer: Tree, truth: Tree, points: Iterable[Mapping[str, int]]) -> Counterexample | None:
    tolerance = _tolerance(answer, truth)
    for sizes in points:
        try:
            given, wanted = evaluate(answer, sizes), evaluate(truth, sizes)
        except (UndefinedValueError, TooLargeError):
            continue
        if not close(given, wanted, tolerance):
            return Counterexample(_used(sizes, answer, truth), plain(given), plain(wanted))
    return None


def values_at(answer: Tree, truth: Tree, sizes: Mapping[str, Fraction | int]) -> Counterexample:
    """Return both values at given sizes."""
    return Counterexample(_used(sizes, answer, truth), plain(evaluate(answer, sizes)), plain(evaluate(truth, sizes)))


def _used(sizes: Mapping[str, Fraction | int], *trees: Tree) -> dict[str, Fraction | int]:
    """Return the sizes of the names that are in the formulas."""
    used = {leaf.text for tree in trees for leaf in leaves(tree)}
    return {name: size for name, size in sizes.items() if name in used}


def plain(x: Fraction) -> int | Fraction | float:
    """Return a whole number as one, and what no one would read as a fraction as a float."""
    if x.denominator == 1:
        return x.numerator
    if x.denominator < 10**6:
        return x
    try:
        return float(x)
    except OverflowError:
        return x


def rounding(answer: Tree, truth: Tree, sizes: Mapping[str, Fraction | int]) -> Fraction:
    """Return by how much an answer may be off because its decimals are rounded: half a unit of each one's last digit.

    Decimals that stand in the truth as well are not rounded.

    Examples
    --------
    >>> from symacct.expr.reader import parse
    >>> rounding(parse("0.33*n"), parse("n/3"), {"n": 100})
    Fraction(1, 2)
    >>> rounding(parse("3*n"), parse("n/3"), {"n": 100})
    Fraction(0, 1)

    """
    stated = {number(leaf) for leaf in _decimals(truth)}
    rounded = [leaf for leaf in _decimals(answer) if number(leaf) not in stated]
    if not rounded:
        return Fraction(0)
    value = evaluate(answer, sizes)
    moved = sum((abs(evaluate(_moved(answer, leaf), sizes) - value) for leaf in rounded), Fraction(0))
    return min(moved, MOST_ROUNDING * abs(evaluate(truth, sizes)))


def _decimals(tree: Tree) -> list[Leaf]:
    return [leaf for leaf in numbers_in(tree) if "." in leaf.text or "e" in leaf.text]


def _moved(tree: Tree, leaf: Leaf) -> Tree:
    """Return a tree with half a unit of its last digit added to one of its decimals."""
    digits, _, power = leaf.text.partition("e")
    last = int(power or 0) - len(digits.partition(".")[2])
    return exchanged(tree, leaf, joined("+", [leaf, Leaf("number", f"5e{last - 1}", 0)]))


def agree_rounded(answer: Tree, truth: Tree, names: Sequence[str]) -> bool:
    """Whether an answer with rounded decimals is the truth up to that rounding, at every generic size."""
    try:
        return all(
            (slack := rounding(answer, truth, sizes)) and abs(evaluate(answer, sizes) - evaluate(truth, sizes)) <= slack
            for sizes in generic(tuple(names))
        )
    except AnswerError:
        return False
