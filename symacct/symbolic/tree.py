"""Tensors in tuples, lists and dicts: flat, and put back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def flatten(value: Any) -> list[Any]:
    """Return the tensors of a value in order; None holds none."""
    if value is None:
        return []
    if isinstance(value, tuple | list):
        return [t for part in value for t in flatten(part)]
    if isinstance(value, Mapping):
        return [t for part in value.values() for t in flatten(part)]
    return [value]


def rebuild(like: Any, tensors: Iterable[Any]) -> Any:
    """Return a value of the same form as `like` with other tensors."""
    return _fill(like, iter(tensors))


def _fill(like: Any, rest: Any) -> Any:
    if like is None:
        return None
    if isinstance(like, tuple) and hasattr(like, "_fields"):
        return type(like)(*(_fill(part, rest) for part in like))
    if isinstance(like, tuple | list):
        return type(like)(_fill(part, rest) for part in like)
    if isinstance(like, Mapping):
        return {key: _fill(part, rest) for key, part in like.items()}
    return next(rest)
