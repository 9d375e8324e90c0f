"""Shapes and indices of symbolic tensors, made explicit before they are written down."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as index_of
from typing import Any

from symacct.errors import ShapeError
from symacct.expr import Poly, Size, divide, product, sign
from symacct.rules.rule import show_shape
from symacct.rules.views import length
from symacct.symbolic.builder import caller
from symacct.symbolic.pinning import as_index
from symacct.symbolic.size import Dim
from symacct.symbolic.tensor import Symbolic, record, size_in


def full_shape(x: Symbolic, shape: Sequence[Any]) -> tuple[Size, ...]:
    """Return a shape with -1 worked out.

    Raises
    ------
    ShapeError
        For a second -1, or a size below 1.

    """
    known = [size_in(x, s) for s in shape if not (type(s) is int and s == -1)]
    if bad := [s for s in known if type(s) is int and s < 1]:
        msg = f"reshape: a size of {bad[0]} in {tuple(shape)}; sizes are at least 1{caller()}"
        raise ShapeError(msg)
    if len(known) == len(shape):
        return tuple(known)
    if len(known) + 1 < len(shape):
        msg = f"reshape: more than one -1 in {tuple(shape)}{caller()}"
        raise ShapeError(msg)
    rest = divide(x.tensor.numel, product(known))
    return tuple(rest if type(s) is int and s == -1 else size_in(x, s) for s in shape)  # type: ignore[misc]


def take(x: Symbolic, index: Any) -> Any:
    """Return ``x[index]`` for integers, slices, None and ``...``; a tensor of integers looks rows up.

    Raises
    ------
    ShapeError
        For an index that does not fit, or a mask (how much it selects is a question about data).

    """
    if isinstance(index, Symbolic):
        return _rows(x, index)
    ranges: list[tuple[Size, Size, int]] = []
    shape: list[Size] = []
    for part in _parts(x, index):
        if part is None:
            shape.append(1)
            continue
        size = x.tensor.shape[len(ranges)]
        if isinstance(part, slice):
            ranges.append(_range(part, size))
            shape.append(length(*ranges[-1]))  # type: ignore[arg-type]
        else:
            ranges.append(_position(part, size))
    cut = x
    if any(r != (0, size, 1) for r, size in zip(ranges, x.tensor.shape, strict=True)):
        cut = record("slice", (x,), {"ranges": tuple(ranges)})
    return cut if tuple(shape) == cut.tensor.shape else record("reshape", (cut,), {"shape": tuple(shape)})


def _parts(x: Symbolic, index: Any) -> list[Any]:
    """Return an index for every axis, and None for every new one."""
    parts = list(index) if isinstance(index, tuple) else [index]
    dots = [i for i, p in enumerate(parts) if p is Ellipsis]
    fixed = sum(1 for p in parts if p is not None and p is not Ellipsis)
    if len(dots) > 1 or fixed > x.ndim:
        what = "'...' twice" if len(dots) > 1 else f"{fixed} indices"
        msg = f"index: {what} for the shape {show_shape(x.tensor.shape)}{caller()}"
        raise ShapeError(msg)
    at = dots[0] if dots else len(parts)
    return [*parts[:at], *[slice(None)] * (x.ndim - fixed), *parts[at + 1 :]]


def _rows(x: Symbolic, index: Symbolic) -> Any:
    if index.dtype == "bool":
        msg = f"index: how much a mask selects is a question about data; use symacct.where{caller()}"
        raise ShapeError(msg)
    return record("embedding", (x, as_index(index)), {})


def _range(p: slice, size: Size) -> tuple[Size, Size, int]:
    step = 1 if p.step is None else p.step
    if type(step) is not int or step < 1:
        msg = f"index: the step {step!r} is not a positive number{caller()}"
        raise ShapeError(msg)
    start = 0 if p.start is None else _from_end(p.start, size)
    stop = size if p.stop is None else _from_end(p.stop, size)
    if type(size) is int:
        # Python cuts what reaches beyond an axis; of an axis with a name it becomes a condition
        start = max(start, 0) if type(start) is int else start
        stop = min(stop, size) if type(stop) is int else stop
    return start, stop, step


def _position(p: Any, size: Size) -> tuple[Size, Size, int]:
    start = _from_end(p, size)
    if type(size) is int and type(start) is int and not 0 <= start < size:
        msg = f"index: position {p} is outside an axis of size {size}{caller()}"
        raise ShapeError(msg)
    return start, start + 1, 1  # type: ignore[return-value]


def _from_end(p: Any, size: Size) -> Size:
    """Return a position counted from the front; what is negative whatever the sizes counts from the end."""
    if isinstance(p, bool) or not (type(p) in (Dim, Poly) or hasattr(p, "__index__")):
        told = (
            "a tensor beside other indices; use x[index] for rows, else symacct.gather"
            if isinstance(p, Symbolic)
            else repr(p)
        )
        msg = f"index: {told}, which is not an integer, a slice, None or '...'{caller()}"
        raise ShapeError(msg)
    place = p.value if type(p) is Dim else p if type(p) is Poly else index_of(p)
    negative = place < 0 if type(place) is int else sign(place) == -1
    return size + place if negative else place  # type: ignore[return-value]
