"""Numbers with units: `8.796 TFLOP`, `2.416 GB (2.250 GiB)`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from symacct.errors import MixedUnitsError, SizeError
from symacct.expr.poly import whole
from symacct.units.duration import duration
from symacct.units.spelling import BINARY, DECIMAL, combine

_PREFIXES = tuple((n, p) for p, n in reversed(DECIMAL.items()))
_BINARY = tuple((n, p) for p, n in reversed(BINARY.items()))
_MANY = ((10**12, "trillion "), (10**9, "billion "), (10**6, "million "))
_HOUR = 3600
_HUGE = 10**27


@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An exact number (a float where it cannot be exact) and its unit: FLOP, MAC, B, FLOP/B, s.

    Examples
    --------
    >>> size = Quantity(4 * 12288 * 12288 * 4, "B")
    >>> print(size, int(size), size == 2415919104)
    2.416 GB (2.250 GiB) 2415919104 True

    """

    value: int | Fraction | float
    unit: str

    def __eq__(self, other: object) -> bool:
        """Compare with a quantity of the same unit, or with a plain number."""
        if isinstance(other, Quantity):
            return self.value == other.value and self.unit == other.unit
        return bool(self.value == other)

    def __hash__(self) -> int:
        """Hash the number, so that equal things hash alike."""
        return hash(self.value)

    def __add__(self, other: Quantity) -> Quantity:
        """Add a quantity of the same unit.

        Raises
        ------
        MixedUnitsError
            For unlike units.

        """
        if not isinstance(other, Quantity) or other.unit != self.unit:
            msg = f"cannot add {other!r} to a quantity in {self.unit}"
            raise MixedUnitsError(msg)
        return Quantity(self.value + other.value, self.unit)

    def __mul__(self, other: Quantity | float | Fraction) -> Quantity:
        """Multiply by a number, or by a quantity: the units are multiplied too."""
        if isinstance(other, Quantity):
            return Quantity(self.value * other.value, combine(self.unit, other.unit))
        return Quantity(self.value * other, self.unit)

    __rmul__ = __mul__

    def __truediv__(self, other: Quantity | float | Fraction) -> Quantity:
        """Divide by a number, or by a quantity: FLOP divided by FLOP/s is s."""
        if isinstance(other, Quantity):
            return Quantity(_ratio(self.value, other.value), combine(self.unit, other.unit, -1))
        return Quantity(_ratio(self.value, other), self.unit)

    def __lt__(self, other: Quantity | float | Fraction) -> bool:
        """Compare with a quantity of the same unit, or with a plain number."""
        return bool(self.value < self._like(other))

    def __le__(self, other: Quantity | float | Fraction) -> bool:
        """Compare with a quantity of the same unit, or with a plain number."""
        return bool(self.value <= self._like(other))

    def __ge__(self, other: Quantity | float | Fraction) -> bool:
        """Compare with a quantity of the same unit, or with a plain number."""
        return bool(self.value >= self._like(other))

    def __gt__(self, other: Quantity | float | Fraction) -> bool:
        """Compare with a quantity of the same unit, or with a plain number."""
        return bool(self.value > self._like(other))

    def _like(self, other: Quantity | float | Fraction) -> float | Fraction:
        if not isinstance(other, Quantity):
            return other
        if other.unit != self.unit:
            raise MixedUnitsError(f"cannot compare {self!r} with {other!r}")
        return other.value

    def __int__(self) -> int:
        """Return the whole number; only for a value that is one."""
        if self.value != int(self.value):
            msg = f"{self.value} {self.unit} is not a whole number"
            raise SizeError(msg)
        return int(self.value)

    def __float__(self) -> float:
        """Return the number as a float."""
        return float(self.value)

    def __str__(self) -> str:
        """Print with a prefix; bytes in decimal and binary units, long times in days, small values in full."""
        if self.unit == "B":
            decimal, binary = _scaled(self.value, _PREFIXES, "B"), _scaled(self.value, _BINARY, "B")
            return decimal if binary == decimal else f"{decimal} ({binary})"
        if self.unit == "s" and self.value < _HUGE:
            return duration(float(self.value))
        if self.unit == "$" and self.value < _HUGE:
            return f"${float(self.value):,.2f}" if self.value >= 1 or not self.value else f"${float(self.value):.4g}"
        if self.unit == "$/s" and self.value < _HUGE:
            return f"${float(self.value) * _HOUR:.4g}/h"
        if self.unit in ("param", "token", "token/s"):
            return _scaled(self.value, _MANY, self.unit.replace("token", "tokens").replace("param", "params"))
        return _scaled(self.value, () if self.unit in ("", "FLOP/B", "MAC/B") else _PREFIXES, self.unit)

    def __repr__(self) -> str:
        """Show the exact number and the unit."""
        return f"Quantity({self.value}, {self.unit!r})"


def _ratio(a: float | Fraction, b: float | Fraction) -> float | Fraction:
    """Divide exactly unless one of the two is a float."""
    if isinstance(a, float) or isinstance(b, float):
        return float(a) / float(b)
    return whole(Fraction(a) / b)


def _scaled(value: float | Fraction, prefixes: tuple[tuple[int, str], ...], unit: str) -> str:
    if value >= _HUGE:
        n = Fraction(value)
        return f"{Decimal(n.numerator) / n.denominator:.3e} {unit}".rstrip()
    for scale, prefix in prefixes:
        if value >= scale:
            return f"{float(value / scale):.3f} {prefix}{unit}"
    return (f"{value} {unit}" if type(value) is int else f"{float(value):.6g} {unit}").rstrip()
