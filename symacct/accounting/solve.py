"""Solve a total for one size: the real root as a closed form, and the whole sizes that reach the target."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.accounting.numbers import axis_name, holds
from symacct.accounting.quantity import QUANTITIES
from symacct.accounting.totals import check_counted
from symacct.errors import ConventionError, ExpressionError, InconclusiveError, SizeError, UnitError, one_of
from symacct.expr import (
    Call,
    Expr,
    Number,
    Poly,
    Sympy,
    add,
    degree,
    evaluate,
    from_sympy,
    names_in,
    numerator,
    positive_roots,
    read,
    sign,
    terms_of,
    to_text,
)
from symacct.graph import Condition
from symacct.units import quantity as read_quantity

if TYPE_CHECKING:
    from symacct.accounting.core import Account


_TRIED = 10_000


@dataclass(frozen=True, slots=True)
class Solution:
    """Where a total reaches a target as one size varies.

    Attributes
    ----------
    roots
        The positive real sizes at which the total equals the target, as sympy expressions.
    regions
        Ranges of whole sizes ``(first, last)`` in which the total is at least the target, `last` None where there
        is no end; None when other sizes are still names.
    conditions
        What the size must satisfy besides, such as ``2 divides b``.
    """

    quantity: str
    target: str
    axis: str
    roots: tuple[Sympy, ...]
    regions: tuple[tuple[int, int | None], ...] | None
    conditions: tuple[Condition, ...] = ()

    @property
    def always(self) -> bool:
        """Whether the roots are positive at all sizes; else there is a solution only where they are."""
        return all(sign(from_sympy(r)) == 1 for r in self.roots)

    @property
    def smallest(self) -> int | None:
        """The smallest whole size that reaches the target and satisfies the conditions.

        None where there is none among 10,000 tried, or other sizes are names.
        """
        tried = (n for a, b in self.regions or () for n in range(a, min(b or a + _TRIED, a + _TRIED) + 1))
        return next((n for n in tried if all(holds(c, {self.axis: n}) for c in self.conditions)), None)

    @property
    def largest(self) -> int | None:
        """The largest whole size that stays below the target, None where there is none or no end."""
        if not self.regions or self.regions[-1][1] is not None or self.regions[0][0] == 1:
            return None
        return self.regions[-1][0] - 1

    def __str__(self) -> str:
        """Print as a sentence."""
        head = f"{self.quantity} >= {self.target}"
        if self.regions is None:
            roots = " or ".join(f"{self.axis} = {r}" for r in self.roots)
            where = "" if self.always else ", where that is positive"
            return f"{self.quantity} = {self.target} at {roots or 'no positive size'}{where}"
        if not self.regions:
            return f"{head} for no {self.axis}"
        where = "".join(f", where {c}" for c in self.conditions)
        return f"{head} for " + " or ".join(self._region(a, b) for a, b in self.regions) + where

    def _region(self, first: int, last: int | None) -> str:
        return f"{self.axis} >= {first}" if last is None else f"{first} <= {self.axis} <= {last}"


def solve(account: Account, axis: Any, target: Mapping[str, Any]) -> Solution:
    """See `Account.solve`."""
    n = axis_name(account, axis)
    quantity, wanted = _target(account, target)
    check_counted(account, quantity)
    shown = to_text(wanted) if isinstance(wanted, Poly) else str(target[quantity])
    return reaching(account.total(quantity), wanted, n, (quantity, shown), account.conditions)


def reaching(
    total: Expr, wanted: Expr, n: str, told: tuple[str, str], conditions: Iterable[Condition] = ()
) -> Solution:
    """Return where a total reaches what is wanted as the size n varies; `told` names both for print.

    Raises
    ------
    InconclusiveError
        Where there is no closed form.

    """
    gap = numerator(add((total, -wanted)))
    inside = {x for m in terms_of(gap) for a, _ in m if isinstance(a, Call) for arg in a.args for x in names_in(arg)}
    if n in inside:
        msg = (
            f"{n} stands inside a rounding, so there is no closed form; "
            f"give it as a multiple of the block, as in {n}='16*m'"
        )
        raise InconclusiveError(msg)
    if any(type(dict(m).get(n, 0)) is Fraction for m in terms_of(gap)):
        msg = f"{n} stands under a root, so there is no closed form; give it as a square, as in {n}='m**2'"
        raise InconclusiveError(msg)
    others = set(names_in(gap)) - {n}
    if others and degree(gap, n) > 2:
        msg = f"degree {degree(gap, n)} in {n} with {one_of(sorted(others))} still names; give these sizes as numbers"
        raise InconclusiveError(msg)
    roots = positive_roots(gap, n)
    regions = None if others else _regions(total, wanted, n, roots)
    derived = tuple(c for c in conditions if c.kind != "stated")
    return Solution(*told, n, roots, regions, derived)


def _target(account: Account, target: Mapping[str, Any]) -> tuple[str, Expr]:
    if len(target) != 1 or next(iter(target)) not in QUANTITIES:
        msg = f"give one quantity and its value, as in intensity=295; known: {one_of(QUANTITIES)}"
        raise ConventionError(msg)
    ((quantity, value),) = target.items()
    return quantity, _number(value, account.unit(quantity))


def _number(value: Any, unit: str) -> Expr:
    """Read a target exactly: text as an expression or a number with its unit, a float as the decimal it prints as."""
    if isinstance(value, str):
        try:
            return read(value)
        except ExpressionError:
            with suppress(SizeError, UnitError):
                return Fraction(str(read_quantity(value, unit).value))
            raise
    if isinstance(value, float):
        if not math.isfinite(value):
            msg = f"{value} is not a target to reach"
            raise ExpressionError(msg)
        return Fraction(str(value))
    if isinstance(value, bool) or value is None:
        msg = f"{value!r} is not a target to reach; give a number or an expression"
        raise ExpressionError(msg)
    return operator.index(value) if hasattr(value, "__index__") else from_sympy(value)


def _regions(total: Expr, wanted: Expr, n: str, roots: tuple[Sympy, ...]) -> tuple[tuple[int, int | None], ...]:
    """Check whole sizes on both sides of every root exactly, and join what reaches the target."""
    edges = sorted({1, *(int(r) + d for r in roots for d in (0, 1) if int(r) + d >= 1)})
    regions: list[tuple[int, int | None]] = []
    for i, first in enumerate(edges):
        last = edges[i + 1] - 1 if i + 1 < len(edges) else None
        if _reaches(total, wanted, {n: first}):
            if regions and regions[-1][1] == first - 1:
                regions[-1] = (regions[-1][0], last)
            else:
                regions.append((first, last))
    return tuple(regions)


def _reaches(total: Expr, wanted: Expr, sizes: Mapping[str, Number]) -> bool:
    return evaluate(total, sizes) >= evaluate(wanted, sizes)
