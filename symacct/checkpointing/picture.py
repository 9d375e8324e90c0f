"""The curve of memory against recomputed operations as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from symacct.accounting import Quantity
from symacct.plot.style import FONT, GRID, INK, SERIES, chart, check_path, need_matplotlib, save

if TYPE_CHECKING:
    from symacct.checkpointing.curve import Curve

UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))


def draw_curve(curve: Curve, path: str | Path | None = None) -> Any:
    """Draw peak memory against recomputed operations, in percent of the forward pass.

    Parameters
    ----------
    curve
        What `symacct.checkpoint_curve` returns.
    path
        A file to write, ``.svg``, ``.png`` or ``.pdf``; None for none.

    Returns
    -------
    A matplotlib figure where `path` is None, else the path that was written.

    Raises
    ------
    MissingPackageError
        Without matplotlib.
    ConventionError
        For another kind of file.

    """
    check_path(path)
    need_matplotlib()
    least = f"least: {Quantity(curve.points[-1].memory, 'B')}"
    figure, axes = chart(f"{curve.title}: memory against recomputation", least, width=6.4, height=4)
    shares = [100 * float(p.again / curve.forward) if curve.forward else 0.0 for p in curve.points]
    most = max(float(p.memory) for p in curve.points)
    scale, unit = next((s, u) for s, u in UNITS if most >= s or s == 1)
    # between two plans the better one that fits is the one with less memory
    held = [float(p.memory) / scale for p in curve.points]
    axes.step(held, shares, where="pre", marker="o", markersize=3.5, color=SERIES[0], linewidth=1.4)
    axes.set_xlabel(f"most that is held for the backward pass, {unit}", fontsize=FONT, color=INK)
    axes.set_ylabel("executed again, % of the forward pass", fontsize=FONT, color=INK)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, color=GRID, linewidth=0.5)
    return save(figure, path)
