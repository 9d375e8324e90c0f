"""What the measured times must show: the bound lies below them, and they grow as the side of the ridge says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from statistics import median
from typing import Any

from symacct.measuring import Measurement
from verify.timings.points import Point

APART = 0.3
"""How much two growths differ where they can be told apart."""

NOT_RUN = "not run here: needs a GPU"


def below(points: Iterable[Point], taken: Mapping[str, Measurement], cache: int, spread: float) -> dict[str, Any]:
    """Check that the roofline is at most the measured time, of what moves more than four times the last cache."""
    checked = [p for p in points if p.bytes > 4 * cache and p.key in taken]
    broken = [
        {"point": p.key, "bound": p.seconds, "measured": taken[p.key].median, "ratio": taken[p.key].median / p.seconds}
        for p in checked
        if taken[p.key].median < p.seconds * (1 - spread)
    ]
    return {"checked": len(checked), "within": spread, "violations": broken}


def growths(points: Sequence[Point], taken: Mapping[str, Measurement]) -> dict[str, Any]:
    """Compare how times grow between neighbouring sizes with the growth of the work, and of the bytes.

    Only where the two differ, both sizes are bound by the same, and the operation is one kernel.
    """
    checked, wrong = 0, []
    for _, group in groupby(points, key=lambda p: p.case.name):
        line = sorted(group, key=lambda p: p.sizes[p.case.free])
        for a, b in pairwise(line):
            if a.bound != b.bound or a.kernels > 1 or not a.flops or not {a.key, b.key} <= set(taken):
                continue
            step = math.log(b.sizes[b.case.free] / a.sizes[a.case.free])
            work, moved, time = (
                math.log(y / x) / step
                for x, y in ((a.flops, b.flops), (a.bytes, b.bytes), (taken[a.key].median, taken[b.key].median))
            )
            if abs(work - moved) < APART:
                continue
            checked += 1
            nearer = "compute" if abs(time - work) < abs(time - moved) else "memory"
            if nearer != a.bound:
                told = {"work": work, "bytes": moved, "time": time}
                wrong.append({"from": a.key, "to": b.key, "predicted": a.bound, "grows_like": nearer, **told})
    return {"checked": checked, "confirmed": checked - len(wrong), "others": wrong}


def turning(points: Iterable[Point], taken: Mapping[str, Measurement], first: int | None) -> dict[str, Any]:
    """Compare where `linear` turns compute bound with the corner of its measured times.

    The corner is where the time of the smallest size meets the straight line through 0 and the largest.
    """
    line = sorted((p for p in points if p.case.name == "linear" and p.key in taken), key=lambda p: p.sizes["b"])
    if len(line) < 2 or first is None:
        return {"status": "not measured"}
    flat, steep = taken[line[0].key].median, taken[line[-1].key].median / line[-1].sizes["b"]
    return {"predicted": first, "measured": flat / steep, "ratio": flat / steep / first}


def same_time(points: Iterable[Point], taken: Mapping[str, Measurement], device: str) -> dict[str, Any]:
    """Compare ReLU and GELU on as many elements; on a GPU they must differ by less than the spread."""
    times = {(p.case.name, p.sizes["n"]): taken[p.key] for p in points if p.key in taken and "n" in p.sizes}
    sizes = sorted({n for name, n in times if ("relu", n) in times and ("gelu_tanh", n) in times})
    if not sizes:
        return {"status": "not measured"}
    relu, gelu = times["relu", sizes[-1]], times["gelu_tanh", sizes[-1]]
    gap, spread = gelu.median / relu.median - 1, max(relu.spread, gelu.spread)
    verdict = ("agrees" if abs(gap) <= max(spread, 0.02) else "disagrees") if device == "cuda" else NOT_RUN
    return {"elements": sizes[-1], "gelu_over_relu": 1 + gap, "spread": spread, "status": verdict}


def middle_spread(taken: Mapping[str, Measurement]) -> float:
    """Return the middle spread of all measurements: how quiet the machine was."""
    return median(m.spread for m in taken.values()) if taken else math.inf
