"""Softmax, normalisation and dropout in torch, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any


def softmax(x: Any, *, axis: int) -> Any:
    """Run softmax."""
    return x.softmax(axis)


def log_softmax(x: Any, *, axis: int) -> Any:
    """Run the logarithm of softmax."""
    return x.log_softmax(axis)


def logsumexp(x: Any, *, axes: Sequence[int], keepdims: bool) -> Any:
    """Run the logarithm of the sum of exponentials."""
    return x.logsumexp(tuple(axes), keepdim=keepdims)


def softmax_backward(grad: Any, y: Any, *, axis: int) -> Any:
    """Run the gradient of softmax."""
    import torch

    return torch.ops.aten._softmax_backward_data(grad, y, axis, y.dtype)  # noqa: SLF001 # torch's name


def log_softmax_backward(grad: Any, y: Any, *, axis: int) -> Any:
    """Run the gradient of log_softmax."""
    import torch

    return torch.ops.aten._log_softmax_backward_data(grad, y, axis, y.dtype)  # noqa: SLF001 # torch's name


def dropout(x: Any, *, p: float) -> tuple[Any, Any]:
    """Run dropout as torch does on a CPU; return the output and the mask."""
    import torch

    mask = torch.empty_like(x).bernoulli_(1 - p).div_(1 - p)
    return x * mask, mask


def layer_norm(x: Any, *parameters: Any, given: Sequence[str], axes: int, eps: float) -> tuple[Any, ...]:
    """Run layer_norm; return the output, mean and rstd."""
    import torch

    p = dict(zip(given, parameters, strict=True))
    return _constants(torch.native_layer_norm(x, x.shape[-axes:], p.get("weight"), p.get("bias"), eps))


def rms_norm(x: Any, *parameters: Any, given: Sequence[str], axes: int, eps: float | None) -> tuple[Any, Any]:
    """Run rms_norm as torch does on a CPU, half formats in fp32; return the output and rstd."""
    import torch

    wide = x.float() if x.itemsize < 4 else x
    small = torch.finfo(wide.dtype).eps if eps is None else eps
    rstd = (wide.square().mean(tuple(range(-axes, 0)), keepdim=True) + small).rsqrt()
    normal = wide * rstd
    return (normal * parameters[0] if given else normal).to(x.dtype), rstd.detach()


def group_norm(x: Any, *parameters: Any, given: Sequence[str], groups: int, eps: float) -> tuple[Any, ...]:
    """Run group_norm; return the output, mean and rstd."""
    import torch

    p = dict(zip(given, parameters, strict=True))
    return _constants(torch.native_group_norm(x.contiguous(), p.get("weight"), p.get("bias"), *_sizes(x), groups, eps))


def batch_norm(x: Any, *parameters: Any, given: Sequence[str], training: bool, momentum: float, eps: float) -> Any:
    """Run batch_norm; return the output and in training mean and rstd. Running statistics are updated in place."""
    import torch

    p = dict(zip(given, parameters, strict=True))
    running = (p.get("weight"), p.get("bias"), p.get("mean"), p.get("var"))
    out = torch.native_batch_norm(x, *running, training, momentum, eps)
    return _constants(out) if training else out[0]


def _constants(made: Sequence[Any]) -> tuple[Any, ...]:
    """Return an output, and its statistics without a gradient of their own."""
    return made[0], *(t.detach() for t in made[1:])


def _sizes(x: Any) -> tuple[int, int, int]:
    return x.shape[0], x.shape[1], prod(x.shape[2:])


def _wanted(wants: Sequence[str], made: Sequence[Any]) -> Any:
    out = tuple(dict(zip(("x", "weight", "bias"), made, strict=False))[n] for n in wants)
    return out[0] if len(out) == 1 else out


def _mask(wants: Sequence[str]) -> list[bool]:
    return [n in wants for n in ("x", "weight", "bias")]


def layer_norm_backward(
    grad: Any, x: Any, mean: Any, rstd: Any, weight: Any = None, *, axes: int, wants: Sequence[str]
) -> Any:
    """Run the gradients of layer_norm that are wanted."""
    import torch

    shape = x.shape[-axes:]
    bias = x.new_empty(shape)  # torch asks for one to tell a shape from
    run = torch.ops.aten.native_layer_norm_backward
    return _wanted(wants, run(grad.contiguous(), x, shape, mean, rstd, weight, bias, _mask(wants)))


def rms_norm_backward(grad: Any, x: Any, rstd: Any, weight: Any = None, *, axes: int, wants: Sequence[str]) -> Any:
    """Run the gradients of rms_norm that are wanted."""
    normal = x * rstd
    scaled = grad if weight is None else grad * weight
    inner = (scaled * normal).mean(tuple(range(-axes, 0)), keepdim=True)
    dx = ((scaled - normal * inner) * rstd).to(x.dtype)
    by_weight = None
    if "weight" in wants:
        by_weight = grad * normal
        if x.ndim > axes:  # torch sums over all axes where none is named
            by_weight = by_weight.sum(tuple(range(x.ndim - axes)))
    return _wanted(wants, (dx, by_weight))


def group_norm_backward(
    grad: Any, x: Any, mean: Any, rstd: Any, weight: Any = None, *, groups: int, wants: Sequence[str]
) -> Any:
    """Run the gradients of group_norm that are wanted."""
    import torch

    run = torch.ops.aten.native_group_norm_backward
    made = run(grad.contiguous(), x.contiguous(), mean, rstd, weight, *_sizes(x), groups, _mask(wants))
    return _wanted(wants, made)


def batch_norm_backward(grad: Any, x: Any, mean: Any, rstd: Any, weight: Any = None, *, wants: Sequence[str]) -> Any:
    """Run the gradients of batch_norm in training that are wanted."""
    import torch

    run, training, eps = torch.ops.aten.native_batch_norm_backward, True, 0.0  # eps is in rstd already
    return _wanted(wants, run(grad, x, weight, None, None, mean, rstd, training, eps, _mask(wants)))


KINDS: dict[str, Callable[..., Any]] = {
    "batch_norm": batch_norm,
    "batch_norm_backward": batch_norm_backward,
    "dropout": dropout,
    "group_norm": group_norm,
    "group_norm_backward": group_norm_backward,
    "layer_norm": layer_norm,
    "layer_norm_backward": layer_norm_backward,
    "log_softmax": log_softmax,
    "log_softmax_backward": log_softmax_backward,
    "logsumexp": logsumexp,
    "rms_norm": rms_norm,
    "rms_norm_backward": rms_norm_backward,
    "softmax": softmax,
    "softmax_backward": softmax_backward,
}
