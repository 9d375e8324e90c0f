"""The same elements elsewhere: concat, pad, flip, roll, copies, casts, transfers. No arithmetic, but traffic.

Each reads its inputs once and writes its output once, but for two. A transfer to another device sends every element
over the link once, which is what it counts: the write into the memory of the device that gets it (the read belongs to
the memory of another device). The gradient of a slice writes zeros to its whole output and then its place in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.errors import ShapeError
from symacct.expr import Poly, add, at_most, sign
from symacct.graph import Condition, Graph, Op, Tensor
from symacct.rules.layout import elementwise_strides
from symacct.rules.rule import (
    Attrs,
    Backward,
    Gradient,
    Out,
    Read,
    Rule,
    axis_of,
    last_axis,
    no_work,
    show_shape,
    sizes_of,
    touch_nothing,
    whole,
)


def shape_of_same(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape and dtype of the input, laid out contiguously."""
    (x,) = inputs
    return (Out(x.shape, x.dtype),)


def shape_in_place(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of the input, laid out as it is; of a cast in another dtype, None follows the account's."""
    (x,) = inputs
    dtype = attrs.get("dtype", x.dtype)
    return (Out(x.shape, dtype, strides=elementwise_strides(x.shape, inputs)),)


def shape_of_flip(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of the input, laid out as it is; the axes must exist."""
    _check_axes(inputs, attrs)
    return shape_in_place(inputs, attrs)


def shape_of_roll(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of the input; the axes must exist."""
    _check_axes(inputs, attrs)
    return shape_of_same(inputs, attrs)


def _check_axes(inputs: Sequence[Tensor], attrs: Attrs) -> None:
    for axis in attrs["axes"]:
        axis_of(axis, len(inputs[0].shape))


def shape_of_triangle(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of the input, which is a matrix or a batch of them."""
    if len(inputs[0].shape) < 2:
        msg = f"a tensor of the shape {show_shape(inputs[0].shape)} has no triangle"
        raise ShapeError(msg)
    return shape_of_same(inputs, attrs)


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


def gradient_of_concat(b: Backward) -> tuple[Any, ...]:
    """Return the part of the gradient that belongs to each input."""
    (grad,) = b.grads
    axis = axis_of(b.attrs["axis"], len(grad.shape))
    out, start = [], 0
    for x, needed in zip(b.inputs, b.needs, strict=True):
        stop = start + x.shape[axis]
        out.append(grad[(*[slice(None)] * axis, slice(start, stop))] if needed else None)
        start = stop
    return tuple(out)


def shape_of_pad(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return each axis with `widths`, (before, after), added."""
    (x,) = inputs
    widths = attrs["widths"]
    if len(widths) != len(x.shape):
        msg = f"{len(widths)} pairs of widths for the shape {show_shape(x.shape)}"
        raise ShapeError(msg)
    if bad := [w for pair in widths for w in pair if type(w) not in (Poly, int) or sign(w) == -1]:
        msg = f"a width of {bad[0]}; padding adds at least 0, and a slice crops"
        raise ShapeError(msg)
    return (Out(tuple(size + before + after for size, (before, after) in zip(x.shape, widths, strict=True)), x.dtype),)


def conditions_of_pad(op: Op, _graph: Graph) -> list[Condition]:
    """Return that no width is negative, where the sizes do not tell: that would crop."""
    widths = [w for pair in op.attrs["widths"] for w in pair]
    return [Condition("at_least", w, 0) for w in widths if not at_most(0, w)]


def gradient_of_pad(b: Backward) -> tuple[Any, ...]:
    """Return the gradient without the padding."""
    widths, shape = b.attrs["widths"], sizes_of(b.inputs[0])
    ranges = tuple((before, before + size, 1) for size, (before, _) in zip(shape, widths, strict=True))
    return (b.apply("slice", b.grads[0], ranges=ranges),)


def shape_of_slice_backward(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of what was sliced."""
    return (Out(attrs["shape"], inputs[0].dtype),)


def writes_of_slice_backward(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Write zeros everywhere, then the gradient in its place."""
    out, place = op.outputs[0], graph.tensors[op.inputs[0]].shape
    return (whole(graph, out), Read(out, place, last_axis(place)))


def gradient_of_slice_backward(b: Backward) -> tuple[Any, ...]:
    """Slice the gradient."""
    return (b.apply("slice", b.grads[0], ranges=b.attrs["ranges"]),)


def gradient_of_copy(b: Backward) -> tuple[Any, ...]:
    """Pass the gradient on."""
    return b.grads


def gradient_of_cast(b: Backward) -> tuple[Any, ...]:
    """Cast the gradient back: to the `source` of a weight that is cast for products, None where it is made in that."""
    back = b.attrs.get("source", b.inputs[0].dtype)
    return b.grads if back is None and "source" in b.attrs else (b.apply("cast", b.grads[0], dtype=back),)


def gradient_of_transfer(b: Backward) -> tuple[Any, ...]:
    """Send the gradient back."""
    return (b.apply("transfer", b.grads[0], device=getattr(b.inputs[0], "device", "where it came from")),)


def gradient_of_flip(b: Backward) -> tuple[Any, ...]:
    """Flip the gradient."""
    return (b.apply("flip", b.grads[0], axes=b.attrs["axes"]),)


def gradient_of_roll(b: Backward) -> tuple[Any, ...]:
    """Roll the gradient back."""
    return (b.apply("roll", b.grads[0], axes=b.attrs["axes"], shifts=tuple(-s for s in b.attrs["shifts"])),)


def _gradient_of_triangle(kind: str) -> Gradient:
    def gradient(b: Backward) -> tuple[Any, ...]:
        return (b.apply(kind, b.grads[0], diagonal=b.attrs["diagonal"]),)

    return gradient


RULES = {
    "concat": Rule("copies", shape_of_concat, no_work, gradient=gradient_of_concat),
    "pad": Rule("copies", shape_of_pad, no_work, conditions=conditions_of_pad, gradient=gradient_of_pad),
    "flip": Rule("copies", shape_of_flip, no_work, gradient=gradient_of_flip),
    "roll": Rule("copies", shape_of_roll, no_work, gradient=gradient_of_roll),
    "tril": Rule("copies", shape_of_triangle, no_work, gradient=_gradient_of_triangle("tril")),
    "triu": Rule("copies", shape_of_triangle, no_work, gradient=_gradient_of_triangle("triu")),
    "copy": Rule("copies", shape_of_same, no_work, gradient=gradient_of_copy),
    "cast": Rule("copies", shape_in_place, no_work, gradient=gradient_of_cast),
    "transfer": Rule("transfer", shape_in_place, no_work, touch_nothing, gradient=gradient_of_transfer),
    "slice_backward": Rule(
        "copies", shape_of_slice_backward, no_work, writes=writes_of_slice_backward, gradient=gradient_of_slice_backward
    ),
}
