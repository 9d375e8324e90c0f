"""The numbers of an account at given sizes, each with its unit."""

from __future__ import annotations

from dataclasses import dataclass

from symacct.units import Quantity

__all__ = ["QUANTITIES", "Figures", "Quantity"]

QUANTITIES = ("flops", "matmul_flops", "bytes", "intensity")


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
