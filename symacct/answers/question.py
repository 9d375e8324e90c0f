"""A question: the truth, the mode it is compared in, the tolerance, what grows, and the sizes that are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symacct.answers.algebra import expression
from symacct.answers.trees import names_in
from symacct.answers.truth import Truth
from symacct.errors import ConventionError, SizeError, SymacctError, UndefinedSizeError, nearest, one_of
from symacct.expr import Poly
from symacct.expr.tree import Tree

MODES = ("exact", "asymptotic", "order", "numeric")
RTOL = Fraction(1, 100)
"""How far a number may be off where the question does not say: 1 %."""


@dataclass(frozen=True, slots=True)
class Question:
    """What decides about an answer: the truth, the mode, the tolerance, what grows, and the given sizes."""

    truth: Truth
    mode: str = "exact"
    rtol: Fraction = RTOL
    to_last_digit: bool = False
    """Whether a number is right too that is right to its last digit: where the question states no tolerance."""
    var: tuple[str, ...] = ()
    at: Mapping[str, Fraction] | None = None
    open_names: frozenset[str] = frozenset()
    """The names that the truth depends on; none where they cancel."""

    @property
    def names(self) -> tuple[str, ...]:
        """The question's symbols."""
        return tuple(self.truth.names.symbols)


def question_of(
    truth: Truth, mode: str, rtol: float | None, var: str | Iterable[str] | None, at: Mapping[str, Any] | None
) -> Question:
    """Return the question that answers are judged by; one for many answers.

    Raises
    ------
    SymacctError
        For a mode, tolerance, variable or size that is none.

    """
    if mode not in MODES:
        raise ConventionError(f"no mode {mode!r}; there are {one_of(MODES)}.{nearest(str(mode), MODES)}")
    if rtol is not None and not 0 <= rtol < 1:
        raise ConventionError(f"rtol is {rtol}; a relative tolerance is at least 0 and below 1")
    if var and mode in ("exact", "numeric"):
        raise ConventionError(f"what grows (var) says nothing under mode={mode!r}; it is for 'asymptotic' and 'order'")
    growing = (var,) if isinstance(var, str) else tuple(var or ())
    symbols = truth.names.symbols
    for name in (*growing, *(at or {})):
        if name not in symbols:
            raise UndefinedSizeError(f"{name!r} is none of the question's symbols: {one_of(symbols)}")
    if mode == "numeric" and (missing := sorted(set(names_in(truth.tree)) - set(at or {}))):
        raise UndefinedSizeError(f"a numeric question needs a number for {one_of(missing)}; give at={{...}}")
    sizes = {name: _size(name, value) for name, value in (at or {}).items()}
    return Question(
        truth,
        mode,
        RTOL if rtol is None else Fraction(str(rtol)),
        rtol is None,
        growing or tuple(symbols),
        sizes or None,
        _open(truth.tree),
    )


def _size(name: str, value: Any) -> Fraction:
    try:
        size = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise SizeError(f"the size of {name!r} is {str(value)[:40]!r}, which is no number") from None
    if size <= 0:
        raise SizeError(f"the size of {name!r} is {str(value)[:40]}; it is above 0")
    return size


def _open(tree: Tree) -> frozenset[str]:
    try:
        constant = not isinstance(expression(tree), Poly)
    except SymacctError:
        constant = False
    return frozenset() if constant else frozenset(names_in(tree))
