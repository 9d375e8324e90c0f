"""torch's own estimate of how long an operation takes, where there is a GPU: its cost model needs one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symacct.eager.dtypes import torch_dtype
from verify.timings.points import Point, shapes_of

NEEDS = "not run here: needs a GPU"


def estimates(points: Iterable[Point], device: str) -> tuple[dict[str, float], str]:
    """Return seconds by point, and how it went."""
    if device != "cuda":
        return {}, NEEDS
    out = {}
    for point in points:
        try:
            out[point.key] = _estimate(point, device)
        except Exception as error:  # noqa: BLE001 # whatever torch's tool lacks, the run goes on
            return out, f"stopped at {point.key}: {type(error).__name__}: {error}"
    return out, f"of {len(out)} points"


def _estimate(point: Point, device: str) -> float:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.runtime_estimator import RuntimeEstimator

    estimator: Any = RuntimeEstimator()
    with FakeTensorMode():
        given = [torch.empty(s, dtype=torch_dtype(point.dtype), device=device) for s in shapes_of(point)]
        with estimator(estimate_mode_type="operator-level-cost-model"):
            point.case.run(*given)
    return float(estimator.total_runtime) / 1e3
