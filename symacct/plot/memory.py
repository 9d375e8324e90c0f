"""The memory of a training step as a picture: what is alive after each operation, stacked by role."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from symacct.memory import Timeline
from symacct.plot.style import FONT, SMALL, chart

COLOURS = {
    "parameters": "#1b3a57",
    "gradients": "#2f6ea5",
    "master copies": "#5b9bd0",
    "optimizer state": "#a9cce8",
    "casts": "#7a5195",
    "activations": "#f5a742",
    "logits": "#f9d38c",
    "results": "#fbe7be",
    "backward": "#d1495b",
    "inputs": "#9c9c9c",
    "temporaries": "#5f7f4f",
}
"""Told apart by the colour-blind, what lasts in blue."""


def memory_chart(line: Timeline) -> Any:
    """Return a figure of what is alive over a step, stacked by role, and where the peak is."""
    totals, figures = line.totals, line.figures
    most = max(totals)
    unit, scale = _unit(most)
    picture, axis = chart("memory over a step of training", line.title, width=8, height=4.4)
    _paint(axis, line, scale)
    at = totals.index(most)
    told = f"peak {figures.peak}\n{figures.phase}, after {figures.where}"
    place = at / len(totals)
    side = "left" if place < 0.4 else "right" if place > 0.6 else "center"
    axis.annotate(
        told, (at + 0.5, most / scale), (0, 6), textcoords="offset points", fontsize=SMALL, ha=side, parse_math=False
    )
    axis.set_ylim(0, 1.22 * most / scale)
    axis.set_ylabel(f"bytes alive, {unit}", fontsize=FONT)
    axis.set_xlabel("operations, in order", fontsize=FONT)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=SMALL, reverse=True)
    return picture


def _paint(axis: Any, line: Timeline, scale: float) -> None:
    """Stack the roles, and mark the phases."""
    count = len(line.phases)
    moments = [*range(count), count * 1.05]  # the update is one moment; drawn wider, so that it shows
    heights = [[bytes / scale for bytes in (*along, along[-1])] for along in line.roles.values()]
    axis.stackplot(moments, heights, labels=list(line.roles), colors=[COLOURS[r] for r in line.roles], step="post")
    axis.set_xlim(0, moments[-1])
    for phase, start, end in _runs(line.phases):
        if start:
            axis.axvline(start, color="#202020", linewidth=0.7, linestyle="dotted")
        middle = (start + (end if end < count else moments[-1])) / 2
        axis.text(middle, 0.985, phase, transform=axis.get_xaxis_transform(), ha="center", va="top", fontsize=SMALL)


def _runs(phases: Sequence[str]) -> list[tuple[str, int, int]]:
    out, start = [], 0
    for phase, same in itertools.groupby(phases):
        length = len(list(same))
        out.append((phase, start, start + length))
        start += length
    return out


def _unit(most: float) -> tuple[str, float]:
    """Return the unit in which an axis is written, and its bytes."""
    return next(((u, s) for u, s in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)) if most >= s), ("B", 1))
