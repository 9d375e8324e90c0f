"""Pooling over windows, with torch's arguments; and over whole axes."""

from __future__ import annotations

from typing import Any

from symacct.errors import ShapeError
from symacct.functions.convolution import per_axis, whole
from symacct.rules.rule import show_shape, sizes_of
from symacct.symbolic import apply
from symacct.symbolic.builder import caller


def max_pool1d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
    """Return the largest element of each window along the last axis: ``k`` operations an output.

    Parameters
    ----------
    x, kernel_size, stride, padding, dilation
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
    return _pooled("max_pool", x, kernel_size, stride, padding, rank=1, dilation=dilation)


def max_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
    """Return the largest element of each window along the last two axes: ``k1*k2`` operations an output.

    Parameters
    ----------
    x
        A tensor of the shape (B, C, n1, n2), or without a batch.
    kernel_size
        The taps of a window: a size for all axes or one each.
    stride
        By how much a window moves: whole numbers; the kernel size where None.
    padding
        Places added to both ends of an axis, which are never the largest; at most half a kernel.
    dilation
        By how much taps are apart.

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
    return _pooled("max_pool", x, kernel_size, stride, padding, rank=2, dilation=dilation)


def max_pool3d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
    """Return the largest element of each window along the last three axes: ``k1*k2*k3`` operations an output.

    Parameters
    ----------
    x, kernel_size, stride, padding, dilation
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
    return _pooled("max_pool", x, kernel_size, stride, padding, rank=3, dilation=dilation)


def avg_pool1d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, *, count_include_pad: bool = True
) -> Any:
    """Return the mean of each window along the last axis: ``k`` adds and a division an output.

    Parameters
    ----------
    x, kernel_size, stride, padding, count_include_pad
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
    return _pooled("avg_pool", x, kernel_size, stride, padding, rank=1, count_include_pad=count_include_pad)


def avg_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, *, count_include_pad: bool = True
) -> Any:
    """Return the mean of each window along the last two axes: ``k1*k2`` adds and a division an output.

    Parameters
    ----------
    x, kernel_size, stride
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
    return _pooled("avg_pool", x, kernel_size, stride, padding, rank=2, count_include_pad=count_include_pad)


def avg_pool3d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, *, count_include_pad: bool = True
) -> Any:
    """Return the mean of each window along the last three axes: ``k1*k2*k3`` adds and a division an output.

    Parameters
    ----------
    x, kernel_size, stride, padding, count_include_pad
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
    return _pooled("avg_pool", x, kernel_size, stride, padding, rank=3, count_include_pad=count_include_pad)


def adaptive_avg_pool1d(x: Any, output_size: int) -> Any:
    """Return the mean along the last axis, kept at size 1: an add an element and a division a channel.

    Parameters
    ----------
    x, output_size
        As of `adaptive_avg_pool2d`, with one axis; errors are the same.

    Returns
    -------
    A tensor (B, C, 1).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.adaptive_avg_pool1d(x, 1), x="b c n").flops
    b*c*(n + 1)

    """
    return _global_mean(1, x, output_size)


def adaptive_avg_pool2d(x: Any, output_size: Any) -> Any:
    """Return the mean over the last two axes, kept at size 1: an add an element and a division a channel.

    Parameters
    ----------
    x
        A tensor of the shape (B, C, n1, n2), or without a batch.
    output_size
        1: of other sizes windows differ in length; pool by a kernel size instead.

    Returns
    -------
    A tensor (B, C, 1, 1).

    Raises
    ------
    ShapeError
        For another output size.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b c h w"):
    ...     return sa.adaptive_avg_pool2d(x, 1)
    >>> sa.account(layer).flops
    b*c*(h*w + 1)

    """
    return _global_mean(2, x, output_size)


def adaptive_avg_pool3d(x: Any, output_size: Any) -> Any:
    """Return the mean over the last three axes, kept at size 1: an add an element and a division a channel.

    Parameters
    ----------
    x, output_size
        As of `adaptive_avg_pool2d`, with three axes; errors are the same.

    Returns
    -------
    A tensor (B, C, 1, 1, 1).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.adaptive_avg_pool3d(x, 1), x="b c n n n").flops
    b*c*(n**3 + 1)

    """
    return _global_mean(3, x, output_size)


def _pooled(
    kind: str, x: Any, kernel_size: Any, stride: Any, padding: Any, *, rank: int, dilation: Any = 1, **attrs: Any
) -> Any:
    kernel = per_axis(kernel_size, rank, "kernel_size")
    return apply(
        kind,
        x,
        kernel=kernel,
        stride=whole(kernel_size if stride is None else stride, rank, "stride"),
        padding=per_axis(padding, rank, "padding", least=0),
        dilation=whole(dilation, rank, "dilation"),
        **attrs,
    )


def _global_mean(rank: int, x: Any, output_size: Any) -> Any:
    if any(size != 1 for size in per_axis(output_size, rank, "output_size")):
        msg = f"adaptive_avg_pool{rank}d: {show_shape(sizes_of(x))} to {output_size}; to 1 is known, "
        raise ShapeError(msg + f"else pool by a kernel size and stride that divide{caller()}")
    axes = tuple(range(len(x.shape) - rank, len(x.shape)))
    return apply("mean", x, axes=axes, keepdims=True)
