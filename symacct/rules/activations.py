"""Activations: element-wise functions whose gradient torch runs as one operation too.

A gradient reads what was kept and the gradient of the output once, and writes the gradient of the input once; written
with multiplies and adds it would make a tensor a term. Terms an element, with g the gradient of the output:

    relu_backward          g where y > 0 else 0                 compare
    sigmoid_backward       g * (1 - y) * y                      sub, 2 mul
    tanh_backward          g * (1 - y*y)                        sub, 2 mul
    silu                   x * s, s = sigmoid(x)                sigmoid, mul
    silu_backward          g * s * (1 + x * (1 - s))            sigmoid, sub, add, 3 mul
    gelu_backward          g * (c + x*p)                        add, 2 mul
        c = 0.5 * (1 + erf(x * sqrt(1/2)))                      2 mul, add, erf
        p = 1/sqrt(2*pi) * exp(-0.5 * (x*x))                    3 mul, exp
    gelu_tanh_backward     g * (0.5*(1 + t) + h*d)              add, 2 mul
        t = tanh(a * (x + k * x*x*x))                           4 mul, add, tanh; x*x is had once
        0.5 * (1 + t)                                           add, mul
        h = 0.5*x * (1 - t*t)                                   3 mul, sub
        d = a * (1 + 3*k * (x*x))                               2 mul, add

`gelu` itself has a weight of its own (20 in the lecture's).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symacct.conventions import Key, Work
from symacct.graph import Graph, Op, Tensor
from symacct.rules.layout import elementwise_strides
from symacct.rules.rule import (
    Attrs,
    Backward,
    Gradient,
    Out,
    Residuals,
    Rule,
    keep_input,
    keep_output,
    no_second_gradient,
    out_of,
    same_shape,
)

FORMULAS: Mapping[Key, Mapping[Key, int]] = {
    ("silu", "points"): {("sigmoid", "points"): 1, ("mul", "points"): 1},
    ("sigmoid_backward", "points"): {("sub", "points"): 1, ("mul", "points"): 2},
    ("tanh_backward", "points"): {("sub", "points"): 1, ("mul", "points"): 2},
    ("silu_backward", "points"): {
        ("sigmoid", "points"): 1,
        ("sub", "points"): 1,
        ("add", "points"): 1,
        ("mul", "points"): 3,
    },
    ("gelu_backward", "points"): {
        ("erf", "points"): 1,
        ("exp", "points"): 1,
        ("add", "points"): 2,
        ("mul", "points"): 7,
    },
    ("gelu_tanh_backward", "points"): {
        ("tanh", "points"): 1,
        ("sub", "points"): 1,
        ("add", "points"): 4,
        ("mul", "points"): 12,
    },
}
"""What an element is made of, where it is more than a call of one function."""

CALLS = {"relu": "max", "relu_backward": "compare"}
"""What is called by another name: relu is max(x, 0)."""


def work(op: Op, graph: Graph) -> Work:
    """Return one call an element."""
    kind = op.kind
    if kind == "gelu_backward" and op.attrs["approximate"] == "tanh":
        kind = "gelu_tanh_backward"
    return {(CALLS.get(kind, kind), "points"): out_of(op, graph).numel}


def gradient_from_output(kind: str) -> Gradient:
    """Make a gradient that reads the output, as relu, sigmoid and tanh have it."""

    def gradient(b: Backward) -> tuple[Any, ...]:
        return (b.apply(kind, b.grads[0], b.outputs[0]),)

    return gradient


def gradient_from_input(kind: str) -> Gradient:
    """Make a gradient that reads the input, as gelu and silu have it."""

    def gradient(b: Backward) -> tuple[Any, ...]:
        return (b.apply(kind, b.grads[0], b.inputs[0], **b.attrs),)

    return gradient


def shape(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of the input, laid out as it is."""
    return _laid_out(inputs, 1)


def shape_of_gradient(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape that the gradient and what is kept share, laid out as they are."""
    return _laid_out(inputs, 2)


def _laid_out(inputs: Sequence[Tensor], count: int) -> tuple[Out, ...]:
    (out,) = same_shape(inputs, count)
    return (out._replace(strides=elementwise_strides(out.shape, inputs)),)


def _rules(kind: str, kept: Residuals, gradient: Gradient) -> dict[str, Rule]:
    return {
        kind: Rule("pointwise", shape, work, residuals=kept, gradient=gradient),
        f"{kind}_backward": Rule("pointwise", shape_of_gradient, work, gradient=no_second_gradient),
    }


RULES = {
    **_rules("gelu", keep_input, gradient_from_input("gelu_backward")),
    **_rules("relu", keep_output, gradient_from_output("relu_backward")),
    **_rules("sigmoid", keep_output, gradient_from_output("sigmoid_backward")),
    **_rules("silu", keep_input, gradient_from_input("silu_backward")),
    **_rules("tanh", keep_output, gradient_from_output("tanh_backward")),
}
