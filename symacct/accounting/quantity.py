"""Numbers with units: `8.796 TFLOP`, `2.416 GB (2.250 GiB)`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from symacct.errors import MixedUnitsError, SizeError

_DECIMAL = (
    (10**24, "Y"),
    (10**21, "Z"),
    (10**18, "E"),
    (10**15, "P"),
    (10**12, "T"),
    (10**9, "G"),
    (10**6, "M"),
    (10**3, "k"),
)
QUANTITIES = ("flops", "matmul_flops", "bytes", "intensity")
_BINARY = ((2**50, "Pi"), (2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))


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
        """Print with a prefix; bytes in decimal and binary units, small values in full."""
        if self.unit == "B":
            decimal, binary = _scaled(self.value, _DECIMAL, "B"), _scaled(self.value, _BINARY, "B")
            return decimal if binary == decimal else f"{decimal} ({binary})"
        if self.unit == "s":
            return f"{float(self.value):.4g} s"
        return _scaled(self.value, () if "/" in self.unit else _DECIMAL, self.unit)

    def __repr__(self) -> str:
        """Show the exact number and the unit."""
        return f"Quantity({self.value}, {self.unit!r})"


def _scaled(value: float | Fraction, prefixes: tuple[tuple[int, str], ...], unit: str) -> str:
    if prefixes and value >= 10**27:
        n = Fraction(value)
        return f"{Decimal(n.numerator) / n.denominator:.3e} {unit}"
    for scale, prefix in prefixes:
        if value >= scale:
            return f"{float(value / scale):.3f} {prefix}{unit}"
    return f"{value} {unit}" if type(value) is int else f"{float(value):.6g} {unit}"


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of an account at given sizes; no intensity where nothing is moved.

    Where `uncounted` operations are passed over, flops and intensity are partial; `under` says how one counted.
    """

    flops: Quantity
    matmul_flops: Quantity
    bytes: Quantity
    intensity: Quantity | None
    uncounted: tuple[str, ...] = ()
    under: str = ""

    def __str__(self) -> str:
        """Print one figure a line."""
        rows = [(name, getattr(self, name) or "none: nothing is moved") for name in QUANTITIES]
        rows += [("NOT COUNTED", f"{', '.join(self.uncounted)}: the figures are partial")] if self.uncounted else []
        rows += [("under", self.under)] if self.under else []
        return "\n".join(f"{name:<13} {figure}" for name, figure in rows)

    def to_json(self) -> dict[str, dict[str, object]]:
        """Return exact values (fractions as text) with their units."""
        out: dict[str, dict[str, object]] = {}
        for name in QUANTITIES:
            q = getattr(self, name)
            if q is None:
                continue
            exact = q.value if type(q.value) is int else str(q.value)
            out[name] = {"value": exact, "float": float(q.value) if q.value < 10**308 else None, "unit": q.unit}
        return out
