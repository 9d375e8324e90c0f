"""Shapes and indices of symbolic tensors, made explicit before they are written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.errors import ShapeError
from symacct.expr import Size, ceildiv, divide, product
from symacct.rules.rule import show_shape
from symacct.symbolic.builder import caller
from symacct.symbolic.size import Dim, unwrap
from symacct.symbolic.tensor import Symbolic, record


def full_shape(x: Symbolic, shape: Sequence[Any]) -> tuple[Size, ...]:
    """Return a shape with -1 worked out.

    Raises
    ------
    ShapeError
        For a second -1.

    """
    known = [unwrap(s) for s in shape if not (type(s) is int and s == -1)]
    if len(known) == len(shape):
        return tuple(known)
    if len(known) + 1 < len(shape):
        msg = f"reshape: more than one -1 in {tuple(shape)}{caller()}"
        raise ShapeError(msg)
    rest = divide(x.tensor.numel, product(known))
    return tuple(rest if type(s) is int and s == -1 else unwrap(s) for s in shape)  # type: ignore[misc]


def take(x: Symbolic, index: Any) -> Any:
    """Return ``x[index]`` for integers, slices, None and ``...``; a tensor of integers looks rows up.

    Raises
    ------
    ShapeError
        For an index that does not fit, or a mask (how much it selects is a question about data).

    """
    parts = list(index) if isinstance(index, tuple) else [index]
    if len(parts) == 1 and isinstance(parts[0], Symbolic):
        return _rows(x, parts[0])
    fixed = sum(1 for p in parts if p is not None and p is not Ellipsis)
    if fixed > x.ndim:
        msg = f"index: {fixed} indices for the shape {show_shape(x.tensor.shape)}{caller()}"
        raise ShapeError(msg)
    if Ellipsis not in [p for p in parts if p is Ellipsis]:
        parts.append(Ellipsis)
    at = next(i for i, p in enumerate(parts) if p is Ellipsis)
    parts[at : at + 1] = [slice(None)] * (x.ndim - fixed)
    ranges: list[tuple[Any, Any, int]] = []
    shape: list[Any] = []
    for p in parts:
        if p is None:
            shape.append(1)
            continue
        size = x.tensor.shape[len(ranges)]
        if isinstance(p, slice):
            start, stop, step = _range(p, size)
            shape.append(ceildiv(stop - start, step))
        else:
            start, stop, step = _position(p, size)
        ranges.append((start, stop, step))
    cut = x
    if any((r[0], r[1], r[2]) != (0, s, 1) for r, s in zip(ranges, x.tensor.shape, strict=True)):
        cut = record("slice", (x,), {"ranges": tuple(ranges)})
    return cut if tuple(shape) == cut.tensor.shape else record("reshape", (cut,), {"shape": tuple(shape)})


def _rows(x: Symbolic, index: Symbolic) -> Any:
    if index.dtype == "bool":
        msg = f"index: how much a mask selects is a question about data; use symacct.where{caller()}"
        raise ShapeError(msg)
    return record("embedding", (x, index), {})


def _range(p: slice, size: Size) -> tuple[Size, Size, int]:
    step = 1 if p.step is None else p.step
    if type(step) is not int or step < 1:
        msg = f"index: the step {step!r} is not a positive number{caller()}"
        raise ShapeError(msg)
    start = 0 if p.start is None else _from_end(p.start, size)
    stop = size if p.stop is None else _from_end(p.stop, size)
    if type(size) is int and type(stop) is int:
        stop = min(stop, size)
    return start, stop, step


def _position(p: Any, size: Size) -> tuple[Size, Size, int]:
    if isinstance(p, bool) or not (type(p) is Dim or isinstance(p, int)):
        msg = f"index: {p!r} is not an integer, a slice, None or '...'{caller()}"
        raise ShapeError(msg)
    start = _from_end(p, size)
    if type(size) is int and type(start) is int and not 0 <= start < size:
        msg = f"index: position {p} is outside an axis of size {size}{caller()}"
        raise ShapeError(msg)
    return start, start + 1, 1


def _from_end(p: Any, size: Size) -> Any:
    """Return a position counted from the front; plain negative numbers count from the end."""
    if type(p) is int:
        return p if p >= 0 else size + p
    return unwrap(p)
