"""What orders or accumulates the elements of a row, in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def top_k(x: Any, *, k: int, axis: int) -> tuple[Any, Any]:
    """Return the k largest and where they stand."""
    return tuple(x.topk(k, dim=axis))


def sort(x: Any, *, axis: int, descending: bool) -> tuple[Any, Any]:
    """Return rows in order and where their elements stood."""
    return tuple(x.sort(dim=axis, descending=descending))


def argmax(x: Any, *, axis: int, keepdims: bool) -> Any:
    """Return where the largest stands."""
    return x.argmax(dim=axis, keepdim=keepdims)


def cumsum(x: Any, *, axis: int) -> Any:
    """Return running sums."""
    return x.cumsum(dim=axis)


KINDS: dict[str, Callable[..., Any]] = {"argmax": argmax, "cumsum": cumsum, "sort": sort, "top_k": top_k}
