"""What bounds an account in a plane of sizes: its work on each engine against its traffic times the ridge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.accounting.regimes import Regimes, regimes
from symacct.expr import Expr, Size, add, multiply, name

if TYPE_CHECKING:
    from symacct.accounting.roofline.core import Roofline


def bounds_of(
    roof: Roofline, axes: Sequence[Any], span: Mapping[str, tuple[int, int]] | None, sizes: Mapping[str, Size]
) -> Regimes:
    """See `Roofline.regimes`: FLOP at the roof's peak that take as long; the ridge stays a name in the formulas."""
    peak, ridge = Fraction(roof.peak.value), Fraction(roof.ridge.value)
    ridge_name = "ridge" if "ridge" not in roof.account.names else "ridge_"
    matrix, vector, _, launch = roof.busy
    moved: Expr = add([k.bytes for k in roof.kernels])
    lanes = [
        ("products" if roof.machine.engines == "apart" else "computing", multiply(peak, matrix)),
        ("other work", multiply(peak, vector)),
        ("memory", multiply(name(ridge_name), moved)),
        ("launches", multiply(peak, launch)),
    ]
    parts = [(label, amount) for label, amount in lanes if amount != 0]
    told = ("time", "FLOP at the peak")
    return regimes(roof.account, axes, parts, told=told, sizes={**sizes, ridge_name: ridge}, span=span)
