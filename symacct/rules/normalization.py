"""Normalisation: a row less its mean, over its standard deviation; then a weight and a bias.

A row is what shares a mean: the last axes (layer_norm, rms_norm), a group of channels of one sample (group_norm), a
channel of the whole batch (batch_norm). Terms, for rows of n elements:

    layer_norm, group_norm and batch_norm in training
        mean        sum of a row, / n                                   n sum, div
        centred     x - mean                                            n sub
        variance    centred * centred, sum of a row, / n                n mul, n sum, div
        rstd        1 / sqrt(variance + eps)                            add, rsqrt
        normal      centred * rstd                                      n mul
        output      normal * weight + bias, where they are given        n mul, n add
    so 5n + 4 a row under ``2n`` (5n + 2 under ``exact``), 7n + 4 with weight and bias
    rms_norm
        mean square x * x, sum of a row, / n                            n mul, n sum, div
        rstd        1 / sqrt(mean square + eps)                         add, rsqrt
        normal      x * rstd                                            n mul
        output      normal * weight                                     n mul
    so 3n + 3 a row (3n + 2 under ``exact``), 4n + 3 with weight
    batch_norm with running statistics
        in use      (x - mean) * (1 / sqrt(variance + eps))             n sub, n mul; a channel: add, rsqrt
        in training old*(1 - momentum) + new*momentum, of the mean and of the variance that divides by n - 1:
                    a channel 4 mul, 2 add, div

The statistics are outputs (mean and rstd after the normalised tensor), because the gradient reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symacct.conventions import Key, Work
from symacct.errors import ShapeError
from symacct.expr import Expr, Size, divide, product
from symacct.graph import Condition, Graph, Op, Tensor, size_conditions
from symacct.rules.norm_gradients import (
    gradient_of_batch_norm,
    gradient_of_group_norm,
    gradient_of_layer_norm,
    gradient_of_rms_norm,
)
from symacct.rules.rule import Attrs, Out, Read, Residual, Rule, show_shape, whole, write_all

FORMULAS: Mapping[Key, Mapping[Key, int]] = {
    ("layer_norm", "points"): {("reduce", "points"): 2, ("sub", "points"): 1, ("mul", "points"): 2},
    ("layer_norm", "outputs"): {
        ("reduce", "outputs"): 2,
        ("div", "points"): 2,
        ("add", "points"): 1,
        ("rsqrt", "points"): 1,
    },
    ("layer_norm", "weighted"): {("mul", "points"): 1},
    ("layer_norm", "shifted"): {("add", "points"): 1},
    ("rms_norm", "points"): {("reduce", "points"): 1, ("mul", "points"): 2},
    ("rms_norm", "outputs"): {
        ("reduce", "outputs"): 1,
        ("div", "points"): 1,
        ("add", "points"): 1,
        ("rsqrt", "points"): 1,
    },
    ("rms_norm", "weighted"): {("mul", "points"): 1},
    ("batch_norm", "points"): {("sub", "points"): 1, ("mul", "points"): 1},
    ("batch_norm", "outputs"): {("add", "points"): 1, ("rsqrt", "points"): 1},
    ("batch_norm", "weighted"): {("mul", "points"): 1},
    ("batch_norm", "shifted"): {("add", "points"): 1},
    ("running_statistics", "points"): {("mul", "points"): 4, ("add", "points"): 2, ("div", "points"): 1},
}
"""What an element (`points`), a row (`outputs`), an element with a weight (`weighted`) or a bias is made of.

Those of layer_norm are also group_norm's and, in training, batch_norm's.
"""

KEPT = {"layer_norm": ("weight", "bias"), "group_norm": ("weight",), "batch_norm": ("weight", "mean", "var")}
"""Which inputs torch keeps for the gradient besides x."""


def shape_of_layer_norm(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the input's shape, and mean and rstd with the last axes at size 1."""
    x, axes = inputs[0], attrs["axes"]
    if not 1 <= axes <= len(x.shape):
        msg = f"{axes} axes to normalise, {show_shape(x.shape)} has {len(x.shape)}"
        raise ShapeError(msg)
    _check(inputs, attrs, x.shape[-axes:])
    statistics = Out(x.shape[:-axes] + (1,) * axes, x.dtype)
    return Out(x.shape, x.dtype), statistics, statistics


def shape_of_rms_norm(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the input's shape, and rstd with the last axes at size 1, in fp32 as torch works it out."""
    out, _, rstd = shape_of_layer_norm(inputs, attrs)
    return out, rstd._replace(dtype="fp32")


def shape_of_group_norm(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the input's shape, and mean and rstd of every sample and group."""
    x, groups = inputs[0], attrs["groups"]
    channels = _channels(x)
    if type(channels) is type(groups) is int and channels % groups:
        msg = f"{groups} groups do not divide the {channels} channels of {show_shape(x.shape)}"
        raise ShapeError(msg)
    _check(inputs, attrs, (channels,))
    statistics = Out((x.shape[0], groups), x.dtype)
    return Out(x.shape, x.dtype), statistics, statistics


def shape_of_batch_norm(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the input's shape, and in training mean and rstd of every channel."""
    x = inputs[0]
    channels = _channels(x)
    _check(inputs, attrs, (channels,))
    statistics = Out((channels,), x.dtype)
    return (Out(x.shape, x.dtype), statistics, statistics) if attrs["training"] else (Out(x.shape, x.dtype),)


def _channels(x: Tensor) -> Size:
    if len(x.shape) < 2:
        msg = f"{show_shape(x.shape)} has no axis of channels; that is axis 1"
        raise ShapeError(msg)
    return x.shape[1]


def _check(inputs: Sequence[Tensor], attrs: Attrs, wanted: tuple[Size, ...]) -> None:
    for called, given in zip(attrs["given"], inputs[1:], strict=True):
        if given.shape != wanted:
            shapes = f"{show_shape(given.shape)} of the {called} and {show_shape(inputs[0].shape)}"
            msg = f"the shapes {shapes} do not fit: it has to be {show_shape(wanted)}"
            raise ShapeError(msg)


def conditions_of_group_norm(op: Op, graph: Graph) -> list[Condition]:
    """Return that the groups divide the channels."""
    return size_conditions(divide(graph.tensors[op.inputs[0]].shape[1], op.attrs["groups"]))  # type: ignore[arg-type]


def work(op: Op, graph: Graph) -> Work:
    """Return the elements, the rows, and the elements with a weight or a bias."""
    name = "rms_norm" if op.kind == "rms_norm" else "layer_norm"
    return _work(name, op, graph, graph.tensors[op.outputs[-1]].numel)


def work_of_batch_norm(op: Op, graph: Graph) -> Work:
    """Return that of layer_norm with channels for rows, and the running statistics; in use with the latter alone."""
    channels = graph.tensors[op.inputs[0]].shape[1]
    if not op.attrs["training"]:
        return _work("batch_norm", op, graph, channels)
    running = {("running_statistics", "points"): channels} if "mean" in op.attrs["given"] else {}
    return {**work(op, graph), **running}


def _work(name: str, op: Op, graph: Graph, rows: Expr) -> Work:
    numel = product(graph.tensors[op.inputs[0]].shape)
    affine = {"weight": (name, "weighted"), "bias": (name, "shifted")}
    parts = {affine[given]: numel for given in op.attrs["given"] if given in affine}
    return {(name, "points"): numel, (name, "outputs"): rows, **parts}


def writes_of_batch_norm(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Write every output, and in training the running statistics in their place."""
    running = [
        whole(graph, i)
        for called, i in zip(op.attrs["given"], op.inputs[1:], strict=True)
        if called in ("mean", "var") and op.attrs["training"]
    ]
    return (*write_all(op, graph), *running)


def keep(op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the input, the statistics, and the parameters that torch keeps."""
    if not any(needs):
        return ()
    parameters = [Residual("input", i) for i, given in enumerate(op.attrs["given"], 1) if given in KEPT[op.kind]]
    statistics = [Residual("output", i) for i in range(1, len(op.outputs))]
    return (Residual("input"), *parameters, *statistics)


def keep_of_rms_norm(op: Op, graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the input, rstd and the weight; step by step, as torch runs on a CPU, what each wanted gradient needs.

    There that of the input needs the input in fp32, rstd and the weight, and that of the weight the normalised input.
    A fused kernel works the normalised input out again.
    """
    if not any(needs):
        return ()
    saved = (Residual("input"), Residual("output", 1), *(Residual("input", i) for i in range(1, len(op.inputs))))
    normal = Residual("extra", 0, graph.tensors[op.inputs[0]].shape, "fp32", "normalised input")
    composite = (*(saved if needs[0] else ()), *((normal,) if any(needs[1:]) else ()))
    return (*(r._replace(kernel="composite") for r in composite), *(r._replace(kernel="fused") for r in saved))


RULES = {
    "batch_norm": Rule(
        "normalization",
        shape_of_batch_norm,
        work_of_batch_norm,
        writes=writes_of_batch_norm,
        residuals=keep,
        gradient=gradient_of_batch_norm,
    ),
    "group_norm": Rule(
        "normalization",
        shape_of_group_norm,
        work,
        conditions=conditions_of_group_norm,
        residuals=keep,
        gradient=gradient_of_group_norm,
    ),
    "layer_norm": Rule("normalization", shape_of_layer_norm, work, residuals=keep, gradient=gradient_of_layer_norm),
    "rms_norm": Rule(
        "normalization", shape_of_rms_norm, work, residuals=keep_of_rms_norm, gradient=gradient_of_rms_norm
    ),
}
