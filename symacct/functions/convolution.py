"""Convolutions of one to three axes, and transposed ones, with torch's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.errors import ConventionError, ShapeError
from symacct.expr import Expr, Poly, Size, add, divide, multiply
from symacct.rules.rule import show_shape, sizes_of
from symacct.symbolic import apply, size_in
from symacct.symbolic.builder import caller


def conv1d(  # noqa: PLR0917 # torch's order
    x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
) -> Any:
    """Return the convolution along one axis: ``2*B*C_out*W * C_in/groups * k``; see `conv2d`.

    Parameters and errors are those of `conv2d`, with one axis: x (B, C_in, n), w (C_out, C_in/groups, k), out
    (B, C_out, W).

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b c n", w: "o c k"):
    ...     return sa.conv1d(x, w)
    >>> sa.account(layer).flops
    b*c*k*o*(-2*k + 2*n + 2)

    """
    return _conv(1, (x, w, bias), stride, padding, dilation=dilation, groups=groups)


def conv2d(  # noqa: PLR0917 # torch's order
    x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
) -> Any:
    """Return the convolution along two axes: ``2*B*C_out*W1*W2 * C_in/groups * k1*k2`` operations under ``2n``.

    Parameters
    ----------
    x
        A tensor of the shape (B, C_in, n1, n2), or without a batch (C_in, n1, n2).
    w
        The weight, (C_out, C_in/groups, k1, k2).
    bias
        (C_out,), one add an output; or None.
    stride, dilation
        By how much a window moves, and its taps are apart: a size for all axes or one each. Where both are more than 1
        and one is a name, how many taps share a place has no closed form: ``exact`` then refuses some gradients.
    padding
        Zeros at both ends of an axis: a size for all axes or one each, ``"valid"`` (none), or ``"same"`` (as many
        windows as elements, at stride 1). Whether taps on it count is a convention: ``padding="nominal"`` or
        ``"exact"``.
    groups
        Output channels see only the input channels of their group; ``groups=C_in`` is a depthwise convolution.

    Returns
    -------
    A tensor (B, C_out, W1, W2) with ``W = floor((n + 2*padding - dilation*(k - 1) - 1) / stride) + 1``.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or no window does.
    ConventionError
        For padding of another name.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b c h w", k: "o c 3 3"):
    ...     return sa.conv2d(x, k, padding=1)
    >>> a = sa.account(layer)
    >>> a.flops, a.graph.tensors[-1].shape
    (18*b*c*h*o*w, (b, o, h, w))
    >>> sa.account(layer, convention=sa.Convention("2n", padding="exact")).at(b=1, c=1, h=10, w=10, o=1).flops
    Quantity(1568, 'FLOP')

    """
    return _conv(2, (x, w, bias), stride, padding, dilation=dilation, groups=groups)


def conv3d(  # noqa: PLR0917 # torch's order
    x: Any, w: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: Any = 1
) -> Any:
    """Return the convolution along three axes: ``2*B*C_out*W1*W2*W3 * C_in/groups * k1*k2*k3`` under ``2n``.

    Parameters and errors are those of `conv2d`, with three axes: x (B, C_in, n1, n2, n3), w (C_out, C_in/groups,
    k1, k2, k3), out (B, C_out, W1, W2, W3).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x, w: sa.conv3d(x, w, padding=1), x="b c d h w", w="o c 3 3 3").flops
    54*b*c*d*h*o*w

    """
    return _conv(3, (x, w, bias), stride, padding, dilation=dilation, groups=groups)


def conv_transpose1d(  # noqa: PLR0917 # torch's order
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: Any = 1,
    dilation: Any = 1,
) -> Any:
    """Return the transposed convolution along one axis: ``2*B*C_in*n * C_out/groups * k`` under ``2n``.

    Parameters and errors are those of `conv_transpose2d`, with one axis: x (B, C_in, n), w (C_in, C_out/groups, k), out
    (B, C_out, m).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.conv_transpose1d, x="b c n", w="c o 3").flops
    6*b*c*n*o

    """
    return _transposed(1, (x, w, bias), stride, padding, extra=output_padding, dilation=dilation, groups=groups)


def conv_transpose2d(  # noqa: PLR0917 # torch's order
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: Any = 1,
    dilation: Any = 1,
) -> Any:
    """Return the transposed convolution along two axes: ``2*B*C_in*n1*n2 * C_out/groups * k1*k2`` under ``2n``.

    Every element of the *input* meets every tap, so the work goes by the size of the input, not of the output.

    Parameters
    ----------
    x
        A tensor of the shape (B, C_in, n1, n2), or without a batch.
    w
        The weight, (C_in, C_out/groups, k1, k2).
    bias
        (C_out,), one add an output; or None.
    stride, padding, dilation, groups
        As of the convolution whose gradient this is; see `conv2d`. Padding takes places off the output.
    output_padding
        Places added to one end of the output, fewer than the stride.

    Returns
    -------
    A tensor (B, C_out, m1, m2) with ``m = (n - 1)*stride - 2*padding + dilation*(k - 1) + output_padding + 1``.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an output padding is not below the stride.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b c n n", w: "c o 3 3"):
    ...     return sa.conv_transpose2d(x, w, stride=2)
    >>> a = sa.account(layer)
    >>> a.flops, a.graph.tensors[-1].shape
    (18*b*c*n**2*o, (b, o, 2*n + 1, 2*n + 1))

    """
    return _transposed(2, (x, w, bias), stride, padding, extra=output_padding, dilation=dilation, groups=groups)


def conv_transpose3d(  # noqa: PLR0917 # torch's order
    x: Any,
    w: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: Any = 1,
    dilation: Any = 1,
) -> Any:
    """Return the transposed convolution along three axes: ``2*B*C_in*n1*n2*n3 * C_out/groups * k1*k2*k3``.

    Parameters and errors are those of `conv_transpose2d`, with three axes: x (B, C_in, n1, n2, n3), w (C_in,
    C_out/groups, k1, k2, k3), out (B, C_out, m1, m2, m3).

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.conv_transpose3d, x="b c n n n", w="c o 2 2 2").flops
    16*b*c*n**3*o

    """
    return _transposed(3, (x, w, bias), stride, padding, extra=output_padding, dilation=dilation, groups=groups)


def _conv(rank: int, tensors: tuple[Any, Any, Any], stride: Any, padding: Any, *, dilation: Any, groups: Any) -> Any:
    x, w, bias = tensors
    _check_rank(f"conv{rank}d", rank, x, w)
    stride, dilation = per_axis(x, stride, rank, "stride"), per_axis(x, dilation, rank, "dilation")
    zeros = (0,) * rank
    if isinstance(padding, str):
        x, padding, zeros = _named_padding(x, sizes_of(w)[2:], stride, padding, dilation)
    padding = per_axis(x, padding, rank, "padding", least=0)
    attrs = {"stride": stride, "padding": padding, "dilation": dilation, "groups": size_in(x, groups)}
    attrs |= {"zeros": zeros} if any(zeros) else {}
    return apply("conv", x, w, *([] if bias is None else [bias]), **attrs)


def _transposed(
    rank: int, tensors: tuple[Any, Any, Any], stride: Any, padding: Any, *, extra: Any, dilation: Any, groups: Any
) -> Any:
    x, w, bias = tensors
    _check_rank(f"conv_transpose{rank}d", rank, x, w)
    stride, dilation = per_axis(x, stride, rank, "stride"), per_axis(x, dilation, rank, "dilation")
    padding, extra = per_axis(x, padding, rank, "padding", least=0), whole(x, extra, rank, "output_padding", least=0)
    if any(e and (type(s) is not int or e >= s) for e, s in zip(extra, stride, strict=True)):
        msg = f"an output padding of {extra} with the stride {stride}; it is less than the stride, a number{caller()}"
        raise ShapeError(msg)
    axes = zip(sizes_of(x)[-rank:], sizes_of(w)[2:], stride, padding, dilation, extra, strict=True)
    sizes = tuple(add((multiply(n - 1, s), -2 * p, multiply(k - 1, d), e, 1)) for n, k, s, p, d, e in axes)
    attrs = {"stride": stride, "padding": padding, "dilation": dilation, "groups": size_in(x, groups), "sizes": sizes}
    return apply("conv_transpose", x, w, *([] if bias is None else [bias]), **attrs)


def _check_rank(name: str, rank: int, x: Any, w: Any) -> None:
    if len(w.shape) != rank + 2 or len(x.shape) not in (rank + 1, rank + 2):
        shapes = f"{show_shape(sizes_of(x))} and {show_shape(sizes_of(w))}"
        channels = f"(batch, channels, {rank} more) or no batch, and (channels, channels, {rank} more)"
        msg = f"{name}: the shapes {shapes} do not fit; it takes {channels}{caller()}"
        raise ShapeError(msg)


def _named_padding(
    x: Any, kernel: Sequence[Size], stride: Sequence[Size], padding: str, dilation: Sequence[Size]
) -> tuple[Any, tuple[Size, ...], tuple[int, ...]]:
    """Return the input and padding of a name; where "same" is uneven, a zero is put behind the input, as torch does.

    And how many: they are padding to whoever counts without it.
    """
    if padding not in ("same", "valid"):
        msg = f"unknown padding {padding!r} of a convolution; known: sizes, same, valid{caller()}"
        raise ConventionError(msg)
    if padding == "valid":
        return x, (0,) * len(kernel), (0,) * len(kernel)
    if any(s != 1 for s in stride):
        msg = f"padding 'same' with the stride {tuple(stride)}; it needs stride 1{caller()}"
        raise ConventionError(msg)
    totals = [multiply(k - 1, d) for k, d in zip(kernel, dilation, strict=True)]
    odd = [total % 2 if type(total) is int else 0 for total in totals]
    if any(odd):
        widths = [(0, 0)] * (len(x.shape) - len(kernel)) + [(0, one) for one in odd]
        x = apply("pad", x, widths=tuple(widths), value=0.0)
    each = tuple(divide(add((total, -one)), 2) for total, one in zip(totals, odd, strict=True))
    return x, each, tuple(odd)  # type: ignore[return-value]


def whole(x: Any, value: Any, rank: int, what: str, least: int = 1) -> tuple[int, ...]:
    """Return a whole number for each axis.

    Raises
    ------
    ShapeError
        For another number of them, or one that is none.

    """
    out = per_axis(x, value, rank, what, least)
    if names := [v for v in out if type(v) is not int]:
        msg = f"the {what} {names[0]} is a name; give it as a number{caller()}"
        raise ShapeError(msg)
    return out  # type: ignore[return-value]


def per_axis(x: Any, value: Any, rank: int, what: str, least: int = 1) -> tuple[Size, ...]:
    """Return a size for each axis, from one for all or one each.

    Raises
    ------
    ShapeError
        For another number of them, or one that is no size.

    """
    given = tuple(value) if isinstance(value, tuple | list) else (value,) * rank
    if len(given) != rank:
        msg = f"{len(given)} values of {what} for {rank} axes{caller()}"
        raise ShapeError(msg)
    out: list[Expr] = [size_in(x, v) for v in given]
    if small := [v for v in out if not isinstance(v, Poly) and v < least]:
        msg = f"a {what} of {small[0]}; it is at least {least}{caller()}"
        raise ShapeError(msg)
    return tuple(out)  # type: ignore[arg-type]
