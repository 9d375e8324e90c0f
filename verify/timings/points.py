"""One operation at one size: what a roofline says of it, and how long it took; half of the points are kept back.

Every other size of an operation is kept back, the smallest is open: a prediction lies between two sizes that were
measured, or beyond the largest of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from symacct.accounting.roofline import Roofline
from symacct.eager.inputs import whole
from symacct.measuring import Measurement
from symacct.measuring.timing import measure
from verify.timings.cases import Case


@dataclass(frozen=True)
class Point:
    """One operation at one size, with what is known of it before it is run: seconds at best, and what bounds it."""

    case: Case
    sizes: Mapping[str, int]
    dtype: str
    seconds: float
    """At best: every kernel takes what its longest part takes."""
    bound: str
    over_ridge: float
    """Seconds of computing over those of moving: the intensity as a multiple of the ridge."""
    flops: float
    bytes: float
    kernels: int
    held_back: bool = False

    @property
    def key(self) -> str:
        told = " ".join(f"{n}={size}" for n, size in sorted(self.sizes.items()))
        return f"{self.case.name} {self.dtype} {told}"


@dataclass(frozen=True)
class Taken:
    """One point measured in several rounds, with all others between them; the quietest counts.

    What else runs on a machine only ever adds to a time, and for seconds on end: for all samples of one round.
    """

    rounds: Sequence[Measurement]

    @property
    def quietest(self) -> Measurement:
        return min(self.rounds, key=lambda m: m.median)

    @property
    def seconds(self) -> float:
        return self.quietest.median

    @property
    def spread(self) -> float:
        return self.quietest.spread

    @property
    def apart(self) -> float:
        """By what share the round in the middle lies above the quietest."""
        return median(m.median for m in self.rounds) / self.seconds - 1


def points(cases: Iterable[Case], roofs: Mapping[str, Roofline], device: str, dtype: str, cache: int) -> list[Point]:
    """Return every point of the grid, the sizes of an operation in order; every other one is kept back."""
    return [
        _point(case, sizes, roofs[case.name], dtype, held_back=i % 2 == 1)
        for case in cases
        for i, sizes in enumerate(case.sizes(device, dtype, cache))
    ]


def _point(case: Case, sizes: Mapping[str, int], roof: Roofline, dtype: str, *, held_back: bool) -> Point:
    at = roof.at(sizes=sizes)
    matrix, vector, memory, _ = (sum(lane) for lane in zip(*(k.times.lanes for k in at.kernels), strict=True))
    return Point(
        case,
        sizes,
        dtype,
        seconds=float(at.overlapped),
        bound=at.bound,
        over_ridge=float(max(matrix, vector) / memory),
        flops=sum(float(k.flops) for k in at.kernels),
        bytes=sum(float(k.bytes) for k in at.kernels),
        kernels=len(at.kernels),
        held_back=held_back,
    )


def run(point: Point, device: str, seconds: float) -> Measurement:
    """Return how long the operation takes on random tensors, from cold caches."""
    shapes = shapes_of(point)
    return measure(point.case.run, *shapes, dtype=point.dtype, device=device, cold=True, samples=9, seconds=seconds)


def shapes_of(point: Point) -> list[tuple[int, ...]]:
    """Return the shapes of what the operation takes."""
    graph = point.case.account(point.dtype).graph
    return [tuple(whole(n, point.sizes) for n in graph.tensors[i].shape) for i in graph.inputs]


def fixed_digest(predicted: Mapping[str, float]) -> str:
    """Return a digest of predictions, taken before what they predict is run."""
    text = "\n".join(f"{key}: {seconds:.6e}" for key, seconds in sorted(predicted.items()))
    return hashlib.sha256(text.encode()).hexdigest()
