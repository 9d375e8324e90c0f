"""Convolutions of 1 to 3 axes: forward, transposed (which is also the gradient of the input) and of the weight.

With C_in input and C_out output channels in g groups, kernel taps K, and W windows along each axis (the outputs of a
convolution, the inputs of a transposed one), all of them visit the same points:

    points  = B * C_in * C_out / g * product(K*W)

- conv, weight (C_out, C_in/g, K...): each of the B*C_out*product(W) outputs sums C_in/g * product(K) products
- conv_transpose, weight (C_in, C_out/g, K...): each input is spread over K taps, so that the points go by the size of
  the *input*; an output sums what falls on it
- conv_backward_weight: each weight sums over the batch and the windows

A bias is one add an output. Under ``padding="exact"`` taps on padding are taken off: see `symacct.rules.taps`. Elements
between windows that are apart are not read, nor are windows that lie on padding alone; a weight is, whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from symacct.conventions import Work
from symacct.errors import ShapeError
from symacct.expr import Expr, Size, add, divide, floordiv, multiply, product
from symacct.graph import Condition, Graph, Op, Tensor, size_conditions
from symacct.rules.rule import (
    Attrs,
    Backward,
    Out,
    Read,
    Residual,
    Rule,
    check_sizes,
    no_second_gradient,
    out_of,
    show_shape,
    sizes_of,
    whole,
)
from symacct.rules.taps import (
    Slide,
    conditions,
    conditions_of_kernel,
    conditions_of_sight,
    places,
    real_kernel,
    real_places,
    real_windows,
    slid_over,
    windows_on,
    work_of_windows,
)

Slides = tuple[Slide, ...]


def window_count(n: Size, kernel: Size, stride: Size, padding: Size, dilation: Size) -> Size:
    """Return ``floor((n + 2*padding - dilation*(kernel - 1) - 1) / stride) + 1``: the windows that fit.

    Raises
    ------
    ShapeError
        If none does.

    """
    room = add((n, 2 * padding, -multiply(dilation, kernel - 1), -1))
    out = floordiv(room, stride) + 1
    if type(out) is not int or out > 0:
        return out  # type: ignore[return-value]
    msg = f"a kernel of {kernel} taps, {dilation} apart, does not fit into {n} elements with {padding} of padding"
    raise ShapeError(msg)


def slides(n: Sequence[Size], kernel: Sequence[Size], windows: Sequence[Size], attrs: Attrs) -> Slides:
    """Return how the window slides along each axis; `zeros` that are behind the elements are padding, at that end."""
    zeros = attrs.get("zeros", (0,) * len(n))
    real = [add((size, -z)) for size, z in zip(n, zeros, strict=True)]
    steps = (attrs[step] for step in ("stride", "padding", "dilation"))
    return tuple(Slide(*axis) for axis in zip(real, kernel, windows, *steps, (z != 0 for z in zeros), strict=True))


def shape_of_conv(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return (batch, C_out, windows...) of an input (batch, C_in, n...), or the same without a batch."""
    x, w = inputs[:2]
    batch, channels, n = _split(x, w)
    if channels != multiply(w.shape[1], attrs["groups"]):
        _refuse(x, w, f"{channels} input channels against {w.shape[1]} in each of {attrs['groups']} groups")
    _check_groups(x, w, w.shape[0], attrs)
    _check_bias(inputs, w.shape[0])
    axes = zip(n, w.shape[2:], attrs["stride"], attrs["padding"], attrs["dilation"], strict=True)
    return (Out((*batch, w.shape[0], *(window_count(*axis) for axis in axes)), x.dtype),)


def shape_of_transpose(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return (batch, C_out, sizes...), where `sizes` are given: several have the same number of windows."""
    x, w = inputs[:2]
    batch, channels, _ = _split(x, w)
    if channels != w.shape[0]:
        _refuse(x, w, f"{channels} input channels against {w.shape[0]}")
    _check_groups(x, w, channels, attrs)
    out = multiply(w.shape[1], attrs["groups"])
    _check_bias(inputs, out)
    check_sizes(attrs["sizes"])
    return (Out((*batch, out, *attrs["sizes"]), x.dtype),)  # type: ignore[arg-type]


def shape_of_weight(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of the weight: output channels, input channels of a group, taps."""
    x, grad = inputs
    rank = len(attrs["kernel"])
    channels = divide(x.shape[-rank - 1], attrs["groups"])
    return (Out((grad.shape[-rank - 1], channels, *attrs["kernel"]), x.dtype),)  # type: ignore[arg-type]


def _split(x: Tensor, w: Tensor) -> tuple[tuple[Size, ...], Size, tuple[Size, ...]]:
    """Return batch (which may be missing), channels and the sizes of the other axes."""
    rank = len(w.shape) - 2
    if rank not in (1, 2, 3) or len(x.shape) not in (rank + 1, rank + 2):
        _refuse(x, w, "a weight has two axes of channels and 1 to 3 of taps, an input channels, as many axes, a batch")
    return x.shape[: -rank - 1], x.shape[-rank - 1], x.shape[-rank:]


def _check_groups(x: Tensor, w: Tensor, channels: Size, attrs: Attrs) -> None:
    if type(channels) is type(attrs["groups"]) is int and channels % attrs["groups"]:
        _refuse(x, w, f"{attrs['groups']} groups do not divide {channels} channels")


def _check_bias(inputs: Sequence[Tensor], channels: Expr) -> None:
    if len(inputs) > 2 and inputs[2].shape != (channels,):
        _refuse(inputs[2], inputs[1], f"a bias has the shape {show_shape((channels,))}")


def _refuse(first: Tensor, second: Tensor, why: str) -> None:
    msg = f"the shapes {show_shape(first.shape)} and {show_shape(second.shape)} do not fit: {why}"
    raise ShapeError(msg)


def slides_of(op: Op, graph: Graph) -> Slides:
    """Return how the windows of an operation slide: over its input, or, of a transposed one, over its output."""
    first, second = (graph.tensors[i].shape for i in op.inputs[:2])
    out = out_of(op, graph).shape
    rank = len(op.attrs["stride"])
    if op.kind == "conv":
        n, kernel, windows = first, second, out
    elif op.kind == "conv_transpose":
        n, kernel, windows = out, second, first
    else:
        n, kernel, windows = first, out, second
    return slides(n[-rank:], kernel[-rank:], windows[-rank:], op.attrs)


def work_of_conv(op: Op, graph: Graph) -> Work:
    """Return sums of C_in/g * product(K) products, one an output, and a bias an output."""
    out, w = out_of(op, graph), graph.tensors[op.inputs[1]]
    axes = slides_of(op, graph)
    rows = product(out.shape[: -len(axes)])
    return {
        **work_of_windows(axes, multiply(rows, w.shape[1]), rows, [(x.windows, real_windows(x)) for x in axes]),
        **_bias(op, out.numel),
    }


def work_of_transpose(op: Op, graph: Graph) -> Work:
    """Return products of every input with every tap, summed where they fall on one place, and a bias an output."""
    (x, w), out = (graph.tensors[i] for i in op.inputs[:2]), out_of(op, graph)
    axes = slides_of(op, graph)
    channels, rows = product(x.shape[: -len(axes)]), product(out.shape[: -len(axes)])
    return {
        **work_of_windows(axes, multiply(channels, w.shape[1]), rows, [(places(x), real_places(x)) for x in axes]),
        **_bias(op, out.numel),
    }


def work_of_weight(op: Op, graph: Graph) -> Work:
    """Return sums over batch and windows, one a weight."""
    grad, out = graph.tensors[op.inputs[1]], out_of(op, graph)
    axes = slides_of(op, graph)
    rows = multiply(product(grad.shape[: -len(axes)]), out.shape[1])
    pairs = multiply(out.shape[0], out.shape[1])
    return work_of_windows(axes, rows, pairs, [(x.kernel, real_kernel(x)) for x in axes])


def _bias(op: Op, outputs: Expr) -> Work:
    return {("add", "points"): outputs} if len(op.inputs) > 2 else {}


def reads(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read the elements that windows see, or the windows that see elements; weights and biases whole."""
    axes, (first, second, *others) = slides_of(op, graph), op.inputs
    if op.kind == "conv_backward_weight":
        return slid_over(first, graph, axes), windows_on(second, graph, axes)
    seen = (slid_over if op.kind == "conv" else windows_on)(first, graph, axes)
    return (seen, *(whole(graph, i) for i in (second, *others)))


def conditions_of_windows(op: Op, graph: Graph) -> list[Condition]:
    """Return that groups divide the output channels, that windows fit, and what has to be seen of elements."""
    axes = slides_of(op, graph)
    groups, channels = op.attrs["groups"], graph.tensors[op.inputs[1]].shape[0]
    whole = type(groups) is type(channels) is int or groups in (1, channels)
    out = [] if whole else [Condition("divides", groups, channels)]
    out += [c for p in op.attrs["padding"] for c in size_conditions(p)]
    return out + [c for x in axes for c in (*conditions(x), *conditions_of_sight(x))]


def conditions_of_weight(op: Op, graph: Graph) -> list[Condition]:
    """Return that every tap falls on an element in some window."""
    return [c for x in slides_of(op, graph) for c in (*conditions_of_kernel(x), *conditions_of_sight(x))]


def residuals(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep input and weight, both, whichever needs a gradient, as torch does."""
    return (Residual("input", 0), Residual("input", 1)) if any(needs) else ()


def gradient_of_conv(b: Backward) -> tuple[Any, ...]:
    """Return the transposed convolution of the gradient, and the weight's."""
    (x, w), (grad,) = b.inputs[:2], b.grads
    attrs = dict(b.attrs)
    sizes = sizes_of(x)[-len(attrs["stride"]) :]
    return (
        b.apply("conv_transpose", grad, w, sizes=sizes, **attrs) if b.needs[0] else None,
        _gradient_of_weight(b, x, grad) if b.needs[1] else None,
        *_gradient_of_bias(b),
    )


def gradient_of_transpose(b: Backward) -> tuple[Any, ...]:
    """Return the convolution of the gradient, and the weight's, for which input and output have changed places."""
    (x, w), (grad,) = b.inputs[:2], b.grads
    attrs = {name: value for name, value in b.attrs.items() if name != "sizes"}
    return (
        b.apply("conv", grad, w, **attrs) if b.needs[0] else None,
        _gradient_of_weight(b, grad, x) if b.needs[1] else None,
        *_gradient_of_bias(b),
    )


def _gradient_of_weight(b: Backward, x: Any, grad: Any) -> Any:
    attrs = {name: value for name, value in b.attrs.items() if name != "sizes"}
    return b.apply("conv_backward_weight", x, grad, kernel=sizes_of(b.inputs[1])[2:], **attrs)


def _gradient_of_bias(b: Backward) -> tuple[Any, ...]:
    """Return the sum over batch and places, where there is a bias."""
    if len(b.inputs) < 3:
        return ()
    (grad,) = b.grads
    channels = len(grad.shape) - len(b.attrs["stride"]) - 1
    axes = tuple(i for i in range(len(grad.shape)) if i != channels)
    return (b.apply("sum", grad, axes=axes, keepdims=False) if b.needs[2] else None,)


def _rule(shape: Callable[..., Any], work: Callable[[Op, Graph], Work], **others: Any) -> Rule:
    return Rule("convolution", shape, work, reads, conditions=conditions_of_windows, residuals=residuals, **others)


RULES = {
    "conv": _rule(shape_of_conv, work_of_conv, gradient=gradient_of_conv),
    "conv_transpose": _rule(shape_of_transpose, work_of_transpose, gradient=gradient_of_transpose),
    "conv_backward_weight": Rule(
        "convolution",
        shape_of_weight,
        work_of_weight,
        reads,
        conditions=conditions_of_weight,
        gradient=no_second_gradient,
    ),
}
