"""Activations in torch, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _function(name: str) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        import torch

        return getattr(torch, name)(x)

    return run


def _gradient(name: str) -> Callable[..., Any]:
    def run(grad: Any, kept: Any, **attrs: Any) -> Any:
        import torch

        return getattr(torch.ops.aten, name)(grad, kept, **attrs)

    return run


def gelu(x: Any, *, approximate: str) -> Any:
    """Run gelu."""
    import torch

    return torch.nn.functional.gelu(x, approximate=approximate)


def silu(x: Any) -> Any:
    """Run silu."""
    import torch

    return torch.nn.functional.silu(x)


def relu_backward(grad: Any, y: Any) -> Any:
    """Run the gradient of relu."""
    import torch

    return torch.ops.aten.threshold_backward(grad, y, 0)


KINDS: dict[str, Callable[..., Any]] = {
    **{name: _function(name) for name in ("relu", "sigmoid", "tanh")},
    **{name: _gradient(name) for name in ("gelu_backward", "sigmoid_backward", "silu_backward", "tanh_backward")},
    "gelu": gelu,
    "relu_backward": relu_backward,
    "silu": silu,
}
