"""Adaptive pooling: n elements along an axis into m windows, from ``floor(i*n/m)`` to ``ceil((i + 1)*n/m)``.

Windows overlap by an element wherever n/m has a fraction: together those of an axis have ``n + m - gcd(n, m)`` taps,
since without rounding they would have n, and m - gcd(n, m) of their ends are rounded up. Where m divides n it is n, in
windows of n/m; where n/m is no number that is the condition, m divides n. The taps of several axes multiply.

An output reduces its taps; a mean adds a division. The gradient of a mean divides once a window and adds to each tap;
that of a largest adds once a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from symacct.conventions import Work
from symacct.errors import ShapeError
from symacct.expr import Expr, Poly, Size, add, divide, multiply, product
from symacct.graph import Condition, Graph, Op, Tensor, size_conditions
from symacct.rules.pooling import keep_input, keep_input_and_places
from symacct.rules.rule import Attrs, Backward, Out, Rule, no_second_gradient, out_of, show_shape, sizes_of


def shape(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return (batch, channels, sizes...), or the same without a batch.

    Raises
    ------
    ShapeError
        For another number of axes.

    """
    (x,), rank = inputs, len(attrs["sizes"])
    if len(x.shape) not in (rank + 1, rank + 2):
        msg = f"{rank} sizes pool (batch, channels, {rank} axes) or the same without a batch, not {show_shape(x.shape)}"
        raise ShapeError(msg)
    return (Out((*x.shape[:-rank], *attrs["sizes"]), x.dtype),)


def shape_of_gradient(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of what was pooled."""
    grad, rank = inputs[0], len(attrs["pooled"])
    return (Out((*grad.shape[:-rank], *attrs["pooled"]), grad.dtype),)


def taps(n: Size, windows: Size) -> Size:
    """Return the taps of all windows along an axis: n where names leave the common divisor open, see `conditions`."""
    ratio = divide(n, windows)
    if isinstance(ratio, Poly):
        return n
    shared = divide(n, Fraction(ratio).numerator)
    return add((n, windows, -shared))  # type: ignore[return-value] # a common divisor is whole


def _axes(op: Op, graph: Graph) -> list[tuple[Size, Size]]:
    """Return the elements and the windows of each axis."""
    first, out = graph.tensors[op.inputs[0]].shape, out_of(op, graph).shape
    pooled, windows = (out, first) if op.kind.endswith("backward") else (first, out)
    rank = len(op.attrs["pooled" if op.kind.endswith("backward") else "sizes"])
    return list(zip(pooled[-rank:], windows[-rank:], strict=True))


def _rows(op: Op, graph: Graph) -> tuple[Expr, Expr]:
    """Return batch times channels, and the taps of each."""
    axes = _axes(op, graph)
    return product(out_of(op, graph).shape[: -len(axes)]), product(taps(*axis) for axis in axes)


def work(op: Op, graph: Graph) -> Work:
    """Return a reduction of every window; of a mean a division an output."""
    (rows, points), out = _rows(op, graph), out_of(op, graph).numel
    reduced = {("reduce", "points"): multiply(rows, points), ("reduce", "outputs"): out}
    return {**reduced, ("div", "points"): out} if op.kind == "adaptive_avg_pool" else reduced


def work_of_mean_gradient(op: Op, graph: Graph) -> Work:
    """Return a division a window, and sums of what falls on each element: every one has a tap."""
    (rows, points), grad = _rows(op, graph), graph.tensors[op.inputs[0]].numel
    reduced = {("reduce", "points"): multiply(rows, points), ("reduce", "outputs"): out_of(op, graph).numel}
    return {**reduced, ("div", "points"): grad}


def work_of_largest_gradient(op: Op, graph: Graph) -> Work:
    """Return an add a window."""
    return {("add", "points"): graph.tensors[op.inputs[0]].numel}


def conditions(op: Op, graph: Graph) -> list[Condition]:
    """Return that windows divide elements, where sizes are names."""
    ratios = [divide(*axis) for axis in _axes(op, graph)]
    return [c for ratio in ratios if isinstance(ratio, Poly) for c in size_conditions(ratio)]


def gradient_of_mean(b: Backward) -> tuple[Any, ...]:
    """Return the gradient spread evenly over the taps of each window."""
    return (b.apply("adaptive_avg_pool_backward", b.grads[0], pooled=_pooled(b)),)


def gradient_of_max(b: Backward) -> tuple[Any, ...]:
    """Return the gradient where the largest element was found."""
    return (b.apply("adaptive_max_pool_backward", b.grads[0], b.inputs[0], pooled=_pooled(b)),)


def _pooled(b: Backward) -> tuple[Size, ...]:
    return sizes_of(b.inputs[0])[-len(b.attrs["sizes"]) :]


RULES = {
    "adaptive_avg_pool": Rule(
        "pooling", shape, work, conditions=conditions, residuals=keep_input, gradient=gradient_of_mean
    ),
    "adaptive_max_pool": Rule(
        "pooling", shape, work, conditions=conditions, residuals=keep_input_and_places, gradient=gradient_of_max
    ),
    "adaptive_avg_pool_backward": Rule(
        "pooling", shape_of_gradient, work_of_mean_gradient, conditions=conditions, gradient=no_second_gradient
    ),
    "adaptive_max_pool_backward": Rule(
        "pooling", shape_of_gradient, work_of_largest_gradient, gradient=no_second_gradient
    ),
}
