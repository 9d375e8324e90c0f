"""What the measured times must show: the bound lies below them, and they grow as the side of the ridge says."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import groupby
from statistics import median
from typing import Any

from verify.timings.points import Point, Taken

TELLING = 1.7
"""How much more the work must grow than the bytes, or less, for a time to tell which of them it follows: so much that a
kernel which suits larger sizes a little better does not look like the other."""

NEAR = 2.0
"""Up to this factor from the ridge neither side rules; above this multiple of the roof something else does."""

NOT_TOLD = {
    "near the ridge": "an end lies within a factor 2 of the ridge",
    "far from the roof": "an end takes more than twice what the roofline says, so it is bound by neither",
    "within the spread": "its growth lies as near to that of the work as to that of the bytes, within the spread",
}

NOT_RUN = "not run here: needs a GPU"


def below(points: Iterable[Point], taken: Mapping[str, Taken], cache: int, spread: float) -> dict[str, Any]:
    """Check that the roofline is at most the measured time, of what moves more than four times the last cache."""
    checked = [p for p in points if p.bytes > 4 * cache and p.key in taken]
    broken = [
        {
            "point": p.key,
            "bound": p.seconds,
            "measured": taken[p.key].seconds,
            "ratio": taken[p.key].seconds / p.seconds,
        }
        for p in checked
        if taken[p.key].seconds < p.seconds * (1 - spread)
    ]
    return {"checked": len(checked), "within": spread, "violations": broken}


def growths(points: Iterable[Point], taken: Mapping[str, Taken]) -> dict[str, Any]:
    """Compare how times grow with the growth of the work, and of the bytes, from each size to the next that tells.

    Only where both sizes are bound by the same, and the operation is one kernel.
    """
    steps = []
    for _, group in groupby(points, key=lambda p: p.case.name):
        line = [p for p in group if p.key in taken and p.kernels == 1 and p.flops]
        for i, a in enumerate(line):
            b = next((p for p in line[i + 1 :] if _apart(a, p) >= TELLING), None)
            if b is not None and a.bound == b.bound:
                steps.append(_step(a, b, taken[a.key], taken[b.key]))
    verdicts = [step["verdict"] for step in steps]
    return {
        "steps": steps,
        "confirmed": verdicts.count("confirmed"),
        "refuted": verdicts.count("refuted"),
        "not_told": {reason: verdicts.count(reason) for reason in NOT_TOLD},
    }


def _apart(a: Point, b: Point) -> float:
    """Return by what factor work and bytes grow apart."""
    factor = (b.flops / a.flops) / (b.bytes / a.bytes)
    return max(factor, 1 / factor)


def _step(a: Point, b: Point, from_: Taken, to: Taken) -> dict[str, Any]:
    work, moved, time = b.flops / a.flops, b.bytes / a.bytes, to.seconds / from_.seconds
    off = math.log(time / math.sqrt(work * moved))
    side = "compute" if (off > 0) == (work > moved) else "memory"
    if any(1 / NEAR < p.over_ridge < NEAR for p in (a, b)):
        verdict = "near the ridge"
    elif any(t.seconds > NEAR * p.seconds for p, t in ((a, from_), (b, to))):
        verdict = "far from the roof"
    elif abs(off) <= from_.spread + to.spread:
        verdict = "within the spread"
    else:
        verdict = "confirmed" if side == a.bound else "refuted"
    told = {"from": a.key, "to": b.key, "predicted": a.bound, "grows_like": side, "verdict": verdict}
    return {**told, "work": work, "bytes": moved, "time": time}


def turning(points: Iterable[Point], taken: Mapping[str, Taken], first: int | None) -> dict[str, Any]:
    """Compare where `linear` turns compute bound with the corner of its measured times.

    The corner is where the time of the smallest size meets the straight line through 0 and the largest.
    """
    line = sorted((p for p in points if p.case.name == "linear" and p.key in taken), key=lambda p: p.sizes["b"])
    if len(line) < 2 or first is None:
        return {"status": "not measured"}
    flat, steep = taken[line[0].key].seconds, taken[line[-1].key].seconds / line[-1].sizes["b"]
    return {"predicted": first, "measured": flat / steep, "ratio": flat / steep / first}


def same_time(points: Iterable[Point], taken: Mapping[str, Taken], device: str) -> dict[str, Any]:
    """Compare ReLU and GELU on as many elements; on a GPU they must differ by less than the spread."""
    times = {(p.case.name, p.sizes["n"]): taken[p.key] for p in points if p.key in taken and "n" in p.sizes}
    sizes = sorted({n for name, n in times if ("relu", n) in times and ("gelu_tanh", n) in times})
    if not sizes:
        return {"status": "not measured"}
    relu, gelu = times["relu", sizes[-1]], times["gelu_tanh", sizes[-1]]
    gap, spread = gelu.seconds / relu.seconds - 1, max(relu.spread, gelu.spread)
    verdict = ("agrees" if abs(gap) <= max(spread, 0.02) else "disagrees") if device == "cuda" else NOT_RUN
    return {"elements": sizes[-1], "gelu_over_relu": 1 + gap, "spread": spread, "status": verdict}


def noise(taken: Mapping[str, Taken]) -> dict[str, float]:
    """Return the middle spread within a round, and the middle distance of a middle round from the quietest."""
    if not taken:
        return {"spread": math.inf, "apart": math.inf}
    return {"spread": median(t.spread for t in taken.values()), "apart": median(t.apart for t in taken.values())}
