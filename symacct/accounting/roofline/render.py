"""A roofline as text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.errors import InconclusiveError
from symacct.expr import Expr, add, divide, names_in, sign, to_json, to_text
from symacct.show import footnote, table

if TYPE_CHECKING:
    from symacct.accounting.roofline.core import Roofline
    from symacct.accounting.roofline.lanes import Kernel, Lane


def roofline_table(roof: Roofline) -> str:
    """See `Roofline.__str__`."""
    device = roof.machine.device
    title = f"{roof.title}   on {device.title}"
    moves = roof.account.total("bytes") != 0
    head = [
        ["peak", str(roof.peak), device.peak(roof.dtype.name).label],
        ["bandwidth", str(device.bandwidth), ""],
        ["ridge", f"{float(roof.ridge):.6g} FLOP/B", "peak / bandwidth"],
        ["intensity", to_text(roof.account.total("intensity")), "FLOP/B"] if moves else ["intensity", "none", ""],
        ["attainable", f"min(1, intensity / {float(roof.ridge):.6g})", "of the peak"],
        ["bound", roof.bound or "depends on sizes", ""],
    ]
    rows = [[k.label, to_text(k.flops), to_text(k.bytes), _engine(roof, k), _bound(roof, k)] for k in roof.kernels]
    kernels = table(["kernel", "flops", "bytes", "ridge", "compute bound"], rows)
    notes = f"\n\n{footnote('; '.join(roof.notes))}" if roof.notes else ""
    return f"{table(['', '', ''], head, title)}\n\n{kernels}{notes}"


def _lanes(kernel: Kernel) -> list[tuple[str, Lane]]:
    return [(n, lane) for n, lane in (("matrix", kernel.matrix), ("vector", kernel.vector)) if lane.flops != 0]


def _engine(roof: Roofline, kernel: Kernel) -> str:
    """Name the engines of a kernel, each with its ridge; products go where their format has its peak."""
    device = roof.machine.device
    multiplies = roof.dtype if kernel.dtype is None else kernel.dtype
    engines = {"matrix": device.peak(multiplies.name).engine, "vector": "vector"}
    return (
        ", ".join(f"{float(lane.peak / roof.machine.bandwidth):.4g} {engines[n]}" for n, lane in _lanes(kernel)) or "-"
    )


def _bound(roof: Roofline, kernel: Kernel) -> str:
    """Say whether a kernel is bound by computing: always, never, or from which size on where one size is left."""
    lanes = _lanes(kernel)
    if not lanes:
        return "never"
    signs = [sign(add((lane.seconds, -kernel.memory))) for _, lane in lanes]
    if any(s is not None and s >= 0 for s in signs):
        return "always"
    if all(s == -1 for s in signs):
        return "never"
    names = sorted({n for _, lane in lanes for x in (lane.flops, kernel.bytes) for n in names_in(x)})
    if len(names) > 1:
        return "depends"
    label = (kernel.label, lanes[0][0])
    try:
        found = next(t.solution for t in roof.turns(names[0]) if (t.label, t.engine) == label)
    except InconclusiveError:
        return "depends"
    return str(found).partition(" for ")[2]


def roofline_json(roof: Roofline) -> dict[str, Any]:
    """See `Roofline.to_json`."""
    return {
        "title": roof.account.title,
        "device": roof.machine.device.name,
        "dtype": roof.dtype.name,
        "peak": float(roof.peak),
        "bandwidth": float(roof.machine.device.bandwidth),
        "ridge": float(roof.ridge),
        "intensity": to_json(roof.account.total("intensity")) if roof.account.total("bytes") != 0 else None,
        "bound": roof.bound,
        "notes": list(roof.notes),
        "kernels": [
            {
                "computes": k.label,
                "family": k.family,
                "phase": k.phase,
                "flops": to_json(k.flops),
                "bytes": to_json(k.bytes),
                "intensity": _intensity(k),
                "matrix_peak": float(k.matrix.peak) if k.matrix.flops != 0 else None,
                "vector_peak": float(k.vector.peak) if k.vector.flops != 0 else None,
                "compute_bound": _bound(roof, k),
            }
            for k in roof.kernels
        ],
    }


def _intensity(kernel: Kernel) -> dict[str, Any] | None:
    flops: Expr = kernel.flops
    return to_json(divide(flops, kernel.bytes)) if kernel.bytes != 0 else None
