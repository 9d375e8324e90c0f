"""Other shapes of the same memory: reshape, permute, expand, slice, detach.

All are views, which execute and move nothing, but for some reshapes: one is a view where each group of axes that it
merges or splits lies evenly in memory; else it copies, under the policy ``layout="torch"`` (under ``"ideal"`` no such
copy is made). Gradients: a reshape and a permute go back, an expand sums, a slice is put back among zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.errors import ShapeError
from symacct.expr import Expr, Poly, add, at_most, ceildiv, numerator, product, sign
from symacct.graph import Condition, Graph, Op, Tensor
from symacct.rules.rule import (
    Attrs,
    Backward,
    Out,
    Read,
    Rule,
    check_sizes,
    no_work,
    read_all,
    show_shape,
    sizes_of,
    strides_of,
    touch_nothing,
    unbroadcast,
    write_all,
)
from symacct.rules.strides import plain, view_strides


def shape_of_reshape(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the same elements in another shape: a view where the strides allow it, else a copy."""
    (x,) = inputs
    shape = tuple(attrs["shape"])
    check_sizes(shape)
    if product(shape) != x.numel and numerator(add((product(shape), -x.numel))) != 0:
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
    if extra < 0 or -1 in wanted[:extra] or any(o not in (1, w) for o, w in zip(old, shape, strict=True)):
        msg = f"the shape {show_shape(x.shape)} cannot be repeated to {show_shape(wanted)}"
        raise ShapeError(msg)
    check_sizes(shape)
    strides = (0,) * extra + strides_of(x)
    wide = tuple(t if o == w else 0 for o, w, t in zip(old, shape, strides, strict=True))
    return (Out(shape, x.dtype, 0, plain(shape, wide)),)


def length(start: Expr, stop: Expr, step: int) -> Expr:
    """Return how many elements lie between two places; a difference of sizes is whole, so it is not rounded."""
    return stop - start if step == 1 else ceildiv(stop - start, step)


def shape_of_slice(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the elements between two places of each axis: a view."""
    (x,) = inputs
    ranges = attrs["ranges"]
    if strange := [p for place in ranges for p in place if type(p) not in (int, Poly)]:
        msg = f"a range from, to or by {strange[0]!r}, which is no size"
        raise ShapeError(msg)
    shape = tuple(length(*place) for place in ranges)
    if empty := [i for i, s in enumerate(shape) if not isinstance(s, Poly) and s < 1]:
        start, stop, _ = ranges[empty[0]]
        msg = f"from {start} to {stop} there is nothing along axis {empty[0]} of {show_shape(x.shape)}"
        raise ShapeError(msg)
    for axis, ((start, stop, _), size) in enumerate(zip(ranges, x.shape, strict=True)):
        if sign(start) == -1 or sign(add((size, -stop))) == -1:
            msg = f"from {start} to {stop} leaves axis {axis} of {show_shape(x.shape)}"
            raise ShapeError(msg)
    strides = tuple(t * step for t, (_, _, step) in zip(strides_of(x), ranges, strict=True))
    return (Out(shape, x.dtype, 0, plain(shape, strides)),)  # type: ignore[arg-type]


def conditions_of_slice(op: Op, graph: Graph) -> list[Condition]:
    """Return that the places lie inside the axis, where the sizes do not tell."""
    x = graph.tensors[op.inputs[0]]
    out = []
    for (start, stop, _), size in zip(op.attrs["ranges"], x.shape, strict=True):
        out += [
            Condition("at_least", large, small)
            for small, large in ((0, start), (stop, size))
            if not at_most(small, large)
        ]
    return out


def _copies(op: Op, graph: Graph) -> bool:
    return graph.tensors[op.outputs[0]].storage is None


def reads_of_reshape(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read everything where it copies, nothing where it is a view."""
    return read_all(op, graph) if _copies(op, graph) else ()


def writes_of_reshape(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Write everything where it copies, nothing where it is a view."""
    return write_all(op, graph) if _copies(op, graph) else ()


def gradient_of_reshape(b: Backward) -> tuple[Any, ...]:
    """Return the gradient in the shape of the input."""
    return (b.grads[0].reshape(tuple(b.inputs[0].shape)),)


def gradient_of_permute(b: Backward) -> tuple[Any, ...]:
    """Return the gradient with the axes put back."""
    axes = b.attrs["axes"]
    return (b.grads[0].permute(*(axes.index(i) for i in range(len(axes)))),)


def gradient_of_expand(b: Backward) -> tuple[Any, ...]:
    """Return the gradient summed over the repeated axes."""
    return (unbroadcast(b, b.grads[0], b.inputs[0]),)


def gradient_of_slice(b: Backward) -> tuple[Any, ...]:
    """Return the gradient among zeros."""
    shape = sizes_of(b.inputs[0])
    return (b.apply("slice_backward", b.grads[0], ranges=b.attrs["ranges"], shape=shape),)


def shape_of_detach(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the same tensor, through which no gradient passes."""
    (x,) = inputs
    return (Out(x.shape, x.dtype, 0, x.strides),)


RULES = {
    "reshape": Rule(
        "views",
        shape_of_reshape,
        no_work,
        reads_of_reshape,
        writes_of_reshape,
        gradient=gradient_of_reshape,
        implicit_copy=True,
    ),
    "permute": Rule("views", shape_of_permute, no_work, touch_nothing, touch_nothing, gradient=gradient_of_permute),
    "expand": Rule("views", shape_of_expand, no_work, touch_nothing, touch_nothing, gradient=gradient_of_expand),
    "slice": Rule(
        "views",
        shape_of_slice,
        no_work,
        touch_nothing,
        touch_nothing,
        conditions=conditions_of_slice,
        gradient=gradient_of_slice,
    ),
    "detach": Rule("views", shape_of_detach, no_work, touch_nothing, touch_nothing),
}
