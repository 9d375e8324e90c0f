"""A quantity that is only known to lie between two ends: `0.3..0.5`, `10..20 days`."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from symacct.errors import SizeError
from symacct.units.quantity import Quantity
from symacct.units.reading import quantity, split_number


class Range(NamedTuple):
    """The least and the largest of a quantity.

    Examples
    --------
    >>> print(read_range("0.3..0.5", ""), "|", read_range("10..20 days", "s"))
    0.3 to 0.5 | 10 days to 20 days

    """

    low: Quantity
    high: Quantity

    def __str__(self) -> str:
        """Print both ends."""
        return f"{self.low} to {self.high}"


def read_range(given: str | float | Fraction | Quantity | tuple[object, object], unit: str) -> Quantity | Range:
    """Read a quantity of a unit, or a range of it: text with ``..`` between the ends, or a pair.

    Raises
    ------
    SizeError
        For ends in the wrong order, and as `quantity`.
    MixedUnitsError
        For another unit.

    """
    if isinstance(given, tuple):
        if len(given) != 2:
            raise SizeError(f"{repr(given)[:60]} is no range; write its two ends")
        ends = given
    elif isinstance(given, str) and ".." in given:
        left, _, right = given.partition("..")
        ends = (left if split_number(left)[1] else left + split_number(right)[1], right)
    else:
        return quantity(given, unit)
    low, high = (quantity(end, unit) for end in ends)  # type: ignore[arg-type]
    if not low < high:
        raise SizeError(f"{repr(given)[:60]} runs from {low} to {high}; write the smaller end first")
    return Range(low, high)
