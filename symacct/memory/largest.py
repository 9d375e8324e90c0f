"""The largest batch, sequence, width or number of layers at which a step of training fits into memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from symacct.accounting.numbers import axis_name, check_condition, holds
from symacct.accounting.walk import conditions_of
from symacct.errors import ConventionError, InconclusiveError, SizeError, one_of
from symacct.expr import (
    Expr,
    Number,
    Poly,
    Size,
    Sympy,
    add,
    collect_sizes,
    degree,
    evaluate,
    from_sympy,
    names_in,
    numerator,
    positive_roots,
    substitute,
    to_json,
)
from symacct.graph import Condition
from symacct.memory.amounts import amount
from symacct.units import Quantity

if TYPE_CHECKING:
    from symacct.memory.ledger import Ledger


@dataclass(frozen=True, repr=False)
class Largest:
    """The largest size at which a step fits into memory: a number, or the smallest of some forms.

    Attributes
    ----------
    axis
        The size.
    memory
        Bytes.
    value
        The largest whole size; None where other sizes are names.
    forms
        Where other sizes are names, the size at which each candidate for the peak takes all memory; the smallest of
        them is the bound.
    peak
        What takes the most at the largest size.
    conditions
        Where other sizes are names: from how many turns of repeats on the forms hold.
    under
        The policy, the optimizer, and the kernel of its update.
    """

    axis: str
    memory: Expr
    value: int | None
    forms: tuple[Sympy, ...] = ()
    peak: str = ""
    conditions: tuple[Condition, ...] = ()
    under: Mapping[str, str | None] = field(default_factory=dict)

    def __str__(self) -> str:
        """Print as a sentence."""
        into = f"{self.memory} bytes" if isinstance(self.memory, Poly) else str(Quantity(self.memory, "B"))
        into += f" under {', '.join(name for name in self.under.values() if name)}" if self.under else ""
        if self.value is None:
            where = f", where {one_of(map(str, self.conditions))}" if self.conditions else ""
            return f"{self.axis} <= {' and '.join(map(str, self.forms))} in {into}{where}"
        if not self.value:
            return f"not even {self.axis} = 1 fits into {into}: {self.peak}"
        return f"{self.axis} <= {self.value:,} in {into}; the most is alive in {self.peak}"

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able data with stable keys."""
        return {
            "axis": self.axis,
            "memory": to_json(self.memory),
            "value": self.value,
            "forms": [to_json(from_sympy(form)) for form in self.forms],
            "peak": self.peak,
            "conditions": [str(c) for c in self.conditions],
            **self.under,
        }


def largest(
    ledger: Ledger, axis: Any, memory: Any, sizes: Mapping[str, Any] | None, axes: Mapping[str, Any]
) -> Largest:
    """Return the largest size of an axis that fits; see `Ledger.largest`."""
    n = axis_name(cast("Any", ledger), axis)
    given = collect_sizes(sizes, axes, ledger.names)
    if n in given:
        msg = f"{n} is what is asked, and it is given too, as {given[n]}"
        raise ConventionError(msg)
    most, under = amount("memory", memory, "B"), ledger.step.under
    left = [x for x in ledger.names if x != n and isinstance(given.get(x, _NAME), Poly)]
    if left or isinstance(most, Poly):
        ledger = ledger.with_sizes(given)
        return Largest(n, most, None, _forms(ledger, n, most, given), "", ledger.conditions_at(given), under)
    numbers = {x: int(size) for x, size in given.items()}  # type: ignore[arg-type]
    value, peak = _largest(ledger, n, most, numbers)
    return Largest(n, most, value, (), peak, under=under)


def _forms(ledger: Ledger, n: str, most: Expr, given: Mapping[str, Size]) -> tuple[Sympy, ...]:
    """Return the sizes at which candidates take all memory, each once."""
    forms: dict[Sympy, None] = {}
    for peak in ledger.peaks:
        gap = numerator(add((substitute(peak.bytes, given), -most)))
        if n not in names_in(gap):
            continue
        if degree(gap, n) > 2:
            msg = f"degree {degree(gap, n)} in {n} with {one_of(sorted(set(names_in(gap)) - {n}))} still names"
            raise InconclusiveError(msg + "; give these sizes as numbers")
        forms |= dict.fromkeys(positive_roots(gap, n)[-1:])
    return tuple(forms)


def _largest(ledger: Ledger, n: str, most: Expr, given: Mapping[str, int]) -> tuple[int, str]:
    """Return the largest whole size, by doubling and halving: more of any size never takes less memory."""
    conditions = conditions_of(ledger.step.graph)
    _check_others(conditions, n, given)
    limits = _limits(conditions, n, given)

    def fits(size: int) -> bool:
        sizes = {**given, n: size}
        within = all(evaluate(side, sizes) <= limit for side, limit in limits)
        return within and bool(peak_at(ledger, sizes)[0] <= most)  # type: ignore[operator]

    high = 1
    while fits(high):
        high *= 2
        if high > _ENDLESS:
            msg = f"the memory of a step does not depend on {n}, or hardly: {n} = {high:,} still fits"
            raise InconclusiveError(msg)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    while low and not all(holds(c, {**given, n: low}) for c in conditions):
        low -= 1
    return low, peak_at(ledger, {**given, n: max(low, 1)})[1]


def _limits(conditions: Iterable[Condition], axis: str, given: Mapping[str, int]) -> list[tuple[Expr, Number | float]]:
    """Return the sides of conditions that grow with the axis, and what each can be at most."""
    out: list[tuple[Expr, Number | float]] = []
    for c in conditions:
        if isinstance(c.left, str) or isinstance(c.right, str):
            continue
        both = (c.left, c.right), (c.right, c.left)
        for side, other in {"divides": both[:1], "at_least": both[1:]}.get(c.kind, both):
            if axis in names_in(side) and axis not in names_in(other):
                low, high = (evaluate(side, {**given, axis: size}) for size in (1, _ENDLESS))
                out += [(side, evaluate(other, given))] if low < high else []
    return out


def _check_others(conditions: Iterable[Condition], axis: str, given: Mapping[str, int]) -> None:
    """Check the conditions that no size of the axis can mend."""
    for c in conditions:
        if axis not in {n for side in (c.left, c.right) if not isinstance(side, str) for n in names_in(side)}:
            check_condition(c, given)


_ENDLESS = 2**60
_NAME = Poly({})


def peak_at(ledger: Ledger, sizes: Mapping[str, int]) -> tuple[Expr, str]:
    """Return the most bytes that are alive at given sizes, and when."""
    found = ledger.with_sizes(sizes).peaks
    bytes, peak = max(((evaluate(p.bytes, sizes), p) for p in found), key=lambda at: at[0])
    return bytes, f"{peak.phase}, right after {peak.where}"  # type: ignore[return-value]


@dataclass(frozen=True)
class Accumulation:
    """How a batch is taken in parts that fit: `micro_batches` of `micro_batch` each; their mean losses by `scale`."""

    axis: str
    batch: int
    micro_batches: int
    micro_batch: int

    @property
    def scale(self) -> str:
        """What each mean loss is multiplied with, so that the gradients add up to those of the whole batch."""
        return f"1/{self.micro_batches}"

    def __str__(self) -> str:
        """Print as a sentence."""
        return (
            f"{self.micro_batches} micro-batches of {self.axis} = {self.micro_batch} for {self.axis} = {self.batch}; "
            f"each mean loss times {self.scale}, gradients added up"
        )

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able data with stable keys."""
        return {
            "axis": self.axis,
            "batch": self.batch,
            "micro_batches": self.micro_batches,
            "micro_batch": self.micro_batch,
            "scale": self.scale,
        }


def accumulation(
    ledgers: tuple[Ledger, Ledger], axis: str, batch: Any, most: Any, given: Mapping[str, int]
) -> Accumulation:
    """Return the fewest equal parts of a batch that fit: all at once, or added up in gradients that stay."""
    if type(batch) is not int or batch < 1:
        msg = f"a batch of {batch!r}; it is a whole number of at least 1"
        raise SizeError(msg)
    bytes, conditions = amount("memory", most, "B"), conditions_of(ledgers[0].step.graph)
    _check_others(conditions, axis, given)
    allowed = [d for d in _divisors(batch) if all(holds(c, {**given, axis: batch // d}) for c in conditions)]
    if not allowed:
        msg = f"no equal parts of {axis} = {batch:,} keep to {one_of(map(str, conditions))}"
        raise SizeError(msg)
    for parts in allowed:
        if peak_at(ledgers[parts > 1], {**given, axis: batch // parts})[0] <= bytes:  # type: ignore[operator]
            return Accumulation(axis, batch, parts, batch // parts)
    least = batch // allowed[-1]
    needs = peak_at(ledgers[1], {**given, axis: least})
    msg = f"not even {axis} = {least} fits: {Quantity(needs[0], 'B')} in {needs[1]}"  # type: ignore[arg-type]
    raise InconclusiveError(msg)


def _divisors(n: int) -> list[int]:
    """Return the divisors, the smallest first."""
    small = [i for i in range(1, math.isqrt(n) + 1) if n % i == 0]
    return sorted({*small, *(n // i for i in small)})
