"""Element-wise operations in torch."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any


def _binary(run: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Run a Python operator on two tensors, or on a tensor and a number on one side."""

    def either(x: Any, y: Any = None, *, scalar: Any = None, side: str = "right") -> Any:
        if y is not None:
            return run(x, y)
        return run(x, scalar) if side == "right" else run(scalar, x)

    return either


def _extreme(name: str, bound: str) -> Callable[..., Any]:
    """Run maximum or minimum; of a tensor and a number torch has it as clamp."""

    def run(x: Any, y: Any = None, *, scalar: Any = None, side: str = "right") -> Any:  # noqa: ARG001 # either side
        import torch

        return x.clamp(**{bound: scalar}) if y is None else getattr(torch, name)(x, y)

    return run


def _unary(name: str) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        import torch

        return getattr(torch, name)(x)

    return run


def power(x: Any, *, exponent: float) -> Any:
    """Run a power: natural, 0.5 or -0.5."""
    return x**exponent


def where(mask: Any, *values: Any, x: Any = None, y: Any = None) -> Any:
    """Run a selection; numbers stand for tensors."""
    import torch

    rest = list(values)
    first = x if x is not None else rest.pop(0)
    second = y if y is not None else rest.pop(0)
    return torch.where(mask, first, second)


UNARY = ("abs", "erf", "exp", "log", "logical_not", "neg", "rsqrt", "sign", "sqrt", "square")
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "div": operator.truediv,
    "eq": operator.eq,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "logical_and": operator.and_,
    "logical_or": operator.or_,
    "lt": operator.lt,
    "mul": operator.mul,
    "ne": operator.ne,
    "sub": operator.sub,
}
KINDS: dict[str, Callable[..., Any]] = {
    **{name: _unary(name) for name in UNARY},
    **{name: _binary(run) for name, run in OPERATORS.items()},
    "maximum": _extreme("maximum", "min"),
    "minimum": _extreme("minimum", "max"),
    "pow": power,
    "where": where,
}
