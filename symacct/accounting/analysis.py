"""Questions about closed forms: leading behaviour, limits, sensitivities, crossovers, comparisons."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from symacct.accounting.numbers import axis_name
from symacct.accounting.steps import Step, counts_of
from symacct.accounting.tables import COSTS, group_of
from symacct.accounting.totals import check_parted
from symacct.conventions import matmul_work
from symacct.errors import ConventionError, InconclusiveError, one_of
from symacct.expr import (
    Expr,
    Sympy,
    add,
    coefficient,
    degree,
    derivative,
    divide,
    infinity,
    multiply,
    name,
    numerator,
    power,
    sign,
    terms_of,
    to_sympy,
    to_text,
)

if TYPE_CHECKING:
    from symacct.accounting.core import Account


By: TypeAlias = str | Callable[[Step], str] | None
"""What the terms of a total are."""


class Leading(NamedTuple):
    """The leading behaviour of each total as one size grows."""

    flops: Sympy
    matmul_flops: Sympy
    bytes: Sympy
    intensity: Sympy


def _leading(account: Account, axis: str, quantity: str) -> Expr:
    if quantity == "intensity":
        return divide(_leading(account, axis, "flops"), _leading(account, axis, "bytes"))
    total = account.total(quantity)
    top = degree(total, axis)
    return multiply(coefficient(total, axis, top), power(name(axis), top))


def leading(account: Account, axis: Any, of: str | None) -> Any:
    """See `Account.leading`."""
    n = axis_name(account, axis)
    if of is not None:
        return to_sympy(_leading(account, n, of))
    return Leading(*(to_sympy(_leading(account, n, q)) for q in Leading._fields))


def limit(account: Account, axis: Any, of: str) -> Sympy:
    """See `Account.limit`."""
    n = axis_name(account, axis)
    form = _leading(account, n, of)
    exponent = degree(form, n)
    if exponent > 0:
        return infinity()
    return to_sympy(form) if exponent == 0 else to_sympy(0)


def sensitivity(account: Account, axis: Any, of: str) -> Sympy:
    """See `Account.sensitivity`."""
    return to_sympy(_elasticity(account, axis_name(account, axis), of))


def _elasticity(account: Account, n: str, of: str) -> Expr:
    if of == "intensity":
        above, below = account.total("flops"), account.total("bytes")
        top = add((multiply(derivative(above, n), below), -multiply(above, derivative(below, n))))
        return divide(multiply(name(n), top), multiply(above, below)) if above != 0 else 0
    total = account.total(of)
    return divide(multiply(name(n), derivative(total, n)), total) if total != 0 else 0


@dataclass(frozen=True, slots=True, repr=False)
class Crossover:
    """Two terms of a total that are equal at one size; above it, `larger_above` is the larger (None: it depends)."""

    first: str
    second: str
    axis: str
    value: Expr
    larger_above: str | None

    @property
    def at(self) -> Sympy:
        """The size at which they are equal."""
        return to_sympy(self.value)

    def __str__(self) -> str:
        """Print as a sentence."""
        where = "" if sign(self.value) == 1 else ", where that is positive"
        return f"{self.first} = {self.second} at {self.axis} = {to_text(self.value)}{where}"

    __repr__ = __str__


def terms(account: Account, of: str, by: By = None) -> list[tuple[str, Expr]]:
    """Return the parts of a total with their labels: as in `Account.by`; by default operations, tensors for bytes."""
    if of not in COSTS:
        msg = f"{of!r} has no terms; known: {one_of(COSTS)}"
        raise ConventionError(msg)
    if of == "bytes" and by is None:
        return account.traffic_terms()
    check_parted(account, of)
    account.total(of)  # raises where there are two units
    label = group_of(by) if by is not None else lambda step: step.label
    parts: dict[Any, list[Expr]] = {}
    for place, step in enumerate(account.steps):
        key = (label(step), place if by is None else 0)
        parts.setdefault(key, []).append(_amount(account, step, of))
    return [(name, add(amounts)) for (name, _), amounts in parts.items()]


def _amount(account: Account, step: Step, of: str) -> Expr:
    if of == "bytes":
        return step.bytes
    work = matmul_work(step.work) if of == "matmul_flops" else step.work
    return add(counts_of([work], account.convention).values())


def crossovers(account: Account, axis: Any, of: str, by: By = None) -> list[Crossover]:
    """See `Account.crossovers`."""
    n = axis_name(account, axis)
    parts = terms(account, of, by)
    out = []
    for i, (first, a) in enumerate(parts):
        for second, b in parts[i + 1 :]:
            for at, rises in _crossings(a, b, n):
                out.append(Crossover(first, second, n, at, {1: first, -1: second, None: None}[rises]))
    return out


def _crossings(a: Expr, b: Expr, n: str) -> list[tuple[Expr, int | None]]:
    """Return where ``a = b``, in ascending order, each with the sign of ``a - b`` above.

    Raises
    ------
    InconclusiveError
        Where there is no closed form, or whether there is such a size depends on other names.

    """
    if a == 0 or b == 0:
        return []
    gap = numerator(add((divide(a, b), -1)))  # the quotient is without common factors
    degree(gap, n)  # raises where the name stands inside a rounding
    powers = sorted({dict(m).get(n, 0) for m in terms_of(gap)}, reverse=True)
    if len(powers) < 2:
        return []
    factors = [coefficient(gap, n, e) for e in powers]
    steps = [first - second for first, second in itertools.pairwise(powers)]
    signs = [sign(f) for f in factors]
    if len(powers) == 2 and (None not in signs or steps == [1]):
        if signs in ([1, 1], [-1, -1]):
            return []
        return [(power(divide(-factors[1], factors[0]), Fraction(1) / steps[0]), signs[0])]
    if steps == [1, 1] and None not in (signs[0], signs[2]):
        found = _quadratic([f if signs[0] == 1 else -f for f in factors])
        if found is not None:
            return [(root, rises * signs[0]) for root, rises in found]  # type: ignore[operator]
    msg = f"no closed form of the {n} at which {to_text(a)} = {to_text(b)}; give some sizes as numbers"
    raise InconclusiveError(msg)


def _quadratic(factors: list[Expr]) -> list[tuple[Expr, int]] | None:
    """Return the positive roots of ``a*n**2 + b*n + c`` with a > 0, each with the sign above; None where it depends."""
    a, b, c = factors
    inside = add((multiply(b, b), multiply(-4, multiply(a, c))))
    if sign(c) == 1:
        if sign(b) in (0, 1) or sign(inside) in (0, -1):
            return []
        if sign(b) is None or sign(inside) is None:
            return None
    root = power(inside, Fraction(1, 2))
    larger = divide(add((root, -b)), multiply(2, a))
    if sign(c) == -1:
        return [(larger, 1)]
    return [(divide(-add((root, b)), multiply(2, a)), -1), (larger, 1)]
