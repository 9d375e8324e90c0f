"""Element-wise operations in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _binary(name: str) -> Callable[..., Any]:
    def run(x: Any, y: Any = None, *, scalar: Any = None, side: str = "right") -> Any:
        import torch

        left, right = (x, y) if y is not None else (x, scalar) if side == "right" else (scalar, x)
        if not torch.is_tensor(left):
            left = torch.as_tensor(left, dtype=x.dtype, device=x.device)
        return getattr(torch, name)(left, right)

    return run


def _unary(name: str) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        import torch

        return getattr(torch, name)(x)

    return run


def gelu(x: Any, *, approximate: str) -> Any:
    """Run gelu."""
    import torch

    return torch.nn.functional.gelu(x, approximate=approximate)


def silu(x: Any) -> Any:
    """Run silu."""
    import torch

    return torch.nn.functional.silu(x)


def power(x: Any, *, exponent: int) -> Any:
    """Run a natural power."""
    return x**exponent


def where(mask: Any, *values: Any, x: Any = None, y: Any = None) -> Any:
    """Run a selection; numbers stand for tensors."""
    import torch

    rest = list(values)
    first = x if x is not None else rest.pop(0)
    second = y if y is not None else rest.pop(0)
    return torch.where(mask, first, second)


UNARY = ("abs", "erf", "exp", "log", "neg", "relu", "rsqrt", "sigmoid", "sqrt", "square", "tanh", "logical_not")
BINARY = ("add", "div", "eq", "ge", "gt", "le", "lt", "logical_and", "logical_or", "maximum", "minimum", "mul", "sub")
KINDS: dict[str, Callable[..., Any]] = {
    **{name: _unary(name) for name in UNARY},
    **{name: _binary(name) for name in BINARY},
    "gelu": gelu,
    "pow": power,
    "silu": silu,
    "where": where,
}
