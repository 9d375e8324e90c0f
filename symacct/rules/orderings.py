"""What orders or accumulates the elements of a row: top_k, sort, argmax, cumsum.

How many comparisons are executed depends on data, so they are counted under stated rules, for a row of n:

    top_k     n                  each element once against the smallest kept; keeping the k in order is not counted
    sort      n*ceil(log2(n))    what merge sort never exceeds; no method needs fewer than log2(n!) on all data
    argmax    n - 1              a reduction: n under `2n`
    cumsum    n - 1 additions    likewise
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.conventions import Work
from symacct.errors import ShapeError
from symacct.expr import Expr, Poly, Size, at_most, ceildiv, log2, product
from symacct.graph import Condition, Graph, Op, Tensor
from symacct.rules.layout import elementwise_strides
from symacct.rules.rule import Attrs, Backward, Out, Read, Residual, Rule, axis_of, show_shape, sizes_of


def _axis(op: Op, graph: Graph) -> tuple[tuple[Size, ...], int]:
    """Return the shape of the input and the axis along which rows lie."""
    shape = graph.tensors[op.inputs[0]].shape
    return shape, axis_of(op.attrs["axis"], len(shape))


def _rows(shape: tuple[Size, ...], axis: int) -> Expr:
    return product(shape[:axis] + shape[axis + 1 :])


def reads_by_row(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read the input once, by row."""
    shape, axis = _axis(op, graph)
    return (Read(op.inputs[0], shape, (axis,)),)


def work_of_reducing(op: Op, graph: Graph) -> Work:
    """Return a reduction of each row; partial sums along the way cost nothing more."""
    shape, axis = _axis(op, graph)
    return {("reduce", "points"): product(shape), ("reduce", "outputs"): _rows(shape, axis)}


def shape_of_top_k(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the k largest of each row and where they stand."""
    (x,) = inputs
    axis, k = axis_of(attrs["axis"], len(x.shape)), attrs["k"]
    n = x.shape[axis]
    if type(k) is not Poly and (type(k) is not int or k < 1 or (type(n) is int and k > n)):
        msg = f"the {k} largest along axis {axis} of {show_shape(x.shape)}, which has {n}"
        raise ShapeError(msg)
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return (Out(shape, x.dtype), Out(shape, "int64"))


def work_of_top_k(op: Op, graph: Graph) -> Work:
    """Return one comparison an element."""
    return {("compare", "points"): graph.tensors[op.inputs[0]].numel}


def conditions_of_top_k(op: Op, graph: Graph) -> list[Condition]:
    """Return that there are k to choose, where the sizes do not tell."""
    shape, axis = _axis(op, graph)
    k = op.attrs["k"]
    return [] if at_most(k, shape[axis]) else [Condition("at_least", shape[axis], k)]


def shape_of_sort(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return each row in order and where its elements stood."""
    (x,) = inputs
    axis_of(attrs["axis"], len(x.shape))
    strides = elementwise_strides(x.shape, inputs)
    return (Out(x.shape, x.dtype, strides=strides), Out(x.shape, "int64", strides=strides))


def work_of_sort(op: Op, graph: Graph) -> Work:
    """Return ``n*ceil(log2(n))`` comparisons a row."""
    shape, axis = _axis(op, graph)
    return {("compare", "points"): product(shape) * ceildiv(log2(shape[axis]), 1)}


def keep_places(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep where the values stood."""
    return (Residual("output", 1),) if needs[0] else ()


def gradient_of_picking(b: Backward) -> tuple[Any, ...]:
    """Put the gradient of the values where they stood, among zeros."""
    shape = sizes_of(b.inputs[0])
    return (b.apply("scatter", b.grads[0], b.outputs[1], axis=b.attrs["axis"], shape=shape),)


def shape_of_argmax(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return where the largest of each row stands."""
    shape = inputs[0].shape
    axis = axis_of(attrs["axis"], len(shape))
    return (Out((*shape[:axis], *((1,) if attrs["keepdims"] else ()), *shape[axis + 1 :]), "int64"),)


def shape_of_cumsum(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the sums of each row up to each place."""
    (x,) = inputs
    axis_of(attrs["axis"], len(x.shape))
    return (Out(x.shape, x.dtype),)


def gradient_of_cumsum(b: Backward) -> tuple[Any, ...]:
    """Return the sums from the other end."""
    axis = axis_of(b.attrs["axis"], len(b.grads[0].shape))
    turned = b.apply("cumsum", b.apply("flip", b.grads[0], axes=(axis,)), axis=axis)
    return (b.apply("flip", turned, axes=(axis,)),)


RULES = {
    "top_k": Rule(
        "orderings",
        shape_of_top_k,
        work_of_top_k,
        reads_by_row,
        conditions=conditions_of_top_k,
        residuals=keep_places,
        gradient=gradient_of_picking,
    ),
    "sort": Rule(
        "orderings", shape_of_sort, work_of_sort, reads_by_row, residuals=keep_places, gradient=gradient_of_picking
    ),
    "argmax": Rule("orderings", shape_of_argmax, work_of_reducing, reads_by_row),
    "cumsum": Rule("orderings", shape_of_cumsum, work_of_reducing, reads_by_row, gradient=gradient_of_cumsum),
}
