"""Softmax, its logarithm, and logsumexp, over rows of n elements.

Terms, as torch executes them; the largest element is taken off first, so that no exponential overflows:

    softmax               max of a row, x - max, exp, sum of a row, / sum       n max, n sub, n exp, n sum, n div
    log_softmax           max, x - max, exp, sum, log, (x - max) - log          n max, n sub, n exp, n sum, n sub, log
    logsumexp             max, x - max, exp, sum, log, + max                    n max, n sub, n exp, n sum, log, add
    softmax_backward      (g - sum(g*y)) * y                                    n mul, n sum, n sub, n mul
    log_softmax_backward  g - exp(y) * sum(g)                                   n sum, n exp, n mul, n sub

So a softmax over n is 5n under ``2n`` and, each reduction being n - 1, 5n - 2 under ``exact``; a log_softmax 5n + 1
and 5n - 1, a logsumexp 4n + 2 and 4n, the gradients 4n and 4n - 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symacct.conventions import Key, Work
from symacct.expr import product
from symacct.graph import Graph, Op, Tensor
from symacct.rules.rule import (
    Attrs,
    Backward,
    Gradient,
    Out,
    Rule,
    axis_of,
    keep_input_and_output,
    keep_output,
    no_second_gradient,
    reduced,
    same_shape,
)

FORMULAS: Mapping[Key, Mapping[Key, int]] = {
    ("softmax", "points"): {("reduce", "points"): 2, ("sub", "points"): 1, ("exp", "points"): 1, ("div", "points"): 1},
    ("softmax", "outputs"): {("reduce", "outputs"): 2},
    ("log_softmax", "points"): {("reduce", "points"): 2, ("sub", "points"): 2, ("exp", "points"): 1},
    ("log_softmax", "outputs"): {("reduce", "outputs"): 2, ("log", "points"): 1},
    ("logsumexp", "points"): {("reduce", "points"): 2, ("sub", "points"): 1, ("exp", "points"): 1},
    ("logsumexp", "outputs"): {("reduce", "outputs"): 2, ("log", "points"): 1, ("add", "points"): 1},
    ("softmax_backward", "points"): {("reduce", "points"): 1, ("sub", "points"): 1, ("mul", "points"): 2},
    ("softmax_backward", "outputs"): {("reduce", "outputs"): 1},
    ("log_softmax_backward", "points"): {
        ("reduce", "points"): 1,
        ("exp", "points"): 1,
        ("mul", "points"): 1,
        ("sub", "points"): 1,
    },
    ("log_softmax_backward", "outputs"): {("reduce", "outputs"): 1},
}
"""What an element (`points`) and a row (`outputs`) are made of."""


def shape_of_rows(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of the input; the axis is one of its."""
    (x,) = inputs
    axis_of(attrs["axis"], len(x.shape))
    return (Out(x.shape, x.dtype),)


def shape_of_gradient(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape that the gradient and the output share."""
    axis_of(attrs["axis"], len(inputs[0].shape))
    return same_shape(inputs, 2)


def shape_of_logsumexp(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the input without the reduced axes, or with them at size 1."""
    (x,) = inputs
    return (Out(reduced(x.shape, attrs["axes"], keepdims=attrs["keepdims"]), x.dtype),)


def work(op: Op, graph: Graph) -> Work:
    """Return the elements and the rows."""
    x = graph.tensors[op.inputs[0]]
    axes = op.attrs["axes"] if op.kind == "logsumexp" else (op.attrs["axis"],)
    return {(op.kind, "points"): x.numel, (op.kind, "outputs"): product(reduced(x.shape, axes, keepdims=False))}


def _gradient(kind: str) -> Gradient:
    def gradient(b: Backward) -> tuple[Any, ...]:
        return (b.apply(kind, b.grads[0], b.outputs[0], axis=b.attrs["axis"]),)

    return gradient


def gradient_of_logsumexp(b: Backward) -> tuple[Any, ...]:
    """Return ``g * exp(x - y)``, which is g times the softmax."""
    (x,), (y,), (g,) = b.inputs, b.outputs, b.grads
    kept = reduced(x.shape, b.attrs["axes"], keepdims=True)
    return (g.reshape(kept) * b.apply("exp", x - y.reshape(kept)),)


RULES = {
    "log_softmax": Rule(
        "normalization", shape_of_rows, work, residuals=keep_output, gradient=_gradient("log_softmax_backward")
    ),
    "log_softmax_backward": Rule("normalization", shape_of_gradient, work, gradient=no_second_gradient),
    "logsumexp": Rule(
        "normalization", shape_of_logsumexp, work, residuals=keep_input_and_output, gradient=gradient_of_logsumexp
    ),
    "softmax": Rule(
        "normalization", shape_of_rows, work, residuals=keep_output, gradient=_gradient("softmax_backward")
    ),
    "softmax_backward": Rule("normalization", shape_of_gradient, work, gradient=no_second_gradient),
}
