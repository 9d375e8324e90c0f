"""Pooling over windows: the largest or the mean of a kernel's taps, channel by channel; and their gradients.

An output reduces K taps: product(K) under ``2n``, product(K) - 1 under ``exact``; a mean adds a division. The gradient
of a mean divides once a window and adds to each of its taps; that of a largest adds once a window, where it was found.
With `ceil` as many windows are as start on elements or on the padding before them: the last may hang over. Elements
that lie between windows are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.conventions import Work
from symacct.errors import ShapeError
from symacct.expr import Size, add, at_most, ceildiv, multiply, product
from symacct.graph import Condition, Graph, Op, Tensor
from symacct.rules.convolution import Slides, slides, window_count
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
from symacct.rules.taps import (
    conditions,
    conditions_of_sight,
    places,
    real_places,
    real_windows,
    slid_over,
    work_of_windows,
)


def shape(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return (batch, channels, windows...): the last axes are pooled, as many as the kernel has.

    Raises
    ------
    ShapeError
        For another number of axes, or padding of more than half a kernel, where a window may see no element.

    """
    (x,) = inputs
    rank = len(attrs["kernel"])
    if len(x.shape) not in (rank + 1, rank + 2):
        msg = f"a kernel of {rank} axes pools (batch, channels, {rank} axes) or the same without a batch, "
        raise ShapeError(msg + f"not {show_shape(x.shape)}")
    for kernel, padding in zip(attrs["kernel"], attrs["padding"], strict=True):
        if type(kernel) is type(padding) is int and 2 * padding > kernel:
            msg = f"padding of {padding} is more than half of a kernel of {kernel}"
            raise ShapeError(msg)
    axes = zip(x.shape[-rank:], *(attrs[a] for a in ("kernel", "stride", "padding", "dilation")), strict=True)
    count = hanging_count if attrs.get("ceil") else window_count
    return (Out((*x.shape[:-rank], *(count(*axis) for axis in axes)), x.dtype),)


def hanging_count(n: Size, kernel: Size, stride: Size, padding: Size, dilation: Size) -> Size:
    """Return ``ceil((n + 2*padding - dilation*(kernel - 1) - 1) / stride) + 1``, less a window that starts too late.

    One that starts behind the elements is left out. None does where ``stride + padding <= dilation*(kernel - 1) + 1``.

    Raises
    ------
    ShapeError
        If none fits, or where names leave open whether one is left out.

    """
    reach = add((multiply(dilation, kernel - 1), 1))
    out = add((ceildiv(add((n, 2 * padding, -reach)), stride), 1))
    if type(out) is int and out < 1:
        window_count(n, kernel, stride, padding, dilation)  # says what does not fit
    if at_most(add((stride, padding)), reach) or stride == 1:
        return out  # type: ignore[return-value]
    late = add((multiply(out - 1, stride), -n, -padding))
    if type(late) is not int:
        msg = f"whether a last window of {kernel} taps with stride {stride} starts on the {n} elements depends on sizes"
        raise ShapeError(f"{msg} that are names; give them as numbers")
    return out - 1 if late >= 0 else out  # type: ignore[return-value]


def shape_of_gradient(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of what was pooled."""
    grad = inputs[0]
    return (Out((*grad.shape[: -len(attrs["kernel"])], *attrs["sizes"]), grad.dtype),)


def slides_of(op: Op, graph: Graph) -> Slides:
    """Return how the window slides over what is pooled."""
    first, out = graph.tensors[op.inputs[0]].shape, out_of(op, graph).shape
    pooled, windows = (out, first) if op.kind.endswith("backward") else (first, out)
    rank = len(op.attrs["kernel"])
    axes = slides(pooled[-rank:], op.attrs["kernel"], windows[-rank:], op.attrs)
    return tuple(x._replace(hangs=x.stride != 1) for x in axes) if op.attrs.get("ceil") else axes


def work(op: Op, graph: Graph) -> Work:
    """Return a reduction of every window; of a mean a division an output."""
    out, axes = out_of(op, graph), slides_of(op, graph)
    rows = product(out.shape[: -len(axes)])
    reduced = work_of_windows(axes, rows, rows, [(x.windows, real_windows(x)) for x in axes], "reduce")
    return {**reduced, ("div", "points"): out.numel} if op.kind == "avg_pool" else reduced


def work_of_mean_gradient(op: Op, graph: Graph) -> Work:
    """Return a division a window, and sums of what falls on each place."""
    grad, axes = graph.tensors[op.inputs[0]], slides_of(op, graph)
    rows = product(grad.shape[: -len(axes)])
    reduced = work_of_windows(axes, rows, rows, [(places(x), real_places(x)) for x in axes], "reduce")
    return {**reduced, ("div", "points"): grad.numel}


def work_of_largest_gradient(op: Op, graph: Graph) -> Work:
    """Return an add a window."""
    return {("add", "points"): graph.tensors[op.inputs[0]].numel}


def conditions_of_windows(op: Op, graph: Graph) -> list[Condition]:
    """Return that windows fit."""
    return [c for x in slides_of(op, graph) for c in conditions(x)]


def reads(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read the elements that windows see, and of a gradient what it is of."""
    *grad, pooled = op.inputs
    return (*(whole(graph, i) for i in grad), slid_over(pooled, graph, slides_of(op, graph)))


def conditions_of_pooling(op: Op, graph: Graph) -> list[Condition]:
    """Return that windows fit, and where they have to see every element."""
    return conditions_of_windows(op, graph) + [c for x in slides_of(op, graph) for c in conditions_of_sight(x)]


def keep_input_and_places(op: Op, graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the input, and where in it each largest element was found."""
    found = Residual("extra", 0, out_of(op, graph).shape, "int64", "places of the largest")
    return (Residual("input"), found) if any(needs) else ()


def gradient_of_max(b: Backward) -> tuple[Any, ...]:
    """Return the gradient where the largest element was found."""
    (x,), (grad,) = b.inputs, b.grads
    return (b.apply("max_pool_backward", grad, x, **_attrs(b)),)


def gradient_of_mean(b: Backward) -> tuple[Any, ...]:
    """Return the gradient spread evenly over the taps of each window."""
    return (b.apply("avg_pool_backward", b.grads[0], **_attrs(b)),)


def _attrs(b: Backward) -> dict[str, Any]:
    return {**b.attrs, "sizes": sizes_of(b.inputs[0])[-len(b.attrs["kernel"]) :]}


def keep_input(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the input, of which only the shape is needed, as torch does."""
    return (Residual("input"),) if any(needs) else ()


RULES = {
    "max_pool": Rule(
        "pooling",
        shape,
        work,
        reads,
        conditions=conditions_of_pooling,
        residuals=keep_input_and_places,
        gradient=gradient_of_max,
    ),
    "avg_pool": Rule(
        "pooling", shape, work, reads, conditions=conditions_of_pooling, residuals=keep_input, gradient=gradient_of_mean
    ),
    "max_pool_backward": Rule(
        "pooling",
        shape_of_gradient,
        work_of_largest_gradient,
        reads,
        conditions=conditions_of_pooling,
        gradient=no_second_gradient,
    ),
    "avg_pool_backward": Rule(
        "pooling",
        shape_of_gradient,
        work_of_mean_gradient,
        conditions=conditions_of_windows,
        gradient=no_second_gradient,
    ),
}
