"""Normalisation, with torch's arguments."""

from __future__ import annotations

from typing import Any

from symacct.errors import ShapeError
from symacct.rules.rule import show_shape
from symacct.symbolic import apply, size_in
from symacct.symbolic.builder import caller


def layer_norm(x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Return ``(x - mean) / sqrt(variance + eps) * weight + bias`` over the last axes: 5n + 4 operations a row of n.

    The mean is n sums and a division; to centre, n; the variance n multiplies, n sums and a division; eps and the root
    2; to scale, n. A weight and a bias add n each: 7n + 4, which is 7n + 2 under ``exact``.

    Parameters
    ----------
    x
        A symbolic or a torch tensor, ``(..., *normalized_shape)``.
    normalized_shape
        The sizes of the last axes, ``x.shape[-1:]``; one size stands for itself.
    weight, bias
        Tensors of that shape, or None.
    eps
        Added to the variance.

    Returns
    -------
    A tensor of the shape of x. Its gradient needs x, weight, and mean and 1/sqrt(variance) of each row.

    Raises
    ------
    ShapeError
        If x does not end with `normalized_shape`, or a parameter has another shape.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b d", w: "d", v: "d"):
    ...     return sa.layer_norm(x, x.shape[-1:], w, v)
    >>> sa.account(layer).flops, sa.account(layer, convention="unit").flops
    (b*(7*d + 4), b*d)

    """
    axes = _ending("layer_norm", x, normalized_shape)
    return _affine("layer_norm", x, {"weight": weight, "bias": bias}, axes=axes, eps=eps)[0]


def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Return ``x / sqrt(mean(x*x) + eps) * weight`` over the last axes: 3n + 3 operations a row of n.

    The mean square is n multiplies, n sums and a division; eps and the root 2; to scale, n. A weight adds n: 4n + 3,
    which is 4n + 2 under ``exact``.

    Parameters
    ----------
    x
        A symbolic or a torch tensor, ``(..., *normalized_shape)``.
    normalized_shape
        The sizes of the last axes, ``x.shape[-1:]``; one size stands for itself.
    weight
        A tensor of that shape, or None.
    eps
        Added to the mean square; None for the smallest step of the format, as in torch.

    Returns
    -------
    A tensor of the shape of x. Its gradient needs x, weight, and 1/sqrt(mean square) of each row.

    Raises
    ------
    ShapeError
        If x does not end with `normalized_shape`, or the weight has another shape.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b d", w: "d"):
    ...     return sa.rms_norm(x, x.shape[-1:], w)
    >>> sa.account(layer).flops
    b*(4*d + 3)

    """
    axes = _ending("rms_norm", x, normalized_shape)
    return _affine("rms_norm", x, {"weight": weight}, axes=axes, eps=eps)[0]


def group_norm(x: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Return a layer_norm of each group of channels of each sample: 5n + 4 operations a group of n elements.

    A weight and a bias a channel add an operation an element each.

    Parameters
    ----------
    x
        A symbolic or a torch tensor, ``(samples, channels, ...)``.
    num_groups
        How many groups the channels are cut into; it divides their number.
    weight, bias
        Tensors of the shape ``(channels,)``, or None.
    eps
        Added to the variance.

    Returns
    -------
    A tensor of the shape of x. Its gradient needs x, weight, and mean and 1/sqrt(variance) of each group.

    Raises
    ------
    ShapeError
        If x has no channels, the groups do not divide them, a parameter has another shape, or a bias has no weight.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b c h w"):
    ...     return sa.group_norm(x, 8)
    >>> sa.account(layer).flops
    b*(5*c*h*w + 32)

    """
    if bias is not None and weight is None:
        msg = f"group_norm: a bias without a weight, of which torch makes no gradient; give both{caller()}"
        raise ShapeError(msg)
    groups = size_in(x, num_groups)
    return _affine("group_norm", x, {"weight": weight, "bias": bias}, groups=groups, eps=eps)[0]


def batch_norm(  # noqa: PLR0917 # torch's arguments
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,  # noqa: FBT001, FBT002 # torch's arguments
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Return ``(x - mean) / sqrt(variance + eps) * weight + bias`` for each channel, over batch and places.

    In training a channel of n elements is 5n + 4 operations, and 7 to update the running statistics where they are
    given (in place, on torch tensors). In use the running statistics serve: 2n + 2. A weight and a bias add n each.

    Parameters
    ----------
    x
        A symbolic or a torch tensor, ``(samples, channels, ...)``.
    running_mean, running_var
        Tensors of the shape ``(channels,)``; both or neither.
    weight, bias
        Tensors of the shape ``(channels,)``, or None.
    training
        Whether mean and variance are the batch's own.
    momentum
        How much of the batch's statistics goes into the running ones.
    eps
        Added to the variance.

    Returns
    -------
    A tensor of the shape of x. Its gradient needs x, weight and statistics.

    Raises
    ------
    ShapeError
        If x has no channels, running statistics are missing in use, or a tensor has another shape.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b c h w"):
    ...     return sa.batch_norm(x, training=True)
    >>> sa.account(layer).flops
    c*(5*b*h*w + 4)

    """
    if (running_mean is None) != (running_var is None) or (running_mean is None and not training):
        msg = f"batch_norm: running_mean and running_var go together, and are needed out of training{caller()}"
        raise ShapeError(msg)
    tensors = {"weight": weight, "bias": bias, "mean": running_mean, "var": running_var}
    out = _affine("batch_norm", x, tensors, training=training, momentum=momentum, eps=eps)
    return out[0] if training else out


def _affine(kind: str, x: Any, tensors: dict[str, Any], **attrs: Any) -> Any:
    """Apply an operation to x and those tensors that are given."""
    given = {called: t for called, t in tensors.items() if t is not None}
    return apply(kind, x, *given.values(), given=tuple(given), **attrs)


def _ending(kind: str, x: Any, wanted: Any) -> int:
    """Return how many axes a shape names, once x ends with it."""
    sizes = (wanted,) if isinstance(wanted, int) else tuple(wanted)
    if not sizes or tuple(x.shape)[-len(sizes) :] != sizes:
        msg = f"{kind}: the shape {show_shape(tuple(x.shape))} does not end with {show_shape(sizes)}{caller()}"
        raise ShapeError(msg)
    return len(sizes)
