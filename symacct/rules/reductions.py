"""Reductions over axes: sum, mean, max, min, product.

A reduction of n is n operations under ``2n``, n - 1 under ``exact``; a mean adds a division an output.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from symacct.conventions import Work
from symacct.graph import Graph, Op, Tensor
from symacct.rules.rule import (
    Attrs,
    Backward,
    Out,
    Read,
    Rule,
    axis_of,
    keep_input_and_output,
    out_of,
    reduced,
    whole,
    write_all,
)


def shape(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the input without the reduced axes, or with them at size 1."""
    (x,) = inputs
    return (Out(reduced(x.shape, attrs["axes"], keepdims=attrs["keepdims"]), x.dtype),)


def shape_of_total(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the same for sums and products, which count masks and integers in int64."""
    (out,) = shape(inputs, attrs)
    whole = out.dtype is not None and out.dtype.startswith(("bool", "int", "uint"))
    return (out._replace(dtype="int64") if whole else out,)


def work(op: Op, graph: Graph) -> Work:
    """Return a reduction of every input element to the outputs."""
    x, out = graph.tensors[op.inputs[0]], out_of(op, graph)
    return {("reduce", "points"): x.numel, ("reduce", "outputs"): out.numel}


def work_of_mean(op: Op, graph: Graph) -> Work:
    """Return a sum, and a division an output."""
    return {**work(op, graph), ("div", "points"): out_of(op, graph).numel}


def reads(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read the input once; a row is what is reduced."""
    x = whole(graph, op.inputs[0])
    return (Read(x.tensor, x.shape, tuple(axis_of(a, len(x.shape)) for a in op.attrs["axes"])),)


def _restored(b: Backward, value: Any) -> Any:
    """Return an output with the reduced axes at size 1: a view."""
    return value.reshape(reduced(b.inputs[0].shape, b.attrs["axes"], keepdims=True))


def gradient_of_sum(b: Backward) -> tuple[Any, ...]:
    """Return the gradient repeated along the summed axes: a view that moves nothing."""
    return (_restored(b, b.grads[0]).expand(tuple(b.inputs[0].shape)),)


def gradient_of_mean(b: Backward) -> tuple[Any, ...]:
    """Return the gradient repeated, then divided by n: torch divides every element."""
    x = b.inputs[0]
    n = math.prod(x.shape[axis_of(a, len(x.shape))] for a in b.attrs["axes"])
    return (gradient_of_sum(b)[0] / n,)


def gradient_of_extreme(b: Backward) -> tuple[Any, ...]:
    """Return the gradient where the extreme was found, shared evenly between equal elements."""
    (x,) = b.inputs
    found = b.apply("eq", x, _restored(b, b.outputs[0]))
    count = b.apply("sum", found, axes=b.attrs["axes"], keepdims=True)
    return (_restored(b, b.grads[0]) * found / count,)


def gradient_of_prod(b: Backward) -> tuple[Any, ...]:
    """Return ``g * y / x``, true where no element is 0 (torch looks at the data and goes another way there)."""
    return (_restored(b, b.grads[0] * b.outputs[0]) / b.inputs[0],)


RULES = {
    "max": Rule(
        "reductions", shape, work, reads, write_all, residuals=keep_input_and_output, gradient=gradient_of_extreme
    ),
    "mean": Rule("reductions", shape, work_of_mean, reads, write_all, gradient=gradient_of_mean),
    "min": Rule(
        "reductions", shape, work, reads, write_all, residuals=keep_input_and_output, gradient=gradient_of_extreme
    ),
    "prod": Rule(
        "reductions",
        shape_of_total,
        work,
        reads,
        write_all,
        residuals=keep_input_and_output,
        gradient=gradient_of_prod,
    ),
    "sum": Rule("reductions", shape_of_total, work, reads, write_all, gradient=gradient_of_sum),
}
