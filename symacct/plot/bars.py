"""Bars: where the time goes by operation, and from the peak down to the predicted MFU."""

from __future__ import annotations

from typing import Any

from symacct.accounting.roofline.figures import RooflineFigures
from symacct.accounting.roofline.losses import BASE, Waterfall
from symacct.plot.style import BOUNDS, FAINT, FONT, GRID, HATCHES, INK, SMALL, chart, shortened
from symacct.show import percent
from symacct.units import duration

MOST = 16
"""So many operations get a bar of their own, those that take longest."""


def time_chart(at: RooflineFigures) -> Any:
    """Return how long each operation takes at best, longest first, coloured by what bounds it."""
    from matplotlib.patches import Patch
    from matplotlib.ticker import EngFormatter

    spent: dict[tuple[str, str], float] = {}
    for k in at.kernels:
        key = (k.label, k.times.bound)
        spent[key] = spent.get(key, 0.0) + float(k.times.overlapped)
    order = sorted(spent, key=lambda key: -spent[key])
    rows = [(shortened(label, 40), bound, spent[label, bound]) for label, bound in order[:MOST]]
    rest = sum(spent[key] for key in order[MOST:])
    rows += [(f"{len(order) - MOST} more", "launch", rest)] if len(order) > MOST else []
    figure, axes = chart(f"{at.title}: time by operation", at.under, height=1.3 + 0.24 * max(len(rows), 3))
    whole = sum(spent.values()) or 1.0
    for i, (_, bound, seconds) in enumerate(rows):
        colour = "#ffffff" if i == MOST else BOUNDS[bound]
        axes.barh(i, seconds, height=0.72, color=colour, edgecolor=INK, linewidth=0.7, hatch=HATCHES[bound])
        axes.text(
            seconds, i, f" {duration(seconds)}, {percent(seconds / whole)}", fontsize=SMALL, color=INK, va="center"
        )
    _name_rows(axes, [label for label, _, _ in rows])
    axes.set_xlim(0, 1.25 * max([seconds for _, _, seconds in rows], default=1.0))
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel("time at best", fontsize=FONT, color=INK)
    bounds = dict.fromkeys(bound for _, bound, _ in rows[:MOST])
    handles = [Patch(facecolor=BOUNDS[b], edgecolor=INK, hatch=HATCHES[b], label=f"{b} bound") for b in bounds]
    axes.legend(handles=handles, fontsize=SMALL, loc="lower right", bbox_to_anchor=(1, 0.99), ncols=3, frameon=False)
    return figure


def waterfall_chart(fall: Waterfall) -> Any:
    """Return the MFU from 1 down, a step for each loss, to what is left; without products the shares of the time."""
    if fall.mfu is None:
        return _shares_chart(fall)
    steps = list(zip([x.cause for x in fall.losses], fall.points, fall.running, strict=True))
    figure, axes = chart(f"{fall.title}: why not more?", fall.note, height=1.4 + 0.3 * (len(steps) + 2))
    axes.barh(0, 1, height=0.7, color=BOUNDS["compute"], edgecolor=INK, linewidth=0.7)
    axes.text(1, 0, " 100%", fontsize=SMALL, color=INK, va="center")
    before = 1.0
    for i, (_, points, left) in enumerate(steps, 1):
        start, width = min(before, float(left)), abs(float(points))
        colour, hatch = (BOUNDS["memory"], "") if points >= 0 else ("#ffffff", "////")
        axes.barh(i, width, left=start, height=0.7, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.7)
        axes.plot([before, before], [i - 1, i], color=FAINT, linewidth=0.7, zorder=0)
        told = f" {percent(-float(points), '+')}"
        axes.text(max(before, float(left)), i, told, fontsize=SMALL, color=INK, va="center")
        before = float(left)
    last = len(steps) + 1
    axes.plot([before, before], [last - 1, last], color=FAINT, linewidth=0.7, zorder=0)
    axes.barh(last, float(fall.mfu), height=0.7, color=BOUNDS["compute"], edgecolor=INK, linewidth=0.7)
    told = f" {percent(float(fall.mfu))} in {duration(float(fall.seconds))}"
    axes.text(float(fall.mfu), last, told, fontsize=SMALL, color=INK, va="center")
    _name_rows(axes, [BASE, *(cause for cause, _, _ in steps), "predicted MFU"])
    _mark_percents(axes, "MFU")
    return figure


def _shares_chart(fall: Waterfall) -> Any:
    figure, axes = chart(f"{fall.title}: where the time goes", fall.note, height=1.4 + 0.3 * len(fall.losses))
    for i, (loss, share) in enumerate(zip(fall.losses, fall.points, strict=True)):
        axes.barh(i, float(share), height=0.7, color=BOUNDS["memory"], edgecolor=INK, linewidth=0.7)
        told = f" {percent(float(share))}, {duration(float(loss.seconds))}"
        axes.text(float(share), i, told, fontsize=SMALL, color=INK, va="center")
    _name_rows(axes, [loss.cause for loss in fall.losses])
    _mark_percents(axes, "share of the time")
    return figure


def _mark_percents(axes: Any, label: str) -> None:
    axes.set_xlim(0, 1.15)
    axes.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1.0], ["0%", "20%", "40%", "60%", "80%", "100%"])
    axes.set_xlabel(label, fontsize=FONT, color=INK)


def _name_rows(axes: Any, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), names, fontsize=SMALL + 0.5, parse_math=False)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=True, axis="x", color=GRID, linewidth=0.5)
