"""Shapes and places in torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def reshape(x: Any, *, shape: Sequence[int]) -> Any:
    """Run a reshape: a view where torch finds one."""
    return x.reshape(tuple(shape))


def permute(x: Any, *, axes: Sequence[int]) -> Any:
    """Run a permutation."""
    return x.permute(tuple(axes))


def expand(x: Any, *, shape: Sequence[int]) -> Any:
    """Run an expand."""
    return x.expand(tuple(shape))


def cut(x: Any, *, ranges: Sequence[tuple[int, int, int]]) -> Any:
    """Run a slice of every axis."""
    return x[tuple(slice(start, stop, step) for start, stop, step in ranges)]


def detach(x: Any) -> Any:
    """Cut the gradient."""
    return x.detach()


def stack(*tensors: Any) -> Any:
    """Run a stack along a new first axis: what a repeat collects."""
    import torch

    return torch.stack(tensors)


def concat(*tensors: Any, axis: int) -> Any:
    """Run a concatenation."""
    import torch

    return torch.cat(tensors, dim=axis)


KINDS: dict[str, Callable[..., Any]] = {
    "concat": concat,
    "stack": stack,
    "detach": detach,
    "expand": expand,
    "permute": permute,
    "reshape": reshape,
    "slice": cut,
}
