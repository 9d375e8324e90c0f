"""One operation at one size: what a roofline says of it, and how long it took; half of the points are kept back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from symacct.accounting.roofline import Roofline
from symacct.eager.dtypes import torch_dtype
from symacct.eager.inputs import random_input
from symacct.eager.inputs import whole as whole_size
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
    flops: float
    bytes: float
    kernels: int
    held_back: bool = False

    @property
    def key(self) -> str:
        told = " ".join(f"{n}={size}" for n, size in sorted(self.sizes.items()))
        return f"{self.case.name} {self.dtype} {told}"


def points(cases: Iterable[Case], roofs: Mapping[str, Roofline], device: str, dtype: str, cache: int) -> list[Point]:
    """Return every point of the grid; of each operation every other one is kept back, in the order of a hash."""
    out = []
    for case in cases:
        mine = [_point(case, sizes, roofs[case.name], dtype) for sizes in case.sizes(device, dtype, cache)]
        order = sorted(mine, key=lambda p: hashlib.sha256(p.key.encode()).hexdigest())
        back = {p.key for p in order[1::2]}
        out += [Point(**{**vars(p), "held_back": p.key in back}) for p in mine]
    return out


def _point(case: Case, sizes: Mapping[str, int], roof: Roofline, dtype: str) -> Point:
    at = roof.at(sizes=sizes)
    return Point(
        case,
        sizes,
        dtype,
        float(at.overlapped),
        at.bound,
        sum(float(k.flops) for k in at.kernels),
        sum(float(k.bytes) for k in at.kernels),
        len(at.kernels),
    )


def run(point: Point, device: str, seconds: float) -> Measurement:
    """Return how long the operation takes on random tensors, from cold caches."""
    graph = point.case.account(point.dtype).graph
    given = [_input(graph, i, point, device) for i in graph.inputs]
    return measure(point.case.run, *given, cold=True, samples=25, seconds=seconds)


def _input(graph: Any, i: int, point: Point, device: str) -> Any:
    import torch

    tensor = graph.tensors[i]
    if tensor.dtype is not None:
        return random_input(graph, i, point.sizes, point.dtype, torch.Generator().manual_seed(i)).to(device)
    shape = tuple(whole_size(size, point.sizes) for size in tensor.shape)
    return torch.randn(shape, device=device).to(torch_dtype(point.dtype))


def fixed_digest(predicted: Mapping[str, float]) -> str:
    """Return a digest of predictions, taken before what they predict is run."""
    text = "\n".join(f"{key}: {seconds:.6e}" for key, seconds in sorted(predicted.items()))
    return hashlib.sha256(text.encode()).hexdigest()
