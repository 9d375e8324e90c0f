"""Rows and places picked by index: embedding, gather, scatter_add, one_hot, and the gradients that put back.

Picking executes no arithmetic and reads as many elements as it yields, besides the indices. What puts back writes zeros
to its whole output (`scatter_add`: a copy of x), then the places: where a place may be picked more than once it is read
and added to, one addition an element. `embedding` of B*S indices in rows of D is 0 FLOPs forward and B*S*D backward.

Under ``embedding="matmul"`` a lookup in a table (V, D) is a product of one-hot rows with it, B*S*V*D products summed V
at a time, and its gradient the product of the same rows with the gradient, summed over B*S. No bytes change.
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
    axis_of,
    check_sizes,
    last_axis,
    no_work,
    out_of,
    read_all,
    show_shape,
    sizes_of,
    whole,
    write_all,
)

_MATMUL = "contract@embedding=matmul"


def shape_of_embedding(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return a row of the table for every index."""
    table, index = inputs
    if not table.shape:
        msg = "a scalar has no rows to look up"
        raise ShapeError(msg)
    return (Out(index.shape + table.shape[1:], table.dtype),)


def work_of_embedding(op: Op, graph: Graph) -> Work:
    """Execute nothing; or the product with one-hot rows, of a table of rows alone."""
    table, out = graph.tensors[op.inputs[0]].shape, out_of(op, graph).numel
    if len(table) != 2:
        return {}
    return {(_MATMUL, "points"): multiply(table[0], out), (_MATMUL, "outputs"): out}


def work_of_embedding_backward(op: Op, graph: Graph) -> Work:
    """Return an addition for every element that is put back; or the product with one-hot columns."""
    work, made, rows = work_of_adding(op, graph), out_of(op, graph), graph.tensors[op.inputs[0]].numel
    if len(made.shape) != 2:
        return work
    product = {(_MATMUL, "points"): multiply(made.shape[0], rows), (_MATMUL, "outputs"): made.numel}
    return {**work, ("add@embedding=matmul", "points"): -rows, **product}


def reads_of_embedding(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read one row an index, and the indices."""
    table, index = op.inputs
    rows = out_of(op, graph).shape
    return (Read(table, rows, last_axis(rows)), whole(graph, index))


def keep_index(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the indices where what was picked from needs a gradient."""
    return (Residual("input", 1),) if needs[0] else ()


def gradient_of_embedding(b: Backward) -> tuple[Any, ...]:
    """Add each row of the gradient to the row of the table that it came from."""
    table, index = b.inputs
    return (b.apply("embedding_backward", b.grads[0], index, rows=sizes_of(table)[0]), None)


def shape_of_embedding_backward(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of the table."""
    grad, index = inputs
    return (Out((attrs["rows"], *grad.shape[len(index.shape) :]), grad.dtype),)


def gradient_of_embedding_backward(b: Backward) -> tuple[Any, ...]:
    """Look the rows up."""
    return (b.apply("embedding", b.grads[0], b.inputs[1]), None)


def shape_of_gather(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return an element of x for every index: ``out[i, j] = x[index[i, j], j]`` along axis 0."""
    x, index = inputs
    _check_index(x, index, attrs["axis"])
    return (Out(index.shape, x.dtype),)


def _check_index(x: Tensor, index: Tensor, axis: int) -> None:
    """Check that an index has the axes of x, none but `axis` longer than x's."""
    along = axis_of(axis, len(x.shape))
    if len(index.shape) == len(x.shape):
        sizes = enumerate(zip(index.shape, x.shape, strict=True))
        if all(i == along or a == b or not (type(a) is type(b) is int and a > b) for i, (a, b) in sizes):
            return
    msg = f"an index of the shape {show_shape(index.shape)} does not fit {show_shape(x.shape)} along axis {axis}"
    raise ShapeError(msg)


def conditions_of_index(op: Op, graph: Graph) -> list[Condition]:
    """Return that the index is nowhere longer than what it points into, where the sizes do not tell."""
    x, index = (graph.tensors[i].shape for i in op.inputs[:2])
    along = axis_of(op.attrs["axis"], len(x))
    both = [(small, large) for i, (small, large) in enumerate(zip(index, x, strict=True)) if i != along]
    return [Condition("at_least", large, small) for small, large in both if not at_most(small, large)]


def reads_of_gather(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read one element an index, and the indices."""
    x, index = op.inputs
    picked = graph.tensors[index].shape
    return (Read(x, picked, last_axis(picked)), whole(graph, index))


def keep_both(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the indices, and what was picked from: torch does, though the gradient needs only its shape."""
    return (Residual("input", 0), Residual("input", 1)) if needs[0] else ()


def gradient_of_gather(b: Backward) -> tuple[Any, ...]:
    """Add each element of the gradient to the place that it came from."""
    x, index = b.inputs
    return (b.apply("gather_backward", b.grads[0], index, axis=b.attrs["axis"], shape=sizes_of(x)), None)


def shape_of_put(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of what was picked from."""
    return (Out(attrs["shape"], inputs[0].dtype),)


def gradient_of_put(b: Backward) -> tuple[Any, ...]:
    """Pick the gradient from its places."""
    return (b.apply("gather", b.grads[0], b.inputs[1], axis=b.attrs["axis"]), None)


def shape_of_scatter_add(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return x with an element added at every index: the elements have the index's shape."""
    x, index, source = inputs
    if index.shape != source.shape:
        msg = f"an index of the shape {show_shape(index.shape)} for elements of the shape {show_shape(source.shape)}"
        raise ShapeError(msg)
    _check_index(x, index, attrs["axis"])
    return (Out(x.shape, x.dtype),)


def keep_index_of_scatter(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the indices where the elements that are added need a gradient."""
    return (Residual("input", 1),) if needs[2] else ()


def gradient_of_scatter_add(b: Backward) -> tuple[Any, ...]:
    """Pass the gradient on to x, and pick it for the elements that were added."""
    (grad,) = b.grads
    picked = b.apply("gather", grad, b.inputs[1], axis=b.attrs["axis"]) if b.needs[2] else None
    return (grad if b.needs[0] else None, None, picked)


def _put(op: Op) -> int:
    """Return a tensor of the shape of what is put back: the rows' gradient, else the indices."""
    return op.inputs[0] if op.kind == "embedding_backward" else op.inputs[1]


def _places(op: Op, graph: Graph) -> Read:
    shape = graph.tensors[_put(op)].shape
    return Read(op.outputs[0], shape, last_axis(shape))


def work_of_adding(op: Op, graph: Graph) -> Work:
    """Return an addition for every element that is put back."""
    return {("add", "points"): graph.tensors[_put(op)].numel}


def reads_of_adding(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read the inputs, and the places that are added to."""
    return (*read_all(op, graph), _places(op, graph))


def writes_of_putting(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Write the whole output, then the places."""
    return (*write_all(op, graph), _places(op, graph))


def shape_of_one_hot(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return a row of zeros and a one for every index, as integers."""
    check_sizes((attrs["classes"],))
    return (Out((*inputs[0].shape, attrs["classes"]), "int64"),)


RULES = {
    "embedding": Rule(
        "lookup",
        shape_of_embedding,
        work_of_embedding,
        reads_of_embedding,
        residuals=keep_index,
        gradient=gradient_of_embedding,
    ),
    "embedding_backward": Rule(
        "lookup",
        shape_of_embedding_backward,
        work_of_embedding_backward,
        reads_of_adding,
        writes_of_putting,
        gradient=gradient_of_embedding_backward,
    ),
    "gather": Rule(
        "lookup",
        shape_of_gather,
        no_work,
        reads_of_gather,
        conditions=conditions_of_index,
        residuals=keep_both,
        gradient=gradient_of_gather,
    ),
    "gather_backward": Rule(
        "lookup", shape_of_put, work_of_adding, reads_of_adding, writes_of_putting, gradient=gradient_of_put
    ),
    "scatter": Rule("lookup", shape_of_put, no_work, writes=writes_of_putting, gradient=gradient_of_put),
    "scatter_add": Rule(
        "lookup",
        shape_of_scatter_add,
        work_of_adding,
        reads_of_adding,
        writes_of_putting,
        conditions=conditions_of_index,
        residuals=keep_index_of_scatter,
        gradient=gradient_of_scatter_add,
    ),
    "one_hot": Rule("lookup", shape_of_one_hot, no_work),
}
