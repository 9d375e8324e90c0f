"""Shapes and places: reshape, permute, expand, slice are views where memory allows it; concat copies.

A reshape is a view where each group of axes that it merges or splits lies evenly in memory; else it copies, under the
policy ``layout="torch"`` (under ``"ideal"`` no such copy is made).
"""

from __future__ import annotations

from collections.abc import Sequence

from symacct.errors import ShapeError
from symacct.expr import Expr, Size, add, ceildiv, product
from symacct.graph import Condition, Graph, Op, Tensor
from symacct.rules.rule import (
    Attrs,
    Out,
    Read,
    Rule,
    axis_of,
    no_work,
    read_all,
    show_shape,
    strides_of,
    touch_nothing,
    write_all,
)
from symacct.rules.strides import plain, view_strides


def shape_of_reshape(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the same elements in another shape: a view where the strides allow it, else a copy."""
    (x,) = inputs
    shape = tuple(attrs["shape"])
    if product(shape) != x.numel:
        msg = f"the shape {show_shape(x.shape)} has {x.numel} elements, {show_shape(shape)} has {product(shape)}"
        raise ShapeError(msg)
    if x.strides is None:
        return (Out(shape, x.dtype, 0),)
    strides = view_strides(x.shape, x.strides, shape)
    return (Out(shape, x.dtype) if strides is None else Out(shape, x.dtype, 0, plain(shape, strides)),)


def shape_of_permute(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the axes in another order: always a view."""
    (x,) = inputs
    axes = attrs["axes"]
    if sorted(axes) != list(range(len(x.shape))):
        msg = f"{axes} is not an order of the axes of {show_shape(x.shape)}"
        raise ShapeError(msg)
    shape = tuple(x.shape[a] for a in axes)
    strides = strides_of(x)
    return (Out(shape, x.dtype, 0, plain(shape, tuple(strides[a] for a in axes))),)


def shape_of_expand(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return axes of size 1 repeated with stride 0: always a view. -1 keeps a size."""
    (x,) = inputs
    wanted = tuple(attrs["shape"])
    extra = len(wanted) - len(x.shape)
    old = (1,) * extra + x.shape
    shape = tuple(o if w == -1 else w for o, w in zip(old, wanted, strict=True)) if extra >= 0 else ()
    if extra < 0 or any(o not in (1, w) for o, w in zip(old, shape, strict=True)):
        msg = f"the shape {show_shape(x.shape)} cannot be repeated to {show_shape(wanted)}"
        raise ShapeError(msg)
    strides = (0,) * extra + strides_of(x)
    wide = tuple(t if o == w else 0 for o, w, t in zip(old, shape, strides, strict=True))
    return (Out(shape, x.dtype, 0, plain(shape, wide)),)


def shape_of_slice(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the elements between two places of each axis: a view."""
    (x,) = inputs
    ranges = attrs["ranges"]
    shape = tuple(ceildiv(stop - start, step) for start, stop, step in ranges)
    strides = tuple(t * step for t, (_, _, step) in zip(strides_of(x), ranges, strict=True))
    return (Out(shape, x.dtype, 0, plain(shape, strides)),)  # type: ignore[arg-type]


def conditions_of_slice(op: Op, graph: Graph) -> list[Condition]:
    """Return that the places lie inside the axis."""
    x = graph.tensors[op.inputs[0]]
    inside = [(stop, size) for (_, stop, _), size in zip(op.attrs["ranges"], x.shape, strict=True) if stop != size]
    return [Condition("at_least", size, stop) for stop, size in inside if not (type(size) is type(stop) is int)]


def shape_of_concat(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return tensors one after the other along an axis; the other sizes agree."""
    rank = len(inputs[0].shape)
    axis = axis_of(attrs["axis"], rank)
    rest = [t.shape[:axis] + t.shape[axis + 1 :] for t in inputs]
    if any(len(t.shape) != rank for t in inputs) or len(set(rest)) > 1:
        shapes = " and ".join(show_shape(t.shape) for t in inputs)
        msg = f"the shapes {shapes} do not fit along axis {axis}"
        raise ShapeError(msg)
    total = add(t.shape[axis] for t in inputs)
    shape = (*inputs[0].shape[:axis], total, *inputs[0].shape[axis + 1 :])
    return (Out(shape, inputs[0].dtype),)  # type: ignore[arg-type]


def _copies(op: Op, graph: Graph) -> bool:
    return graph.tensors[op.outputs[0]].storage is None


def reads_of_reshape(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read everything where it copies, nothing where it is a view."""
    return read_all(op, graph) if _copies(op, graph) else ()


def writes_of_reshape(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Write everything where it copies, nothing where it is a view."""
    return write_all(op, graph) if _copies(op, graph) else ()


RULES = {
    "reshape": Rule("views", shape_of_reshape, no_work, reads_of_reshape, writes_of_reshape, implicit_copy=True),
    "permute": Rule("views", shape_of_permute, no_work, touch_nothing, touch_nothing),
    "expand": Rule("views", shape_of_expand, no_work, touch_nothing, touch_nothing),
    "slice": Rule("views", shape_of_slice, no_work, touch_nothing, touch_nothing, conditions=conditions_of_slice),
    "concat": Rule("views", shape_of_concat, no_work),
}
