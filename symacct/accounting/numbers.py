"""Concrete sizes for an account: checked against its conditions, then exact numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symacct.accounting.quantity import Figures
from symacct.accounting.totals import totals_of
from symacct.errors import AxisConflictError, SizeError, UnknownAxisError, nearest, one_of
from symacct.expr import Expr, Number, check_mapping, collect_sizes, evaluate, numbers_for, to_text
from symacct.graph import Condition
from symacct.units import Quantity

if TYPE_CHECKING:
    from symacct.accounting.core import Account


def axis_name(account: Account, axis: Any) -> str:
    """Return the name of a free size, given as text or as a sympy symbol.

    Raises
    ------
    UnknownAxisError
        Lists the free sizes.

    """
    name = axis if isinstance(axis, str) else str(getattr(axis, "name", axis))
    if name not in account.names:
        msg = (
            f"no free size {name[:60]!r} in this account; free: {one_of(account.names)}.{nearest(name, account.names)}"
        )
        raise UnknownAxisError(msg)
    return name


def together(sizes: Mapping[str, Any] | None, axes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge what was given as a mapping and as keywords.

    Raises
    ------
    SizeError
        For what is no mapping.
    AxisConflictError
        For a name in both.

    """
    check_mapping(sizes)
    if twice := sorted(set(sizes or {}) & set(axes)):
        msg = f"{one_of(twice)} is given twice, in sizes= and as a keyword"
        raise AxisConflictError(msg)
    return {**(sizes or {}), **axes}


def figures(account: Account, sizes: Mapping[str, Any] | None, axes: Mapping[str, Any]) -> Figures:
    """Return the totals as numbers with units."""
    given = concrete(account, collect_sizes(sizes, axes, account.names))
    there = {q: Quantity(evaluate(account.total(q), given), account.unit(q)) for q in totals_of(account)}
    work = () if "flops" in there else tuple(Quantity(evaluate(n, given), unit) for unit, n in account.counts.items())
    names = dict.fromkeys(account.formats[i].name for i in (*account.graph.inputs, *account.graph.outputs))
    under = f"{account.convention.label}, {' '.join(names)}, {account.traffic}"
    uncounted = tuple(account.uncounted)
    return Figures(**there, uncounted=uncounted, under=under, work=work)


def concrete(account: Account, sizes: Mapping[str, Any]) -> dict[str, Number]:
    """Return whole numbers for all free sizes, conditions checked.

    Raises
    ------
    UndefinedSizeError
        A size is missing or still symbolic.
    SizeError
        A condition fails.

    """
    out: dict[str, Number] = {**numbers_for(account.names, sizes)}
    for condition in account.conditions:
        check_condition(condition, out)
    return out


def holds(condition: Condition, sizes: Mapping[str, Number]) -> bool:
    """Whether a derived condition holds at given sizes; a stated one is taken to."""
    if condition.kind == "stated" or isinstance(condition.left, str) or isinstance(condition.right, str):
        return True
    left, right = evaluate(condition.left, sizes), evaluate(condition.right, sizes)
    if condition.kind == "equal":
        return left == right
    return right % left == 0 if condition.kind == "divides" else left >= right


def check_condition(condition: Condition, sizes: Mapping[str, Number]) -> None:
    """Check one derived condition at given sizes.

    Raises
    ------
    SizeError
        Shows the condition and the numbers that break it.

    """
    if not holds(condition, sizes):
        sides: list[Expr] = [x for x in (condition.left, condition.right) if not isinstance(x, str | int)]
        told = ", ".join(f"{to_text(x)} = {evaluate(x, sizes)}" for x in sides)
        other = "; given when the account is made, they may have a form of their own" * (condition.kind == "at_least")
        msg = f"these sizes break a condition: {condition} ({told}){other}"
        raise SizeError(msg)
