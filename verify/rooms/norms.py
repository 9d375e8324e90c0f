"""Normalisation and its gradients: programs of their terms, run on numbers that count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import symacct as sa
from symacct.graph import Graph
from symacct.rules import RULES
from verify.check import Check, agree
from verify.counted_arrays import Array, Machine, each
from verify.one_op import Axes
from verify.programs import Kind, Variant, checks, difference

rsqrt = each("rsqrt")
EPS, MOMENTUM = 0.25, 0.125
Given = Sequence[str]
X, CHANNELS, PLACES = ("b", "c", "h"), ("c",), (0, 2)


def standardise(m: Machine, x: Array, axes: Sequence[int]) -> tuple[Array, Array, Array, Array]:
    """Return x with mean 0 and variance 1 over axes, mean, 1/sqrt(variance), and the sum of squares."""
    n = prod(x.shape[a] for a in axes)
    mean = m.sums(x, axes) / n
    centred = x - mean
    squares = m.sums(centred * centred, axes)
    rstd = rsqrt(squares / n + EPS)
    return centred * rstd, mean, rstd, squares


def affine(normal: Array, named: dict[str, Array], shape: Sequence[int]) -> Array:
    """Multiply with a weight and add a bias of a shape that broadcasts, where they are given."""
    out = normal * named["weight"].reshape(shape) if "weight" in named else normal
    return out + named["bias"].reshape(shape) if "bias" in named else out


def layer_norm(m: Machine, x: Array, *rest: Array, given: Given, axes: int, eps: float) -> tuple[Array, ...]:
    del eps
    normal, mean, rstd, _ = standardise(m, x, range(x.ndim - axes, x.ndim))
    return affine(normal, dict(zip(given, rest, strict=True)), x.shape[-axes:]), mean, rstd


def rms_norm(m: Machine, x: Array, *rest: Array, given: Given, axes: int, eps: float) -> tuple[Array, Array]:
    last = range(x.ndim - axes, x.ndim)
    rstd = rsqrt(m.sums(x * x, last) / prod(x.shape[-axes:]) + eps)
    return affine(x * rstd, dict(zip(given, rest, strict=True)), x.shape[-axes:]), rstd


def group_norm(m: Machine, x: Array, *rest: Array, given: Given, groups: int, eps: float) -> tuple[Array, ...]:
    del eps
    rows = x.reshape(len(x), groups, -1)
    normal, mean, rstd, _ = standardise(m, rows, [2])
    out = affine(normal.reshape(x.shape), dict(zip(given, rest, strict=True)), _wide(x))
    return out, mean.squeeze(2), rstd.squeeze(2)


def batch_norm(
    m: Machine, x: Array, *rest: Array, given: Given, training: bool, momentum: float, eps: float
) -> tuple[Array, ...]:
    named, wide, axes = dict(zip(given, rest, strict=True)), _wide(x), [0, *range(2, x.ndim)]
    if not training:
        rstd = rsqrt(named["var"] + eps)
        return (affine((x - named["mean"].reshape(wide)) * rstd.reshape(wide), named, wide),)
    normal, mean, rstd, squares = standardise(m, x, axes)
    if "mean" in named:
        unbiased = squares.ravel() / (x.size // x.shape[1] - 1)
        for old, new in ((named["mean"], mean.ravel()), (named["var"], unbiased)):
            old * (1 - momentum) + new * momentum  # what is written in place
    return affine(normal, named, wide), mean.ravel(), rstd.ravel()


def _wide(x: Array) -> list[int]:
    """The shape in which channels broadcast."""
    return [s if i == 1 else 1 for i, s in enumerate(x.shape)]


def _statistics(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    return x.mean(axes, keepdims=True), 1 / np.sqrt(x.var(axes, keepdims=True) + EPS)


def plain_layer_norm(x: Array, *rest: Array, given: Given, axes: int, **_: Any) -> list[Array]:
    mean, rstd = _statistics(x, tuple(range(x.ndim - axes, x.ndim)))
    named = dict(zip(given, rest, strict=True))
    return [(x - mean) * rstd * named.get("weight", 1) + named.get("bias", 0), mean, rstd]


def plain_rms_norm(x: Array, *rest: Array, given: Given, axes: int, **_: Any) -> list[Array]:
    rms = np.sqrt(np.mean(x**2, tuple(range(x.ndim - axes, x.ndim)), keepdims=True) + EPS)
    return [x / rms * dict(zip(given, rest, strict=True)).get("weight", 1), 1 / rms]


def plain_group_norm(x: Array, *rest: Array, given: Given, groups: int, **_: Any) -> list[Array]:
    parts = np.split(x, groups, axis=1)
    both = [_statistics(part, tuple(range(1, x.ndim))) for part in parts]
    normal = np.concatenate([(p - mean) * rstd for p, (mean, rstd) in zip(parts, both, strict=True)], axis=1)
    named = {n: r.reshape(_wide(x)) for n, r in zip(given, rest, strict=True)}
    mean, rstd = (np.stack([s[i].ravel() for s in both], axis=1) for i in (0, 1))
    return [normal * named.get("weight", 1) + named.get("bias", 0), mean, rstd]


def plain_batch_norm(x: Array, *rest: Array, given: Given, training: bool, **_: Any) -> list[Array]:
    named = {n: r.reshape(_wide(x)) for n, r in zip(given, rest, strict=True)}
    mean, rstd = _statistics(x, PLACES) if training else (named["mean"], 1 / np.sqrt(named["var"] + EPS))
    out = (x - mean) * rstd * named.get("weight", 1) + named.get("bias", 0)
    return [out, mean.ravel(), rstd.ravel()] if training else [out]


def expected_batch_norm(arrays: list[Array], **attrs: Any) -> list[Array]:
    """The last operand may be a variance: positive."""
    if "var" in attrs["given"]:
        arrays[-1] = np.abs(arrays[-1])
    return plain_batch_norm(*arrays, **attrs)


def layer_norm_backward(
    m: Machine, g: Array, x: Array, mean: Array, rstd: Array, *weight: Array, axes: int, wants: Given
) -> tuple[Array, ...]:
    last, first = range(x.ndim - axes, x.ndim), range(x.ndim - axes)
    normal = (x - mean) * rstd
    made = {}
    if "x" in wants:
        made["x"] = _back_through_rows(m, g * weight[0] if weight else g, normal, rstd, last)
    return _chosen(made | _parameters(m, g, normal, first, wants), wants)


def rms_norm_backward(
    m: Machine, g: Array, x: Array, rstd: Array, *weight: Array, axes: int, wants: Given
) -> tuple[Array, ...]:
    last, first = range(x.ndim - axes, x.ndim), range(x.ndim - axes)
    normal = x * rstd
    made = {}
    if "x" in wants:
        scaled = g * weight[0] if weight else g
        made["x"] = (scaled - normal * (m.sums(scaled * normal, last) / prod(x.shape[-axes:]))) * rstd
    return _chosen(made | _parameters(m, g, normal, first, wants), wants)


def group_norm_backward(
    m: Machine, g: Array, x: Array, mean: Array, rstd: Array, *weight: Array, groups: int, wants: Given
) -> tuple[Array, ...]:
    rows = (len(x), groups, x[0].size // groups)
    normal = (x.reshape(rows) - mean[:, :, None]) * rstd[:, :, None]
    made = {}
    if "x" in wants:
        scaled = g * weight[0].reshape(_wide(x)) if weight else g
        made["x"] = _back_through_rows(m, scaled.reshape(rows), normal, rstd[:, :, None], [2]).reshape(x.shape)
    return _chosen(made | _parameters(m, g, normal.reshape(x.shape), PLACES, wants), wants)


def batch_norm_backward(
    m: Machine, g: Array, x: Array, mean: Array, rstd: Array, *weight: Array, wants: Given
) -> tuple[Array, ...]:
    normal = (x - mean.reshape(_wide(x))) * rstd.reshape(_wide(x))
    if "x" not in wants:
        return _chosen(_parameters(m, g, normal, PLACES, wants), wants)
    by_weight, by_bias = m.sums(g * normal, PLACES), m.sums(g, PLACES)
    n = x.size // x.shape[1]
    scale = (rstd * weight[0] if weight else rstd).reshape(_wide(x))
    dx = (g - by_bias / n - normal * (by_weight / n)) * scale
    made = {"x": dx, "weight": by_weight.ravel(), "bias": by_bias.ravel()}
    return _chosen(made, wants)


def _back_through_rows(m: Machine, g: Array, normal: Array, rstd: Array, row: Sequence[int]) -> Array:
    n = prod(g.shape[a] for a in row)
    return (g - m.sums(g, row) / n - normal * (m.sums(g * normal, row) / n)) * rstd


def _parameters(m: Machine, g: Array, normal: Array, shared: Sequence[int], wants: Given) -> dict[str, Array]:
    """The gradients of weight and bias that are wanted: sums over the axes that share them."""
    gone = tuple(shared)
    terms = {"weight": lambda: g * normal, "bias": lambda: g}
    return {w: m.sums(terms[w](), gone).squeeze(gone) for w in wants if w in terms}


def _chosen(made: dict[str, Array], wants: Given) -> tuple[Array, ...]:
    return tuple(made[w] for w in wants)


def gradients(plain: Callable[..., list[Array]], kept: int = 2, **fixed: Any) -> Callable[..., list[Array]]:
    """What the gradients of x, weight and bias should be; as many statistics as are kept are put in place."""

    def expected(arrays: list[Array], *, wants: Given, **attrs: Any) -> list[Array]:
        g, x = arrays[:2]
        shape = x.shape[-attrs["axes"] :] if "axes" in attrs else x.shape[1:2]
        weight = arrays[2 + kept] if len(arrays) > 2 + kept else np.ones(shape)
        values = {"x": x, "weight": weight, "bias": np.zeros(shape)}

        def run(**changed: Array) -> list[Array]:
            given = {**values, **changed}
            return plain(*given.values(), given=("weight", "bias"), **attrs, **fixed)

        arrays[2 : 2 + kept] = run()[1:]
        return [difference(lambda at, w=w: run(**{w: at})[0], values[w], g) for w in wants]

    return expected


def forward(names: Sequence[Given], parameter: Axes, **attrs: Any) -> tuple[Variant, ...]:
    return tuple(Variant((X, *(parameter for _ in given)), {"given": given, "eps": EPS, **attrs}) for given in names)


def backward(kept: Sequence[Axes], parameter: Axes, **attrs: Any) -> tuple[Variant, ...]:
    plain = Variant((X, X, *kept), {"wants": ("x",), **attrs})
    wanted = (("x",), ("x", "weight"), ("weight",), ("weight", "bias"), ("x", "weight", "bias"))
    return plain, *(Variant((X, X, *kept, parameter), {"wants": w, **attrs}) for w in wanted)


def moved_by_batch_norm(variant: Variant, graph: Graph) -> list[tuple[int, Axes]]:
    """In training the running statistics are written too."""
    moved = [(i, graph.tensors[i].shape) for i in (*graph.inputs, *graph.outputs)]
    names = ("x", *variant.attrs["given"])
    running = [(i, CHANNELS) for i, n in enumerate(names) if n in ("mean", "var") and variant.attrs["training"]]
    return moved + running


def _elements(variant: Variant, arrays: Sequence[Array]) -> int:
    """Elements of x; updating running statistics is a function of its own, once a channel."""
    running = variant.attrs["training"] and "mean" in variant.attrs["given"]
    return arrays[0].size + (arrays[0].shape[1] if running else 0)


PLAIN, WEIGHT, BOTH = (), ("weight",), ("weight", "bias")
RUNNING = ("mean", "var")
TRAINING = {"training": True, "momentum": MOMENTUM}
IN_USE = {"training": False, "momentum": MOMENTUM}
ONE, TWO = ("b", "c", 1), ("b", 1, 1)
RMS = tuple(
    v for v in backward([ONE], ("h",), axes=1) + backward([TWO], ("c", "h"), axes=2) if "bias" not in v.attrs["wants"]
)

KINDS = {
    "layer_norm": Kind(
        layer_norm,
        lambda arrays, **attrs: plain_layer_norm(*arrays, **attrs),
        forward([PLAIN, WEIGHT, BOTH], ("h",), axes=1) + forward([BOTH], ("c", "h"), axes=2),
    ),
    "rms_norm": Kind(
        rms_norm,
        lambda arrays, **attrs: plain_rms_norm(*arrays, **attrs),
        forward([PLAIN, WEIGHT], ("h",), axes=1) + forward([WEIGHT], ("c", "h"), axes=2),
    ),
    "group_norm": Kind(
        group_norm,
        lambda arrays, **attrs: plain_group_norm(*arrays, **attrs),
        forward([PLAIN, WEIGHT, BOTH], CHANNELS, groups=2),
    ),
    "batch_norm": Kind(
        batch_norm,
        expected_batch_norm,
        forward([PLAIN, WEIGHT, BOTH, RUNNING, (*BOTH, *RUNNING)], CHANNELS, **TRAINING)
        + forward([RUNNING, (*WEIGHT, *RUNNING), (*BOTH, *RUNNING)], CHANNELS, **IN_USE),
        moved_by_batch_norm,
        _elements,
    ),
    "layer_norm_backward": Kind(
        layer_norm_backward,
        gradients(plain_layer_norm),
        backward([ONE, ONE], ("h",), axes=1) + backward([TWO, TWO], ("c", "h"), axes=2),
    ),
    "rms_norm_backward": Kind(rms_norm_backward, gradients(plain_rms_norm, kept=1), RMS),
    "group_norm_backward": Kind(
        group_norm_backward, gradients(plain_group_norm), backward([("b", 2), ("b", 2)], CHANNELS, groups=2)
    ),
    "batch_norm_backward": Kind(
        batch_norm_backward, gradients(plain_batch_norm, training=True), backward([CHANNELS, CHANNELS], CHANNELS)
    ),
}


def fused_keeps(needs: tuple[bool, bool]) -> None:
    """A fused kernel keeps x, 1/rms in fp32 a row, and the weight; the same whichever gradient is wanted."""

    def norm(x: "b h", weight: "h") -> Any:
        return sa.rms_norm(x, weight.shape, weight)

    graph = sa.account(norm).graph
    (op,) = [op for op in graph.ops if op.kind == "rms_norm"]
    kept = [r[:2] for r in RULES["rms_norm"].residuals(op, graph, needs) if r.kernel == "fused"]
    agree(kept, [("input", 0), ("output", 1), ("input", 1)], "tensors kept")


CHECKS = (
    *checks(KINDS),
    Check(
        "what a fused kernel keeps",
        "residuals of rms_norm on CUDA",
        "what its gradients read, by hand",
        fused_keeps,
        fixed=((True, True), (True, False), (False, True)),
        proves=("gradient of rms_norm",),
    ),
)
