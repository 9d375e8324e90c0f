"""Adaptive pooling, with torch's arguments: into as many windows as are asked for."""

from __future__ import annotations

from typing import Any

from symacct.functions.convolution import per_axis
from symacct.rules.rule import sizes_of
from symacct.symbolic import apply


def adaptive_avg_pool1d(x: Any, output_size: Any) -> Any:
    """Return the mean of each window along the last axis: an add a tap and a division an output.

    Parameters
    ----------
    x, output_size
        As of `adaptive_avg_pool2d`, with one axis; errors are the same.

    Returns
    -------
    A tensor (B, C, m).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.adaptive_avg_pool1d(x, 1), x="b c n").flops
    b*c*(n + 1)

    """
    return _adaptive("avg", 1, x, output_size)


def adaptive_avg_pool2d(x: Any, output_size: Any) -> Any:
    """Return the mean of each window along the last two axes: an add a tap and a division an output.

    Parameters
    ----------
    x
        A tensor of the shape (B, C, n1, n2), or without a batch.
    output_size
        How many windows along each axis: a size for all axes or one each; None keeps an axis as it is. Of n elements
        and m windows there are ``n + m - gcd(n, m)`` taps along an axis; where sizes are names m divides n, n taps.

    Returns
    -------
    A tensor (B, C, m1, m2).

    Raises
    ------
    ShapeError
        For another number of axes.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b c h w"):
    ...     return sa.adaptive_avg_pool2d(x, 7)
    >>> a = sa.account(layer)
    >>> a.flops, [str(c) for c in a.conditions]
    (b*c*(h*w + 49), ['7 divides h', '7 divides w'])
    >>> sa.account(layer, h=10, w=14).flops
    273*b*c

    """
    return _adaptive("avg", 2, x, output_size)


def adaptive_avg_pool3d(x: Any, output_size: Any) -> Any:
    """Return the mean of each window along the last three axes: an add a tap and a division an output.

    Parameters
    ----------
    x, output_size
        As of `adaptive_avg_pool2d`, with three axes; errors are the same.

    Returns
    -------
    A tensor (B, C, m1, m2, m3).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.adaptive_avg_pool3d(x, 1), x="b c n n n").flops
    b*c*(n**3 + 1)

    """
    return _adaptive("avg", 3, x, output_size)


def adaptive_max_pool1d(x: Any, output_size: Any) -> Any:
    """Return the largest element of each window along the last axis: an operation a tap.

    Parameters
    ----------
    x, output_size
        As of `adaptive_avg_pool2d`, with one axis; errors are the same.

    Returns
    -------
    A tensor (B, C, m).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.adaptive_max_pool1d(x, 2), x="b c 5").flops
    6*b*c

    """
    return _adaptive("max", 1, x, output_size)


def adaptive_max_pool2d(x: Any, output_size: Any) -> Any:
    """Return the largest element of each window along the last two axes: an operation a tap.

    Parameters
    ----------
    x, output_size
        As of `adaptive_avg_pool2d`.

    Returns
    -------
    A tensor (B, C, m1, m2).

    Raises
    ------
    ShapeError
        For another number of axes.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.adaptive_max_pool2d(x, 2), x="b c h w").flops
    b*c*h*w

    """
    return _adaptive("max", 2, x, output_size)


def adaptive_max_pool3d(x: Any, output_size: Any) -> Any:
    """Return the largest element of each window along the last three axes: an operation a tap.

    Parameters
    ----------
    x, output_size
        As of `adaptive_avg_pool2d`, with three axes; errors are the same.

    Returns
    -------
    A tensor (B, C, m1, m2, m3).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.adaptive_max_pool3d(x, 1), x="b c n n n").flops
    b*c*n**3

    """
    return _adaptive("max", 3, x, output_size)


def _adaptive(kind: str, rank: int, x: Any, output_size: Any) -> Any:
    given = output_size if isinstance(output_size, tuple | list) else (output_size,) * rank
    if len(given) == rank and len(x.shape) >= rank:
        given = [size if m is None else m for m, size in zip(given, sizes_of(x)[-rank:], strict=True)]
    sizes = per_axis(x, tuple(given), rank, "output_size")
    if kind == "avg" and all(size == 1 for size in sizes) and len(x.shape) in (rank + 1, rank + 2):
        return apply("mean", x, axes=tuple(range(len(x.shape) - rank, len(x.shape))), keepdims=True)
    return apply(f"adaptive_{kind}_pool", x, sizes=sizes)
