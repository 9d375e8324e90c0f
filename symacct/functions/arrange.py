"""Tensors put together, taken apart, turned and padded: no arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.errors import ShapeError
from symacct.expr import Expr, add, divide, sign
from symacct.rules.rule import axis_of, show_shape, sizes_of
from symacct.symbolic import apply, size_in
from symacct.symbolic.builder import caller


def concat(tensors: Sequence[Any], axis: int = 0) -> Any:
    """Return tensors one after the other along an axis: each is read and written once.

    Parameters
    ----------
    tensors
        Of shapes that differ along `axis` at most.
    axis
        Counted from the end where negative.

    Returns
    -------
    A tensor, along `axis` as long as all of them together.

    Raises
    ------
    ShapeError
        If the shapes do not fit; names them.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b s d", y: "b t d"):
    ...     return sa.concat([x, y], axis=1)
    >>> a = sa.account(layer)
    >>> a.flops, a.bytes
    (0, b*d*(4*s + 4*t))

    """
    return apply("concat", *tensors, axis=axis)


def stack(tensors: Sequence[Any], axis: int = 0) -> Any:
    """Return tensors of one shape along a new axis: each is read and written once.

    Parameters
    ----------
    tensors
        Of one shape.
    axis
        Where the new axis stands in the result; counted from the end where negative.

    Returns
    -------
    A tensor of one axis more, as long as there are tensors.

    Raises
    ------
    ShapeError
        If the shapes differ.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b d", y: "b d"):
    ...     return sa.stack([x, y], axis=-1)
    >>> a = sa.account(layer)
    >>> a.graph.tensors[-1].shape
    (b, d, 2)

    """
    return apply("concat", *(t.unsqueeze(axis) for t in tensors), axis=axis)


def split(x: Any, sizes: Sequence[Any], axis: int = 0) -> tuple[Any, ...]:
    """Return the parts of the given sizes along an axis: views.

    Parameters
    ----------
    x
        A tensor.
    sizes
        One for each part; together the size of the axis.
    axis
        Counted from the end where negative.

    Returns
    -------
    A tuple of tensors, one a size.

    Raises
    ------
    ShapeError
        If the sizes do not add up to the axis.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b 3*d"):
    ...     d = x.shape[1] // 3
    ...     return sa.split(x, [d, 2 * d], axis=1)
    >>> a = sa.account(layer)
    >>> a.bytes, [t.shape for t in a.graph.tensors[1:]]
    (0, [(b, d), (b, 2*d)])

    """
    at = _axis(x, axis, "split")
    if not isinstance(sizes, list | tuple):
        msg = f"split: {sizes!r} is no list of sizes, one a part; for equal parts see symacct.chunk{caller()}"
        raise ShapeError(msg)
    given, whole = [size_in(x, s) for s in sizes], sizes_of(x)[at]
    if bad := [s for s in given if sign(s) in (-1, 0)]:
        msg = f"split: a size of {bad[0]}; sizes are at least 1{caller()}"
        raise ShapeError(msg)
    if add(given) != whole:
        told = " + ".join(str(s) for s in given)
        msg = f"split: the sizes {told} are not the {whole} of axis {axis} of {show_shape(sizes_of(x))}{caller()}"
        raise ShapeError(msg)
    out: list[Any] = []
    start: Expr = 0
    for size in given:
        out.append(x[(*[slice(None)] * at, slice(start, start + size))])
        start = start + size
    return tuple(out)


def chunk(x: Any, count: int, axis: int = 0) -> tuple[Any, ...]:
    """Return equal parts along an axis, views; the axis must divide (torch's last chunk may be smaller).

    Parameters
    ----------
    x
        A tensor.
    count
        How many parts: a number.
    axis
        Counted from the end where negative.

    Returns
    -------
    A tuple of `count` tensors, each ``size / count`` along the axis.

    Raises
    ------
    ShapeError
        If the number of parts does not divide the axis; of a name it becomes a condition.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b d"):
    ...     gate, value = sa.chunk(x, 2, axis=-1)
    ...     return sa.sigmoid(gate) * value
    >>> a = sa.account(layer)
    >>> a.flops, [str(c) for c in a.conditions]
    (b*d, ['2 divides d'])

    """
    at = _axis(x, axis, "chunk")
    whole = sizes_of(x)[at]
    if type(count) is not int or count < 1 or (type(whole) is int and whole % count):
        msg = f"chunk: {count!r} equal parts of axis {axis} of {show_shape(sizes_of(x))}{caller()}"
        raise ShapeError(msg)
    return split(x, [divide(whole, count)] * count, axis)


def tile(x: Any, repeats: Sequence[Any]) -> Any:
    """Return copies of a tensor side by side, so many along each axis: read once, written as often as repeated.

    Parameters
    ----------
    x
        A tensor.
    repeats
        One number or size an axis. `einops.repeat` adds an axis without copying.

    Returns
    -------
    A tensor, along each axis the size times its repeats.

    Raises
    ------
    ShapeError
        For another number of axes.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b d"):
    ...     return sa.tile(x, (1, 3))
    >>> a = sa.account(layer, layout="torch")
    >>> a.graph.tensors[-1].shape, a.bytes
    ((b, 3*d), 8*b*d)

    """
    if len(repeats) != x.ndim:
        msg = f"tile: {len(repeats)} repeats for the shape {show_shape(sizes_of(x))}{caller()}"
        raise ShapeError(msg)
    new, wide, out = [], [], []
    for size, times in zip(x.shape, [size_in(x, r) for r in repeats], strict=True):
        if times != 1:
            new.append(1)
            wide.append(times)
        new.append(size)
        wide.append(size)
        out.append(size * times)
    return x.reshape(*new).expand(*wide).reshape(*out)


def _axis(x: Any, axis: int, what: str) -> int:
    try:
        return axis_of(axis, x.ndim)
    except ShapeError as error:
        msg = f"{what}: {error}{caller()}"
        raise ShapeError(msg) from None
