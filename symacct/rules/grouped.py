"""Grouped products, as in a mixture of experts: each row of x (N, d) with the matrix of its group, of E in w (E, d, f).

How many rows a group has is data; all together are N, so the product is N*d*f multiplies and N*f sums of d, as if one
matrix served all. Each matrix is read once: E*d*f elements where every group has a row, else as many as there are rows.
The gradient of x is the same product with transposed matrices; that of w sums N*d*f products into E*d*f places.

What is kept is what one kernel keeps, torch's `grouped_mm`: rows and matrices, each for the other's gradient, and which
rows belong together (N groups here; where each group ends there, whose rows are in that order). A loop over groups
keeps a copy of the rows for each product that takes them, and their numbers as indices besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.conventions import Work
from symacct.errors import ShapeError
from symacct.expr import at_most, multiply
from symacct.graph import Condition, Graph, Op, Tensor
from symacct.rules.rule import (
    Attrs,
    Backward,
    Out,
    Read,
    Residual,
    Rule,
    no_second_gradient,
    out_of,
    show_shape,
    sizes_of,
    whole,
)


def shape(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return (N, f).

    Raises
    ------
    ShapeError
        Names the shapes that do not fit.

    """
    x, w, groups = inputs
    if (len(x.shape), len(w.shape)) != (2, 3) or x.shape[1] != w.shape[1]:
        msg = f"the shapes {show_shape(x.shape)} and {show_shape(w.shape)} do not fit: rows (N, d), matrices (E, d, f)"
        raise ShapeError(msg)
    if groups.shape != x.shape[:1]:
        msg = f"groups of the shape {show_shape(groups.shape)} for rows {show_shape(x.shape)}: one a row, (N,)"
        raise ShapeError(msg)
    return (Out((x.shape[0], w.shape[2]), x.dtype),)


def shape_of_weight_gradient(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return (E, d, f)."""
    x, grad, _ = inputs
    return (Out((attrs["experts"], x.shape[1], grad.shape[1]), grad.dtype),)


def work(op: Op, graph: Graph) -> Work:
    """Return one product of a row of d with a matrix of d by f, N times."""
    out, (_, d) = out_of(op, graph), graph.tensors[op.inputs[0]].shape
    return {("contract", "points"): multiply(out.numel, d), ("contract", "outputs"): out.numel}


def work_of_weight_gradient(op: Op, graph: Graph) -> Work:
    """Return N outer products of d by f, summed group by group."""
    x, grad = (graph.tensors[i] for i in op.inputs[:2])
    points = multiply(x.numel, grad.shape[1])
    return {("contract", "points"): points, ("contract", "outputs"): out_of(op, graph).numel}


def reads(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read the rows, the matrices of groups that have one, and the groups."""
    x, w, groups = op.inputs
    (rows, _), (experts, *matrix) = graph.tensors[x].shape, graph.tensors[w].shape
    used = rows if at_most(rows, experts) else experts
    return (whole(graph, x), Read(w, (used, *matrix), (1,)), whole(graph, groups))


def reads_of_weight_gradient(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read both factors and the groups; what is summed are rows."""
    x, grad, groups = op.inputs
    return (*(Read(i, graph.tensors[i].shape, (0,)) for i in (x, grad)), whole(graph, groups))


def conditions(op: Op, graph: Graph) -> list[Condition]:
    """Return that every group has a row, where there are as many rows."""
    (rows, _), experts = graph.tensors[op.inputs[0]].shape, _experts(op, graph)
    if at_most(rows, experts) and rows != experts:
        return [Condition("stated", f"{rows} rows are in {rows} of {experts} groups")]
    enough = [] if at_most(experts, rows) else [Condition("at_least", rows, experts)]
    return [*enough, Condition("stated", f"each of {experts} groups has a row")]


def _experts(op: Op, graph: Graph) -> Any:
    return op.attrs["experts"] if op.kind.endswith("weight") else graph.tensors[op.inputs[1]].shape[0]


def residuals(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the rows where the matrices need a gradient, the matrices where the rows do, and the groups."""
    kept = [Residual("input", i) for i, wanted in ((1, needs[0]), (0, needs[1]), (2, any(needs))) if wanted]
    return tuple(kept)


def gradient(b: Backward) -> tuple[Any, ...]:
    """Return the product with transposed matrices, and the sums of outer products."""
    (x, w, groups), (grad,) = b.inputs, b.grads
    of_x = b.apply("grouped_matmul", grad, w.mT, groups) if b.needs[0] else None
    experts = sizes_of(w)[0]
    of_w = b.apply("grouped_matmul_backward_weight", x, grad, groups, experts=experts) if b.needs[1] else None
    return (of_x, of_w, None)


RULES = {
    "grouped_matmul": Rule(
        "contraction", shape, work, reads, conditions=conditions, residuals=residuals, gradient=gradient
    ),
    "grouped_matmul_backward_weight": Rule(
        "contraction",
        shape_of_weight_gradient,
        work_of_weight_gradient,
        reads_of_weight_gradient,
        conditions=conditions,
        gradient=no_second_gradient,
    ),
}
