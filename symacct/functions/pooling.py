"""Pooling over windows, with torch's arguments."""

from __future__ import annotations

from typing import Any

from symacct.functions.convolution import per_axis
from symacct.symbolic import apply


def max_pool1d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, *, ceil_mode: bool = False
) -> Any:
    """Return the largest element of each window along the last axis: ``k`` operations an output.

    Parameters
    ----------
    x, kernel_size, stride, padding, dilation, ceil_mode
        As of `max_pool2d`, with one axis; errors are the same.

    Returns
    -------
    A tensor (B, C, W).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.max_pool1d(x, 2), x="b c 16").flops
    16*b*c

    """
    return _pooled("max_pool", x, kernel_size, stride, padding, rank=1, ceil=ceil_mode, dilation=dilation)


def max_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, *, ceil_mode: bool = False
) -> Any:
    """Return the largest element of each window along the last two axes: ``k1*k2`` operations an output.

    Parameters
    ----------
    x
        A tensor of the shape (B, C, n1, n2), or without a batch.
    kernel_size
        The taps of a window: a size for all axes or one each.
    stride
        By how much a window moves; the kernel size where None.
    padding
        Places added to both ends of an axis, which are never the largest; at most half a kernel.
    dilation
        By how much taps are apart.
    ceil_mode
        Whether a last window may hang over: W is then rounded up, less a window that would start behind the elements.

    Returns
    -------
    A tensor (B, C, W1, W2) with ``W = floor((n + 2*padding - dilation*(k - 1) - 1) / stride) + 1``.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or no window does.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b c 32 32"):
    ...     return sa.max_pool2d(x, 2)
    >>> sa.account(layer).flops, sa.account(layer, convention="exact").flops
    (1024*b*c, 768*b*c)

    """
    return _pooled("max_pool", x, kernel_size, stride, padding, rank=2, ceil=ceil_mode, dilation=dilation)


def max_pool3d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, *, ceil_mode: bool = False
) -> Any:
    """Return the largest element of each window along the last three axes: ``k1*k2*k3`` operations an output.

    Parameters
    ----------
    x, kernel_size, stride, padding, dilation, ceil_mode
        As of `max_pool2d`, with three axes; errors are the same.

    Returns
    -------
    A tensor (B, C, W1, W2, W3).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.max_pool3d(x, 2), x="b c 16 16 16").flops
    4096*b*c

    """
    return _pooled("max_pool", x, kernel_size, stride, padding, rank=3, ceil=ceil_mode, dilation=dilation)


def avg_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """Return the mean of each window along the last axis: ``k`` adds and a division an output.

    Parameters
    ----------
    x, kernel_size, stride, padding, ceil_mode, count_include_pad
        As of `avg_pool2d`, with one axis; errors are the same.

    Returns
    -------
    A tensor (B, C, W).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.avg_pool1d(x, 2), x="b c 16").flops
    24*b*c

    """
    counted = {"count_include_pad": count_include_pad}
    return _pooled("avg_pool", x, kernel_size, stride, padding, rank=1, ceil=ceil_mode, **counted)


def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """Return the mean of each window along the last two axes: ``k1*k2`` adds and a division an output.

    Parameters
    ----------
    x, kernel_size, stride, ceil_mode
        As of `max_pool2d`.
    padding
        Zeros added to both ends of an axis.
    count_include_pad
        Whether they count in the number that is divided by.

    Returns
    -------
    A tensor (B, C, W1, W2), W as of `max_pool2d` without dilation.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or no window does.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b c 32 32"):
    ...     return sa.avg_pool2d(x, 2)
    >>> sa.account(layer).flops
    1280*b*c

    """
    counted = {"count_include_pad": count_include_pad}
    return _pooled("avg_pool", x, kernel_size, stride, padding, rank=2, ceil=ceil_mode, **counted)


def avg_pool3d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """Return the mean of each window along the last three axes: ``k1*k2*k3`` adds and a division an output.

    Parameters
    ----------
    x, kernel_size, stride, padding, ceil_mode, count_include_pad
        As of `avg_pool2d`, with three axes; errors are the same.

    Returns
    -------
    A tensor (B, C, W1, W2, W3).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.avg_pool3d(x, 2), x="b c 16 16 16").flops
    4608*b*c

    """
    counted = {"count_include_pad": count_include_pad}
    return _pooled("avg_pool", x, kernel_size, stride, padding, rank=3, ceil=ceil_mode, **counted)


def _pooled(
    kind: str,
    x: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    *,
    rank: int,
    ceil: bool,
    dilation: Any = 1,
    **attrs: Any,
) -> Any:
    if ceil:
        attrs["ceil"] = True
    return apply(
        kind,
        x,
        kernel=per_axis(x, kernel_size, rank, "kernel_size"),
        stride=per_axis(x, kernel_size if stride is None else stride, rank, "stride"),
        padding=per_axis(x, padding, rank, "padding", least=0),
        dilation=per_axis(x, dilation, rank, "dilation"),
        **attrs,
    )
