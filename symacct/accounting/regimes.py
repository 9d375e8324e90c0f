"""Which of several terms is the largest, along one size or in the plane of two, and the borders between as formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symacct.accounting.analysis import By, terms
from symacct.accounting.numbers import axis_name
from symacct.accounting.sweep import on_arrays
from symacct.errors import (
    AxisConflictError,
    ExpressionError,
    InconclusiveError,
    SizeError,
    UndefinedSizeError,
    UnknownAxisError,
    one_of,
)
from symacct.expr import (
    Expr,
    Number,
    Poly,
    add,
    degree,
    divide,
    evaluate,
    names_in,
    numerator,
    positive_roots,
    substitute,
    to_text,
)
from symacct.show import table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symacct.accounting.core import Account

SPAN = (1, 2**16)
POINTS = 129


@dataclass(frozen=True, slots=True)
class Border:
    """Where two terms are equal and the largest: one size as a formula, or an equation where there is none."""

    first: str
    second: str
    formula: str

    def __str__(self) -> str:
        """Print as a sentence."""
        return f"{self.first} = {self.second} at {self.formula}"


@dataclass(frozen=True)
class Regimes:
    """Which term rules where.

    Attributes
    ----------
    title, of, unit
        What the terms are parts of.
    axes
        The sizes that vary: one or two.
    terms
        Every term by name, as a closed form.
    given
        Numbers for the other sizes.
    span
        From where to where each size goes.
    rulers
        The terms that are the largest somewhere, in the order of the terms.
    borders
        Where one ruler follows another.
    """

    title: str
    of: str
    unit: str
    axes: tuple[str, ...]
    terms: tuple[tuple[str, Expr], ...]
    given: Mapping[str, Number]
    span: Mapping[str, tuple[int, int]]
    rulers: tuple[str, ...] = ()
    borders: tuple[Border, ...] = ()

    def at(self, **sizes: Any) -> str:
        """Return which term is the largest at these sizes; the first of those that are equal.

        Raises
        ------
        UndefinedSizeError
            For a size that is missing.

        """
        if missing := [n for n in self.axes if n not in sizes]:
            msg = f"no number for {one_of(missing)}; the plane is of {one_of(self.axes)}"
            raise UndefinedSizeError(msg)
        amounts = [evaluate(x, {**self.given, **sizes}) for _, x in self.terms]
        return self.terms[amounts.index(max(amounts))][0]

    def points(self, count: int = POINTS) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
        """Return sizes, evenly apart in their logarithm, and every term at all of them: terms x sizes (x sizes)."""
        import numpy as np

        lines = [np.geomspace(*self.span[n], count) for n in self.axes]
        mesh = dict(zip(self.axes, np.meshgrid(*lines, indexing="ij"), strict=True))
        given = {n: np.asarray(float(v)) for n, v in self.given.items()}
        known, shape = {**given, **mesh}, mesh[self.axes[0]].shape
        return mesh, np.stack([np.broadcast_to(on_arrays(x, known, np.float64), shape) for _, x in self.terms])

    def __str__(self) -> str:
        """Print the terms that rule, and the borders."""
        rows = [[name, to_text(dict(self.terms)[name])] for name in self.rulers]
        out = table([f"largest of {self.of}", f"in {self.unit}"], rows, self.title)
        borders = "\n".join(f" {border}" for border in self.borders) or f" {self.rulers[0]} is the largest all over"
        given = ", ".join(f"{n} = {v if isinstance(v, int) else f'{float(v):.6g}'}" for n, v in self.given.items())
        return f"{out}\n\n{borders}" + (f"\n where {given}" if given else "")

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return terms, rulers and borders as JSON-able data."""
        return {
            "title": self.title,
            "of": self.of,
            "unit": self.unit,
            "axes": list(self.axes),
            "terms": {name: to_text(x) for name, x in self.terms},
            "given": {n: float(v) for n, v in self.given.items()},
            "span": {n: list(ends) for n, ends in self.span.items()},
            "rulers": list(self.rulers),
            "borders": [{"first": b.first, "second": b.second, "at": b.formula} for b in self.borders],
        }


def named_terms(account: Account, of: str, by: By) -> list[tuple[str, Expr]]:
    """Return the terms of a total that are not zero, those of one name numbered apart."""
    found = [(label, amount) for label, amount in terms(account, of, by) if amount != 0]
    labels = [label for label, _ in found]
    seen: dict[str, int] = {}
    out = []
    for label, amount in found:
        seen[label] = seen.get(label, 0) + 1
        out.append((f"{label} ({seen[label]})" if labels.count(label) > 1 else label, amount))
    return out


def regimes(
    account: Account,
    axes: Sequence[Any],
    parts: Sequence[tuple[str, Expr]],
    *,
    told: tuple[str, str],
    sizes: Mapping[str, Any],
    span: Mapping[str, tuple[int, int]] | None = None,
) -> Regimes:
    """Return which term rules; `told` names the quantity and its unit, `sizes` may hold names of the terms alone.

    Raises
    ------
    UnknownAxisError, AxisConflictError
        For an axis that is no name of the account, one twice, or one that has a size; for no axis or more than two;
        for a span of no axis.
    UndefinedSizeError
        Names the sizes that are missing.
    SizeError
        For a span that does not rise from 1 or more.

    """
    names = tuple(axis_name(account, a) for a in axes)
    if len(names) not in (1, 2):
        msg = f"a map is along one size or in the plane of two, not of {len(names)} sizes"
        raise AxisConflictError(msg)
    if len(set(names)) != len(names):
        msg = f"a plane has two different sizes, not {one_of(names)}"
        raise AxisConflictError(msg)
    if sized := [n for n in names if n in sizes]:
        msg = f"{one_of(sized)} varies, so it has no size; leave its size out"
        raise AxisConflictError(msg)
    spans = _spans(names, span or {})
    needed = {n for _, x in parts for n in names_in(x)} - set(names)
    if missing := sorted(needed - set(sizes)):
        msg = f"no number for {one_of(missing)}; everything but {one_of(names)} needs one"
        raise UndefinedSizeError(msg)
    if named := [n for n in needed if isinstance(sizes[n], Poly)]:
        msg = f"{one_of(named)} is still a name; everything but {one_of(names)} needs a number"
        raise UndefinedSizeError(msg)
    if not parts:
        msg = f"{told[0]} has no terms here"
        raise UndefinedSizeError(msg)
    parts = _merged(parts)
    given = {n: sizes[n] for n in sizes if n in needed}
    title = account.title if account.order else account.title.partition("(")[0]
    plain = Regimes(title, *told, names, tuple(parts), given, spans)
    rulers, neighbours = _rulers(plain)
    borders = tuple(Border(a, b, _formula(plain, a, b)) for a, b in neighbours)
    return Regimes(title, *told, names, tuple(parts), given, spans, rulers, borders)


def _spans(names: Sequence[str], given: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Return from where to where each axis goes."""
    if not isinstance(given, Mapping) or (strange := [str(n) for n in given if n not in names]):
        what = f"{given!r}" if not isinstance(given, Mapping) else one_of(strange)
        msg = f"a span of {what}; spans are those of {one_of(names)}, as in {{{names[0]!r}: (1, 4096)}}"
        raise UnknownAxisError(msg)
    spans = {n: given.get(n, SPAN) for n in names}
    for n, ends in spans.items():
        rising = isinstance(ends, tuple | list) and len(ends) == 2 and all(type(e) is int for e in ends)
        if not rising or not 1 <= ends[0] < ends[1]:
            msg = f"the span of {n!r} is {ends}; it is two rising numbers such as (1, 65536)"
            raise SizeError(msg)
    return {n: (ends[0], ends[1]) for n, ends in spans.items()}


def _merged(parts: Sequence[tuple[str, Expr]]) -> list[tuple[str, Expr]]:
    """Return terms of equal amounts, of which none is the larger anywhere, as one."""
    found: dict[Expr, list[str]] = {}
    for label, amount in parts:
        found.setdefault(amount, []).append(label)
    return [(" and ".join(labels), amount) for amount, labels in found.items()]


def _rulers(plain: Regimes) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """Return the terms that rule somewhere, and those that rule side by side."""
    import numpy as np

    _, values = plain.points()
    winner = values.argmax(axis=0)
    names = [name for name, _ in plain.terms]
    pairs: dict[tuple[int, int], None] = {}
    for axis in range(winner.ndim):
        a, b = np.take(winner, range(POINTS - 1), axis), np.take(winner, range(1, POINTS), axis)
        met = np.unique(np.stack([np.minimum(a, b)[a != b], np.maximum(a, b)[a != b]], axis=1), axis=0)
        pairs |= dict.fromkeys((int(i), int(j)) for i, j in met)
    return tuple(names[i] for i in np.unique(winner)), [(names[i], names[j]) for i, j in sorted(pairs)]


def _formula(plain: Regimes, first: str, second: str) -> str:
    """Return where two terms are equal: the last axis if it has a closed form, else another; else the equation."""
    terms = dict(plain.terms)
    for given in ({}, plain.given):
        a, b = (substitute(terms[name], given) for name in (first, second))
        gap = numerator(add((divide(a, b), -1)))
        for axis in reversed(plain.axes):
            if (found := _solved(gap, axis)) is not None:
                return found
    return f"{to_text(terms[first])} = {to_text(terms[second])}"


def _solved(gap: Expr, axis: str) -> str | None:
    try:
        if not 1 <= degree(gap, axis) <= 2:
            return None
        roots = positive_roots(gap, axis)
    except (InconclusiveError, ExpressionError):
        return None
    return f"{axis} = {' or '.join(_short(r) for r in roots)}" if roots else None


def _short(root: Any) -> str:
    return f"{float(root):.6g}" if root.is_number else str(root)
