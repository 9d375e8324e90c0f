"""The numbers of an account at given sizes, each with its unit."""

from __future__ import annotations

from dataclasses import dataclass

from symacct.units import Quantity

__all__ = ["QUANTITIES", "Figures", "Quantity"]

QUANTITIES = ("flops", "matmul_flops", "bytes", "intensity", "params")


@dataclass(frozen=True, slots=True)
class Figures:
    """The numbers of an account at given sizes; no intensity where nothing is moved, parameters where some are known.

    Under ``mac``, multiply-accumulates and operations side by side are `work`, and neither flops nor an intensity.
    Where `uncounted` operations are passed over, flops and intensity are partial; `under` says how one counted.
    """

    matmul_flops: Quantity
    bytes: Quantity
    flops: Quantity | None = None
    intensity: Quantity | None = None
    params: Quantity | None = None
    uncounted: tuple[str, ...] = ()
    under: str = ""
    work: tuple[Quantity, ...] = ()

    def __str__(self) -> str:
        """Print one figure a line."""
        rows: list[tuple[str, object]] = [("work", amount) for amount in self.work]
        rows += [(name, q) for name in QUANTITIES if (q := getattr(self, name))]
        rows += [("intensity", "none: nothing is moved")] if self.bytes.value == 0 else []
        rows += [("NOT COUNTED", f"{', '.join(self.uncounted)}: the figures are partial")] if self.uncounted else []
        rows += [("under", self.under)] if self.under else []
        return "\n".join(f"{name:<13} {figure}" for name, figure in rows)

    def to_json(self) -> dict[str, object]:
        """Return exact values (fractions as text) with their units."""
        out: dict[str, object] = {}
        for name in QUANTITIES:
            q = getattr(self, name)
            if q is None:
                continue
            out[name] = _exact(q)
        if self.work:
            out["work"] = [_exact(q) for q in self.work]
        return out


def _exact(q: Quantity) -> dict[str, object]:
    exact = q.value if type(q.value) is int else str(q.value)
    return {"value": exact, "float": float(q.value) if q.value < 10**308 else None, "unit": q.unit}
