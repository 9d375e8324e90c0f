"""Ink: boxes, lines and text of placed graphs, in inches."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from symacct.plot.bounds import Bound
from symacct.plot.layers import Spot
from symacct.plot.panel import FONT, GAP, LINE, SMALL, Panel, height_of, measured, shape_of, width_of

COLOURS: Mapping[Bound, str] = {"memory": "#f5c870", "compute": "#2f6ea5", "free": "#ffffff", "unknown": "#d9d9d9"}
"""Told apart by the colour-blind, and in print by how dark they are."""

INK, FAINT = "#202020", "#8a8a8a"
MARGIN, HEAD, FOOT, NARROWEST = 0.25, 0.62, 0.67, 5.4
"""Inches: around the picture, for the title, for the legend, and how wide that is."""


@dataclass(frozen=True)
class Place:
    """Where a spot is: the middle, and where lines come in and leave."""

    x: float
    top: float
    bottom: float


def paint(panels: Sequence[Panel], title: str, under: str, ridge: float | None) -> Any:
    """Return a figure with panels side by side, a title above and a legend below."""
    from matplotlib.figure import Figure

    widths = [right - left for left, right in (p.sides for p in panels)]
    inside = sum(widths) + 2 * GAP * (len(panels) - 1)
    width = max(inside, NARROWEST) + 2 * MARGIN
    height = HEAD + max(-p.rows[-1][1] for p in panels) + FOOT
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    axes.axis("off")
    if measured(title, FONT + 1) * 1.15 > width - 2 * MARGIN:
        title = title.partition("(")[0]  # what a function takes is drawn
    axes.text(MARGIN, height - 0.2, title, fontsize=FONT + 1, weight="bold", color=INK, va="center", parse_math=False)
    axes.text(MARGIN, height - 0.38, under, fontsize=SMALL + 0.5, color=FAINT, va="center")
    x = (width - inside) / 2
    for number, (panel, wide) in enumerate(zip(panels, widths, strict=True)):
        _paint_panel(axes, panel, number, x - panel.sides[0], height - HEAD)
        x += wide + 2 * GAP
    _legend(axes, {b for p in panels for b in p.bounds.values()}, ridge)
    return figure


def _paint_panel(axes: Any, panel: Panel, number: int, left: float, top: float) -> None:
    if panel.title:
        middle = left + sum(panel.sides) / 2
        axes.text(
            middle, top + 0.1, panel.title, fontsize=FONT, style="italic", color=INK, ha="center", parse_math=False
        )
    places = {}
    for row, layer in zip(panel.rows, panel.placed.layers, strict=True):
        for spot in layer:
            half = height_of(panel.texts[spot]) / 2 if spot in panel.texts else (row[0] - row[1]) / 2
            middle = top + (row[0] + row[1]) / 2
            places[spot] = Place(panel.placed.x[spot] + left, middle + half, middle - half)
    _paint_lines(axes, panel, places)
    for spot in panel.texts:
        _paint_box(axes, panel, spot, places[spot], f"{spot.kind}-{number}-{spot.id}")


def _paint_box(axes: Any, panel: Panel, spot: Spot, at: Place, gid: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    lines, bound = panel.texts[spot], panel.bounds.get(spot)
    wide = width_of(lines)
    is_param = spot.kind == "in" and panel.graph.tensors[spot.id].role == "param"
    box = FancyBboxPatch(
        (at.x - wide / 2, at.bottom),
        wide,
        at.top - at.bottom,
        boxstyle=f"round,pad=0,rounding_size={0.03 if bound else 0.13}",
        facecolor=COLOURS[bound or "free"],
        edgecolor=FAINT if is_param or bound == "free" else INK,
        linewidth=0.7,
        linestyle="dashed" if bound == "free" else "solid",
        zorder=3,
    )
    box.set_gid(gid)
    axes.add_patch(box)
    colour = "white" if bound == "compute" else INK
    for i, line in enumerate(lines):
        y = at.top - LINE * (i + 0.9)
        size = SMALL if i else FONT
        axes.text(at.x, y, line, fontsize=size, color=colour, ha="center", va="center", zorder=4, parse_math=False)


def _paint_lines(axes: Any, panel: Panel, places: Mapping[Spot, Place]) -> None:
    """Draw every line from the bottom of one box to the top of another, and write each shape once."""
    ports = _ports(panel, places)
    told: set[int] = set()
    for tensor, spots in panel.placed.lines:
        points = [(places[spots[0]].x, places[spots[0]].bottom)]
        for via in (places[spot] for spot in spots[1:-1]):
            points += [(via.x, via.top), (via.x, via.bottom)]
        points.append(ports[tensor, spots[-1]])
        axes.add_patch(_arrow(points))
        if spots[0].kind == "op" and tensor not in told:
            told.add(tensor)
            (x0, y0), (x1, y1) = points[:2]
            plate = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            text = axes.text(
                (x0 + x1) / 2, (y0 + y1) / 2, shape_of(panel.graph.tensors[tensor]), bbox=plate, zorder=2.5
            )
            text.set(fontsize=SMALL - 0.5, color=INK, ha="center", va="center")


def _arrow(points: Sequence[tuple[float, float]]) -> Any:
    """Return a line through points that leaves each of them vertically."""
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    codes, vertices = [Path.MOVETO], [points[0]]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        codes += [Path.CURVE4] * 3
        vertices += [(x0, middle), (x1, middle), (x1, y1)]
    path = Path(vertices, codes)
    return FancyArrowPatch(path=path, arrowstyle="-|>", mutation_scale=6, linewidth=0.7, color=INK, zorder=2)


def _ports(panel: Panel, places: Mapping[Spot, Place]) -> dict[tuple[int, Spot], tuple[float, float]]:
    """Return where each line ends: side by side along the top of the box, in the order in which they come."""
    coming: dict[Spot, list[tuple[float, int]]] = {}
    for tensor, spots in panel.placed.lines:
        coming.setdefault(spots[-1], []).append((places[spots[-2]].x, tensor))
    ports = {}
    for spot, lines in coming.items():
        step = min(width_of(panel.texts[spot]) * 0.7 / len(lines), 0.25)
        for i, (_, tensor) in enumerate(sorted(lines)):
            ports[tensor, spot] = (places[spot].x + (i - (len(lines) - 1) / 2) * step, places[spot].top)
    return ports


def _legend(axes: Any, bounds: set[Bound], ridge: float | None) -> None:
    """Say what the colours mean, of those that appear."""
    from matplotlib.patches import Patch

    told: dict[Bound, str] = {
        "memory": f"memory-bound: below the ridge of {ridge:g} FLOP/B" if ridge else "",
        "compute": f"compute-bound: from {ridge:g} FLOP/B on" if ridge else "",
        "free": "free: moves and computes nothing",
        "unknown": f"not known: {'depends on sizes, or on what is inside' if ridge else 'no ridge is given'}",
    }
    handles = [
        Patch(
            facecolor=COLOURS[bound],
            edgecolor=FAINT if bound == "free" else INK,
            linestyle="dashed" if bound == "free" else "solid",
            linewidth=0.7,
            label=label,
        )
        for bound, label in told.items()
        if bound in bounds
    ]
    axes.legend(handles=handles, loc="lower center", ncols=2, fontsize=SMALL + 0.5, frameon=False, borderaxespad=0.4)
