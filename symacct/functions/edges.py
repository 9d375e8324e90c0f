"""The same elements in other places: padded, flipped, rolled, cut to a triangle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.errors import ShapeError
from symacct.rules.rule import show_shape, sizes_of
from symacct.symbolic import apply, size_in
from symacct.symbolic.builder import caller


def pad(x: Any, widths: Sequence[Any], value: float = 0.0) -> Any:
    """Return a tensor with a constant put around it: read once, the result written.

    Parameters
    ----------
    x
        A tensor.
    widths
        Before and after the last axis, before and after the one before it, ... as torch orders them.
    value
        What is put around.

    Returns
    -------
    A tensor, along each axis as much longer as its two widths.

    Raises
    ------
    ShapeError
        For an odd number of widths, more than there are axes, or a negative one.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b c h w", p: int):
    ...     return sa.pad(x, (p, p, 1, 1))
    >>> sa.account(layer).graph.tensors[-1].shape
    (b, c, h + 2, 2*p + w)

    """
    if not isinstance(widths, list | tuple):
        msg = f"pad: {widths!r} is no list of widths, two an axis, from the last{caller()}"
        raise ShapeError(msg)
    given = [size_in(x, w) for w in widths]
    if len(given) % 2 or len(given) > 2 * x.ndim:
        msg = f"pad: {len(given)} widths for the shape {show_shape(sizes_of(x))}; two an axis, from the last{caller()}"
        raise ShapeError(msg)
    if cropping := [w for w in given if type(w) is int and w < 0]:
        msg = f"pad: a width of {cropping[0]}; padding adds at least 0, and a slice crops{caller()}"
        raise ShapeError(msg)
    pairs = [(given[i], given[i + 1]) for i in range(0, len(given), 2)]
    pairs += [(0, 0)] * (x.ndim - len(pairs))
    return apply("pad", x, widths=tuple(reversed(pairs)), value=value)


def flip(x: Any, axes: int | Sequence[int]) -> Any:
    """Return a tensor reversed along axes: a copy, read once and written once.

    Parameters
    ----------
    x
        A tensor.
    axes
        One or several; counted from the end where negative.

    Returns
    -------
    A tensor of the same shape.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.flip(x, [0]), x="b d").bytes
    4*b*d

    """
    return apply("flip", x, axes=_listed(axes))


def roll(x: Any, shift: Any, axis: int | Sequence[int]) -> Any:
    """Return a tensor shifted along axes, the end put in front: a copy an axis, each read once and written once.

    Parameters
    ----------
    x
        A tensor.
    shift
        By how many places: a number or a size; or one an axis.
    axis
        One or several; counted from the end where negative.

    Returns
    -------
    A tensor of the same shape.

    Raises
    ------
    ShapeError
        If there is no such axis, or another number of shifts.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.roll(x, 1, axis=1), x="b d").bytes
    4*b*d

    """
    axes, shifts = _listed(axis), _listed(shift)
    if len(axes) != len(shifts):
        msg = f"roll: {len(shifts)} shifts along {len(axes)} axes{caller()}"
        raise ShapeError(msg)
    for one, places in zip(axes, shifts, strict=True):
        x = apply("roll", x, axes=(one,), shifts=(size_in(x, places),))
    return x


def tril(x: Any, diagonal: Any = 0) -> Any:
    """Return a matrix with zeros above a diagonal: a copy, read once and written once.

    Parameters
    ----------
    x
        A tensor (..., m, n).
    diagonal
        Which one: 0 is the main one, positive ones lie above it.

    Returns
    -------
    A tensor of the same shape.

    Raises
    ------
    ShapeError
        If x has fewer than 2 axes.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.tril, x="s t").bytes
    4*s*t

    """
    return apply("tril", x, diagonal=size_in(x, diagonal))


def triu(x: Any, diagonal: Any = 0) -> Any:
    """Return a matrix with zeros below a diagonal: a copy, read once and written once.

    Parameters
    ----------
    x
        A tensor (..., m, n).
    diagonal
        Which one: 0 is the main one, positive ones lie above it.

    Returns
    -------
    A tensor of the same shape.

    Raises
    ------
    ShapeError
        If x has fewer than 2 axes.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.triu, x="s t").bytes
    4*s*t

    """
    return apply("triu", x, diagonal=size_in(x, diagonal))


def _listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)
