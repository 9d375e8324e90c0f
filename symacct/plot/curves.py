"""Curves: totals along a size, and which term is the largest along one size or in the plane of two."""

from __future__ import annotations

import itertools
from typing import Any

from symacct.accounting.quantity import QUANTITIES
from symacct.accounting.regimes import Regimes
from symacct.accounting.sweep import Sweep
from symacct.errors import ConventionError, one_of
from symacct.plot.style import DASHES, FONT, GRID, INK, SERIES, SMALL, chart, shortened

LINES = 7


def sweep_chart(sweep: Sweep, of: str) -> Any:
    """Return a total along the size with most values, a line for each combination of the others.

    Raises
    ------
    ConventionError
        For an unknown total, or more lines than can be told apart.

    """
    if of not in QUANTITIES:
        msg = f"unknown quantity {of!r}; known: {one_of(QUANTITIES)}"
        raise ConventionError(msg)
    values = sweep.values(of).astype(float)
    axis = max(sweep.axes, key=lambda n: len(sweep.axes[n]))
    x = sweep.axes[axis].astype(float)
    title = sweep.account.title if sweep.account.order else sweep.account.title.partition("(")[0]
    alone = {n: v for n, v in sweep.axes.items() if n != axis}
    fixed = ", ".join(f"{n} = {v[0]}" for n, v in alone.items() if len(v) == 1)
    figure, axes = chart(f"{title}: {of}", fixed or sweep.account.convention.label)
    varied = {} if sweep.pairs else {n: v for n, v in alone.items() if len(v) > 1}
    lines = list(itertools.product(*(range(len(v)) for v in varied.values())))
    if len(lines) > LINES:
        msg = f"{len(lines)} lines, one for each combination of {one_of(varied)}; at most {LINES} can be told apart"
        raise ConventionError(msg)
    place = list(sweep.axes).index(axis)
    for i, chosen in enumerate(lines):
        index: list[Any] = [0] * values.ndim
        index[0 if sweep.pairs else place] = slice(None)
        for (n, _), at in zip(varied.items(), chosen, strict=True):
            index[list(sweep.axes).index(n)] = at
        label = ", ".join(f"{n} = {v[at]}" for (n, v), at in zip(varied.items(), chosen, strict=True))
        axes.plot(x, values[tuple(index)], color=SERIES[i], linestyle=DASHES[i], linewidth=1.6, label=label or None)
    axes.loglog()
    axes.set_xlabel(axis, fontsize=FONT, color=INK, parse_math=False)
    axes.set_ylabel(f"{of}, {sweep.account.unit(of)}", fontsize=FONT, color=INK)
    axes.grid(visible=True, color=GRID, linewidth=0.5)
    if varied:
        axes.legend(fontsize=SMALL, frameon=False)
    return figure


def regimes_chart(found: Regimes) -> Any:
    """Return which term rules: lines along one size with their crossings, or a map of the plane of two."""
    return _map(found) if len(found.axes) == 2 else _lines(found)


def _under(found: Regimes) -> str:
    given = ", ".join(f"{n} = {v if isinstance(v, int) else f'{float(v):.6g}'}" for n, v in found.given.items())
    return "\n".join([*map(str, found.borders), *([f"where {given}"] if given else [])])


def _lines(found: Regimes) -> Any:

    figure, axes = chart(f"{found.title}: largest of {found.of}", _under(found))
    mesh, values = found.points(513)
    x = mesh[found.axes[0]]
    for i, (name, _) in enumerate(found.terms):
        axes.plot(x, values[i], color=SERIES[i % 7], linestyle=DASHES[i % 7], linewidth=1.6, label=shortened(name, 40))
    for at, height in _crossings(x, values):
        axes.plot(at, height, marker="o", color="white", markeredgecolor=INK, markersize=7, zorder=5)
        place = {"xytext": (-6, 8), "textcoords": "offset points", "ha": "right"}
        axes.annotate(f"{found.axes[0]} = {at:.4g}", (at, height), fontsize=SMALL, color=INK, **place)
    axes.loglog()
    axes.set_xlabel(found.axes[0], fontsize=FONT, color=INK, parse_math=False)
    axes.set_ylabel(f"{found.of}, {found.unit}", fontsize=FONT, color=INK)
    axes.grid(visible=True, color=GRID, linewidth=0.5)
    axes.legend(fontsize=SMALL, frameon=False)
    return figure


def _crossings(x: Any, values: Any) -> list[tuple[float, float]]:
    """Return where the largest line changes, between two points of the logarithmic grid."""
    import numpy as np

    logs, lines = np.log(x), np.log(values)
    winner = lines.argmax(axis=0)
    out = []
    for at in np.flatnonzero(np.diff(winner)):
        a, b = winner[at], winner[at + 1]
        gap = lines[a] - lines[b]
        part = gap[at] / (gap[at] - gap[at + 1])
        place = logs[at] + part * (logs[at + 1] - logs[at])
        height = lines[a][at] + part * (lines[a][at + 1] - lines[a][at])
        out.append((float(np.exp(place)), float(np.exp(height))))
    return out


def _map(found: Regimes) -> Any:
    import numpy as np
    from matplotlib.colors import to_rgba

    figure, axes = chart(f"{found.title}: largest of {found.of}", _under(found), height=5.2)
    first, second = found.axes
    mesh, values = found.points(257)
    winner = values.argmax(axis=0)
    names = [name for name, _ in found.terms]
    present, logs = [int(i) for i in np.unique(winner)], np.log(values)
    axes.loglog()
    for rank, i in enumerate(present):
        colour = to_rgba(SERIES[rank % 7], 0.35)
        if len(present) == 1:
            axes.set_facecolor(colour)
        else:
            lead = logs[i] - np.delete(logs, i, axis=0).max(axis=0)
            hatch = [_HATCH[rank % 7]]
            axes.contourf(mesh[first], mesh[second], lead, levels=[0, np.inf], colors=[colour], hatches=hatch)
            axes.contour(mesh[first], mesh[second], lead, levels=[0], colors=[INK], linewidths=1.2)
        inside = np.argwhere(winner == i)
        middle = inside[((inside - np.median(inside, axis=0)) ** 2).sum(axis=1).argmin()]
        place = mesh[first][tuple(middle)], mesh[second][tuple(middle)]
        plate = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2}
        side = ("left", "center", "right")[_third(middle[0], len(mesh[first]))]
        axes.text(*place, shortened(names[i], 36), fontsize=FONT, color=INK, ha=side, va="center", bbox=plate)
    axes.set_xlim(*found.span[first])
    axes.set_ylim(*found.span[second])
    axes.set_xlabel(first, fontsize=FONT, color=INK, parse_math=False)
    axes.set_ylabel(second, fontsize=FONT, color=INK, parse_math=False)
    return figure


def _third(place: int, count: int) -> int:
    """Return 0 near the first, 2 near the last and 1 elsewhere, so that a name stays inside."""
    return 0 if place < 0.15 * count else 2 if place > 0.85 * count else 1


_HATCH = ("", "..", "/", "\\\\", "x", "-", "+")
