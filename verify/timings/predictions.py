"""Predictions from a calibrated roofline, and how far they are off.

`at_best` is the roofline alone. `predicted` multiplies it by what the open half of the points took against it: between
two open points of an operation the factor is a power of the size, beyond them it stays what it is at the nearest. An
operation without open points takes the middle factor of its family.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median, quantiles
from typing import Any

from verify.timings.points import Point

FROM = 50e-6
"""Seconds: what takes less is mostly the call itself, and left out of the goal."""

GOAL_MEDIAN, GOAL_NINETY = 0.15, 0.40


def at_best(points: Iterable[Point], launch: float) -> dict[str, float]:
    """Return the roofline's seconds; a kernel takes at least as long as a launch."""
    return {p.key: max(p.seconds, p.kernels * launch) for p in points}


def predicted(points: Sequence[Point], best: Mapping[str, float], taken: Mapping[str, float]) -> dict[str, float]:
    """Return seconds of the points kept back; `taken` are the seconds of the open ones."""
    open_ones = [p for p in points if not p.held_back and p.key in taken]
    factors: dict[str, list[tuple[float, float]]] = {}
    for p in open_ones:
        factors.setdefault(p.case.name, []).append((_place(p), taken[p.key] / best[p.key]))
    families: dict[str, list[float]] = {}
    for p in open_ones:
        families.setdefault(p.case.family, []).append(taken[p.key] / best[p.key])
    out = {}
    for p in points:
        if p.held_back:
            known = factors.get(p.case.name) or [(0.0, median(families.get(p.case.family, [1.0])))]
            out[p.key] = best[p.key] * _between(_place(p), sorted(known))
    return out


def _place(point: Point) -> float:
    return math.log(point.sizes[point.case.free])


def _between(place: float, known: Sequence[tuple[float, float]]) -> float:
    """Return the factor at a place; its logarithm is straight between its neighbours."""
    for (x0, y0), (x1, y1) in pairwise(known):
        if x0 <= place <= x1:
            return y0 * (y1 / y0) ** ((place - x0) / (x1 - x0))
    return known[0][1] if place < known[0][0] else known[-1][1]


@dataclass(frozen=True)
class Errors:
    """How far predictions are off, as shares of what was measured."""

    of: str
    count: int
    median: float
    ninety: float
    worst: float

    @property
    def reached(self) -> bool:
        return self.median <= GOAL_MEDIAN and self.ninety <= GOAL_NINETY

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "reached": self.reached}


def errors(
    points: Iterable[Point], guessed: Mapping[str, float], taken: Mapping[str, float]
) -> tuple[Errors, dict[str, Errors]]:
    """Return the errors of all points from 50 us on that were guessed and taken, and by family."""
    families: dict[str, list[float]] = {}
    for p in points:
        if p.key in guessed and taken.get(p.key, 0.0) >= FROM:
            families.setdefault(p.case.family, []).append(abs(guessed[p.key] - taken[p.key]) / taken[p.key])
    everything = [e for several in families.values() for e in several]
    return _errors("all", everything), {name: _errors(name, several) for name, several in families.items()}


def _errors(name: str, found: Sequence[float]) -> Errors:
    if not found:
        return Errors(name, 0, math.inf, math.inf, math.inf)
    ninety = quantiles(found, n=10, method="inclusive")[-1] if len(found) > 1 else found[0]
    return Errors(name, len(found), median(found), ninety, max(found))
