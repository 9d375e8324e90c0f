"""Convolutions and pooling in torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Sizes = Sequence[int]


def conv(
    x: Any,
    w: Any,
    bias: Any = None,
    *,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    zeros: Sizes = (),
) -> Any:
    """Run a convolution of as many axes as it has strides."""
    del zeros  # which are in x
    return _function("conv{}d", stride)(x, w, bias, tuple(stride), tuple(padding), tuple(dilation), groups)


def conv_transpose(
    x: Any,
    w: Any,
    bias: Any = None,
    *,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    sizes: Sizes,
    zeros: Sizes = (),
) -> Any:
    """Run a transposed convolution to an output of given sizes."""
    del zeros  # which count among the sizes
    rank = len(stride)
    per_axis = zip(sizes, x.shape[-rank:], w.shape[-rank:], stride, padding, dilation, strict=True)
    extra = tuple(n - ((windows - 1) * s - 2 * p + d * (k - 1) + 1) for n, windows, k, s, p, d in per_axis)
    run = _function("conv_transpose{}d", stride)
    return run(x, w, bias, tuple(stride), tuple(padding), extra, groups, tuple(dilation))


def conv_backward_weight(
    x: Any,
    grad: Any,
    *,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    groups: int,
    zeros: Sizes = (),
) -> Any:
    """Run the gradient of a convolution's weight."""
    import torch

    del zeros  # which are in x
    rank = len(stride)
    if x.ndim == rank + 1:
        x, grad = x.unsqueeze(0), grad.unsqueeze(0)
    w = x.new_empty((grad.shape[1], x.shape[1] // groups, *kernel))
    geometry = (tuple(stride), tuple(padding), tuple(dilation), False, (0,) * rank, groups)
    return torch.ops.aten.convolution_backward(grad, x, w, None, *geometry, (False, True, False))[1]


def max_pool(x: Any, *, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil: bool = False) -> Any:
    """Run a max pooling."""
    run = _function("max_pool{}d", kernel)
    return run(x, tuple(kernel), tuple(stride), tuple(padding), tuple(dilation), ceil)


def avg_pool(
    x: Any,
    *,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    count_include_pad: bool,
    ceil: bool = False,
) -> Any:
    """Run a mean pooling; torch has none with dilation, and it is 1."""
    assert set(dilation) == {1}
    run = _function("avg_pool{}d", kernel)
    return run(x, tuple(kernel), tuple(stride), tuple(padding), ceil, count_include_pad)


def max_pool_backward(grad: Any, x: Any, *, sizes: Sizes, **attrs: Any) -> Any:
    """Run the gradient of a max pooling."""
    assert tuple(x.shape[-len(sizes) :]) == tuple(sizes)
    return _through(lambda t: max_pool(t, **attrs), x, grad)


def avg_pool_backward(grad: Any, *, sizes: Sizes, **attrs: Any) -> Any:
    """Run the gradient of a mean pooling, which depends on the shape of its input alone."""
    return _through(lambda t: avg_pool(t, **attrs), grad.new_zeros((*grad.shape[: -len(sizes)], *sizes)), grad)


def adaptive_avg_pool(x: Any, *, sizes: Sizes) -> Any:
    """Run an adaptive mean pooling."""
    return _function("adaptive_avg_pool{}d", sizes)(x, tuple(sizes))


def adaptive_max_pool(x: Any, *, sizes: Sizes) -> Any:
    """Run an adaptive max pooling."""
    return _function("adaptive_max_pool{}d", sizes)(x, tuple(sizes))


def adaptive_avg_pool_backward(grad: Any, *, pooled: Sizes) -> Any:
    """Run the gradient of an adaptive mean pooling, which depends on the shape of its input alone."""
    rank = len(pooled)
    like = grad.new_zeros((*grad.shape[:-rank], *pooled))
    return _through(lambda t: adaptive_avg_pool(t, sizes=grad.shape[-rank:]), like, grad)


def adaptive_max_pool_backward(grad: Any, x: Any, *, pooled: Sizes) -> Any:
    """Run the gradient of an adaptive max pooling."""
    return _through(lambda t: adaptive_max_pool(t, sizes=grad.shape[-len(pooled) :]), x, grad)


def _through(run: Callable[[Any], Any], x: Any, grad: Any) -> Any:
    import torch

    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(run(leaf), leaf, grad)[0]


def _function(name: str, per_axis: Sizes) -> Callable[..., Any]:
    import torch

    return getattr(torch.nn.functional, name.format(len(per_axis)))  # type: ignore[no-any-return]


KINDS: dict[str, Callable[..., Any]] = {
    "adaptive_avg_pool": adaptive_avg_pool,
    "adaptive_avg_pool_backward": adaptive_avg_pool_backward,
    "adaptive_max_pool": adaptive_max_pool,
    "adaptive_max_pool_backward": adaptive_max_pool_backward,
    "avg_pool": avg_pool,
    "avg_pool_backward": avg_pool_backward,
    "conv": conv,
    "conv_backward_weight": conv_backward_weight,
    "conv_transpose": conv_transpose,
    "max_pool": max_pool,
    "max_pool_backward": max_pool_backward,
}
