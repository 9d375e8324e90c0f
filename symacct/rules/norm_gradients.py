"""Gradients of normalisation, each one operation as in torch.

With g the gradient of the output, gw = g * weight (or g), rows of n elements, and normal = (x - mean) * rstd worked
out again (n sub, n mul; in rms_norm n mul alone):

    layer_norm, group_norm
        input   (gw - sum(gw)/n - normal * (sum(gw*normal)/n)) * rstd     2n sum, 3n mul, 2n sub; a row: 2 div
        weight  n mul for gw, and sum(g*normal) over what shares a weight n mul, n sum
        bias    sum(g) over what shares a bias                            n sum
    rms_norm
        input   (gw - normal * (sum(gw*normal)/n)) * rstd                 n sum, 3n mul, n sub; a row: div
        weight  as above
    batch_norm in training, where rows are what shares a weight: both sums serve the input's gradient too
        input   (g - sum(g)/n - normal * (sum(g*normal)/n)) * (rstd * weight)    2n mul, 2n sub; a row: 2 div, mul
        weight  sum(g*normal)                                             n mul, n sum
        bias    sum(g)                                                    n sum
    batch_norm in use
        input   g * (weight / sqrt(variance + eps)): the statistics are constants
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symacct.conventions import Key, Work
from symacct.expr import Expr, product
from symacct.graph import Graph, Op, Tensor
from symacct.rules.rule import Attrs, Backward, Out, Rule, no_second_gradient

FORMULAS: Mapping[Key, Mapping[Key, int]] = {
    ("layer_norm_backward", "points"): {("sub", "points"): 1, ("mul", "points"): 1},
    ("layer_norm_backward", "x points"): {("reduce", "points"): 2, ("mul", "points"): 3, ("sub", "points"): 2},
    ("layer_norm_backward", "x outputs"): {("reduce", "outputs"): 2, ("div", "points"): 2},
    ("layer_norm_backward", "weighted"): {("mul", "points"): 1},
    ("layer_norm_backward", "weight points"): {("mul", "points"): 1, ("reduce", "points"): 1},
    ("layer_norm_backward", "weight outputs"): {("reduce", "outputs"): 1},
    ("layer_norm_backward", "bias points"): {("reduce", "points"): 1},
    ("layer_norm_backward", "bias outputs"): {("reduce", "outputs"): 1},
    ("rms_norm_backward", "points"): {("mul", "points"): 1},
    ("rms_norm_backward", "x points"): {("reduce", "points"): 1, ("mul", "points"): 3, ("sub", "points"): 1},
    ("rms_norm_backward", "x outputs"): {("reduce", "outputs"): 1, ("div", "points"): 1},
    ("rms_norm_backward", "weighted"): {("mul", "points"): 1},
    ("rms_norm_backward", "weight points"): {("mul", "points"): 1, ("reduce", "points"): 1},
    ("rms_norm_backward", "weight outputs"): {("reduce", "outputs"): 1},
    ("batch_norm_backward", "points"): {("sub", "points"): 1, ("mul", "points"): 1},
    ("batch_norm_backward", "x points"): {("mul", "points"): 2, ("sub", "points"): 2},
    ("batch_norm_backward", "x outputs"): {("div", "points"): 2},
    ("batch_norm_backward", "weighted"): {("mul", "points"): 1},
    ("batch_norm_backward", "weight points"): {("mul", "points"): 1, ("reduce", "points"): 1},
    ("batch_norm_backward", "weight outputs"): {("reduce", "outputs"): 1},
    ("batch_norm_backward", "bias points"): {("reduce", "points"): 1},
    ("batch_norm_backward", "bias outputs"): {("reduce", "outputs"): 1},
}
"""What the gradients of x, weight and bias are made of: an element (`points`) and a sum of them (`outputs`).

Those of layer_norm_backward are also group_norm_backward's.
"""


def shape(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the gradients that are wanted: like x, like a weight, like a bias."""
    x = inputs[1]
    parameter = x.shape[-attrs["axes"] :] if "axes" in attrs else (x.shape[1],)
    return tuple(Out(x.shape if wanted == "x" else parameter, x.dtype) for wanted in attrs["wants"])


def work(op: Op, graph: Graph) -> Work:
    """Return the elements and the sums of each gradient that is wanted."""
    name, wants = "rms_norm_backward" if op.kind == "rms_norm_backward" else "layer_norm_backward", op.attrs["wants"]
    scaled: dict[Key, Expr] = {(name, "weighted"): graph.tensors[op.inputs[1]].numel}
    return _work(name, op, graph, wants) | (scaled if "x" in wants and _weighted(op) else {})


def work_of_batch_norm(op: Op, graph: Graph) -> Work:
    """Return the same; the gradient of x needs both sums, and one product a channel with the weight."""
    name, wants = "batch_norm_backward", op.attrs["wants"]
    if "x" not in wants:
        return _work(name, op, graph, wants)
    scaled: dict[Key, Expr] = {(name, "weighted"): graph.tensors[op.inputs[1]].shape[1]}
    return _work(name, op, graph, ("x", "weight", "bias")) | (scaled if _weighted(op) else {})


def _work(name: str, op: Op, graph: Graph, wants: Sequence[str]) -> dict[Key, Expr]:
    x, rstd = graph.tensors[op.inputs[1]], graph.tensors[op.inputs[-2 if _weighted(op) else -1]]
    parameter = product(x.shape[-op.attrs["axes"] :]) if "axes" in op.attrs else x.shape[1]
    out: dict[Key, Expr] = {(name, "points"): x.numel}
    for wanted in wants:
        out[name, f"{wanted} points"] = x.numel
        out[name, f"{wanted} outputs"] = rstd.numel if wanted == "x" else parameter
    return out


def _weighted(op: Op) -> bool:
    """Whether a weight comes after the statistics: mean and rstd, or rstd alone."""
    return len(op.inputs) > (3 if op.kind == "rms_norm_backward" else 4)


def gradient_of_layer_norm(b: Backward) -> tuple[Any, ...]:
    """Return the gradients of x, weight and bias that are needed, in one operation."""
    axes = b.attrs["axes"]
    rest = tuple(range(len(b.inputs[0].shape) - axes))
    return _fused(b, "layer_norm_backward", rest, axes=axes)


def gradient_of_rms_norm(b: Backward) -> tuple[Any, ...]:
    """Return the gradients of x and weight that are needed, in one operation."""
    return _fused(b, "rms_norm_backward", (), axes=b.attrs["axes"])  # it has no bias


def gradient_of_group_norm(b: Backward) -> tuple[Any, ...]:
    """Return the gradients of x, weight and bias that are needed, in one operation."""
    return _fused(b, "group_norm_backward", _but_channels(b), groups=b.attrs["groups"])


def gradient_of_batch_norm(b: Backward) -> tuple[Any, ...]:
    """Return the gradients that are needed: in training in one operation, else with the statistics for constants."""
    return _fused(b, "batch_norm_backward", _but_channels(b)) if b.attrs["training"] else _with_constants(b)


def _but_channels(b: Backward) -> tuple[int, ...]:
    return tuple(i for i in range(len(b.inputs[0].shape)) if i != 1)


def _given(b: Backward) -> dict[str, Any]:
    return dict(zip(b.attrs["given"], b.inputs[1:], strict=True))


def _in_order(b: Backward, found: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a gradient or None for each input."""
    return tuple(found.get(called) for called in ("x", *b.attrs["given"]))


def _fused(b: Backward, kind: str, shared: tuple[int, ...], **attrs: Any) -> tuple[Any, ...]:
    """Run a gradient as one operation; that of a bias alone is a sum over the axes that share it."""
    wants = tuple(called for called, need in zip(("x", *b.attrs["given"]), b.needs, strict=True) if need)
    if wants == ("bias",):
        return _in_order(b, {"bias": b.apply("sum", b.grads[0], axes=shared, keepdims=False) if shared else b.grads[0]})
    weight = [w for called, w in _given(b).items() if called == "weight"]
    made = b.apply(kind, b.grads[0], b.inputs[0], *b.outputs[1:], *weight, wants=wants, **attrs)
    return _in_order(b, dict(zip(wants, made if isinstance(made, tuple) else (made,), strict=True)))


def _with_constants(b: Backward) -> tuple[Any, ...]:
    """Return the gradients of batch_norm in use, element by element."""
    (g,), x, given, shared = b.grads, b.inputs[0], _given(b), _but_channels(b)
    wide = tuple(s if i == 1 else 1 for i, s in enumerate(x.shape))
    rstd = b.apply("rsqrt", given["var"] + b.attrs["eps"])
    found = {}
    for called, need in zip(("x", *b.attrs["given"]), b.needs, strict=True):
        if need and called == "x":
            scale = rstd * given["weight"] if "weight" in given else rstd
            found["x"] = g * scale.reshape(wide)
        elif need:
            normal = (x - given["mean"].reshape(wide)) * rstd.reshape(wide)
            found[called] = b.apply("sum", g * normal if called == "weight" else g, axes=shared, keepdims=False)
    return _in_order(b, found)


RULES = {
    "batch_norm_backward": Rule("normalization", shape, work_of_batch_norm, gradient=no_second_gradient),
    "group_norm_backward": Rule("normalization", shape, work, gradient=no_second_gradient),
    "layer_norm_backward": Rule("normalization", shape, work, gradient=no_second_gradient),
    "rms_norm_backward": Rule("normalization", shape, work, gradient=no_second_gradient),
}
