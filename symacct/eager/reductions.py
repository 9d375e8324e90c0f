"""Reductions in torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def _reduction(name: str) -> Callable[..., Any]:
    def run(x: Any, *, axes: Sequence[int], keepdims: bool) -> Any:
        import torch

        # torch takes no axes for all axes
        return getattr(torch, name)(x, dim=tuple(axes), keepdim=keepdims) if axes else x

    return run


def product(x: Any, *, axes: Sequence[int], keepdims: bool) -> Any:
    """Run a product, an axis at a time."""
    for axis in sorted((a % x.ndim for a in axes), reverse=True):
        x = x.prod(dim=axis, keepdim=keepdims)
    return x


KINDS: dict[str, Callable[..., Any]] = {
    "max": _reduction("amax"),
    "mean": _reduction("mean"),
    "min": _reduction("amin"),
    "prod": product,
    "sum": _reduction("sum"),
}
