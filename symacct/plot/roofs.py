"""The roofline: intensity against speed on logarithmic axes, each kernel a point, each engine a roof with its ridge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from symacct.accounting.roofline.figures import KernelFigures, RooflineFigures
from symacct.plot.style import BOUNDS, FAINT, FONT, GRID, INK, MARKERS, SMALL, chart, shortened
from symacct.show import percent
from symacct.units import Quantity

NAMED = 10
"""So many points get a marker and a line in the legend of their own, those that take longest."""


def roofline_chart(at: RooflineFigures) -> Any:
    """Return the chart of a roofline in numbers; kernels that compute nothing have no place on it, which is said."""
    from matplotlib.ticker import NullFormatter

    told = [k for k in _merged(at.kernels) if k.flops and k.bytes]
    whole = float(at.overlapped) or 1.0
    left = [k for k in at.kernels if not (k.flops and k.bytes)]
    share = percent(sum(float(k.times.overlapped) for k in left) / whole)
    under = at.under + (f"; left out is what computes nothing: {share} of the time" if left else "")
    figure, axes = chart(f"{at.title}: roofline", under)
    peaks = [float(p) for _, p in at.roofs] or [float(at.ridge) * float(at.bandwidth)]
    bandwidth = float(at.bandwidth)
    ridges = [p / bandwidth for p in peaks]
    places = [float(k.intensity or 0) for k in told]
    low, high = min([*places, min(ridges) / 8]) / 4, max([*places, max(ridges) * 4]) * 4
    axes.loglog()
    axes.set_xlim(low, high)
    speeds = [_speed(k) for k in told]
    axes.set_ylim(min([low * bandwidth, *[s / 2 for s in speeds]]), max(peaks) * 5)
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.plot([low, max(ridges)], [low * bandwidth, max(peaks)], color=INK, linewidth=1.3, zorder=2)
    for i, ((name, peak), ridge) in enumerate(zip(at.roofs, ridges, strict=False)):
        _roof(axes, name, peak, ridge, high, first=i == 0)
    _points(axes, told, speeds, whole)
    axes.set_xlabel("arithmetic intensity, FLOP/B", fontsize=FONT, color=INK)
    axes.set_ylabel("attainable speed, FLOP/s", fontsize=FONT, color=INK)
    axes.grid(visible=True, which="major", color=GRID, linewidth=0.5)
    middle = math.sqrt(low * min(ridges))
    axes.text(middle / 1.2, middle * bandwidth * 1.2, str(at.bandwidth), fontsize=SMALL, color=INK, ha="right")
    return figure


def _roof(axes: Any, name: str, peak: Quantity, ridge: float, high: float, *, first: bool) -> None:
    height, bottom = float(peak), axes.get_ylim()[0]
    axes.plot([ridge, high], [height, height], color=INK, linewidth=1.3, linestyle="-" if first else "--", zorder=2)
    axes.plot([ridge, ridge], [bottom, height], color=FAINT, linewidth=0.8, linestyle=":", zorder=1)
    axes.text(high / 1.1, height * 1.4, f"{name}: {peak}", fontsize=SMALL, color=INK, ha="right", va="bottom")
    axes.text(ridge, bottom * 1.15, f" ridge {ridge:.4g}", fontsize=SMALL, color=FAINT, va="bottom", ha="left")


def _points(axes: Any, told: Sequence[KernelFigures], speeds: Sequence[float], whole: float) -> None:
    """Draw a point a kernel, larger where it takes more of the whole time; those that take longest are named."""
    order = sorted(range(len(told)), key=lambda i: -float(told[i].times.overlapped))
    for rank, i in enumerate(order):
        kernel, share = told[i], float(told[i].times.overlapped) / whole
        label = f"{percent(share):>5}  {shortened(kernel.label, 34)}" if rank < NAMED else None
        axes.plot(
            float(kernel.intensity or 0),
            speeds[i],
            marker=MARKERS[rank % len(MARKERS)] if rank < NAMED else ".",
            markersize=5 + 9 * math.sqrt(share),
            color=BOUNDS[kernel.times.bound],
            markeredgecolor=INK,
            markeredgewidth=0.8,
            linestyle="none",
            label=label,
            zorder=4,
        )
    bounds = dict.fromkeys(told[i].times.bound for i in order)
    if told:
        legend = axes.legend(
            title=f"share of the time; {', '.join(_COLOURS[bound] for bound in bounds)}",
            title_fontsize=SMALL,
            fontsize=SMALL,
            loc="upper left",
            bbox_to_anchor=(0.0, -0.16),
            ncols=2,
            frameon=False,
            borderaxespad=0.0,
            alignment="left",
        )
        for handle in legend.legend_handles:
            handle.set_markersize(6)


_COLOURS = {"compute": "blue: compute bound", "memory": "yellow: memory bound", "launch": "grey: launch bound"}


def _merged(kernels: Sequence[KernelFigures]) -> list[KernelFigures]:
    """Return kernels, those that are alike together."""
    found: dict[tuple[str, Fraction | None], list[KernelFigures]] = {}
    for k in kernels:
        found.setdefault((k.label, k.intensity), []).append(k)
    return [_sum(alike) for alike in found.values()]


def _sum(alike: Sequence[KernelFigures]) -> KernelFigures:
    first = alike[0]
    times = type(first.times)(*(sum(lane) for lane in zip(*(k.times.lanes for k in alike), strict=True)))
    return replace(first, flops=sum(k.flops for k in alike), bytes=sum(k.bytes for k in alike), times=times)


def _speed(kernel: KernelFigures) -> float:
    return float(kernel.flops) / float(kernel.times.overlapped)
