"""Softmax, losses, dropout and the gradients of activations: programs of their terms, run on numbers that count."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from symacct.graph import Graph
from symacct.testing.counting import Counted, call
from verify.counted_arrays import Array, Machine, each
from verify.one_op import Axes
from verify.programs import Kind, Variant, checks, difference

exp, log, sigmoid, tanh, erf = (each(f) for f in ("exp", "log", "sigmoid", "tanh", "erf"))
BS, BD, BDS = ("b", "s"), ("b", "d"), ("b", "d", "s")
P = 0.25


def softmax(m: Machine, x: Array, *, axis: int) -> Array:
    e = exp(x - m.largest(x, [axis]))
    return e / m.sums(e, [axis])


def log_softmax(m: Machine, x: Array, *, axis: int) -> Array:
    shifted = x - m.largest(x, [axis])
    return shifted - log(m.sums(exp(shifted), [axis]))


def logsumexp(m: Machine, x: Array, *, axes: Sequence[int], keepdims: bool) -> Array:
    top = m.largest(x, axes)
    out = log(m.sums(exp(x - top), axes)) + top
    return out if keepdims else out.squeeze(tuple(axes))


def softmax_backward(m: Machine, g: Array, y: Array, *, axis: int) -> Array:
    return (g - m.sums(g * y, [axis])) * y


def log_softmax_backward(m: Machine, g: Array, y: Array, *, axis: int) -> Array:
    return g - exp(y) * m.sums(g, [axis])


def plain_softmax(x: Array, *, axis: int) -> Array:
    return np.exp(x) / np.exp(x).sum(axis, keepdims=True)


def plain_log_softmax(x: Array, *, axis: int) -> Array:
    return np.log(plain_softmax(x, axis=axis))


def from_output(function: Callable[..., Array]) -> Callable[..., list[Array]]:
    """What a gradient should be that is given the output."""

    def expected(arrays: list[Array], **attrs: Any) -> list[Array]:
        g, x = arrays
        arrays[1] = function(x, **attrs)
        return [difference(lambda at: function(at, **attrs), x, g)]

    return expected


def from_input(function: Callable[..., Array]) -> Callable[..., list[Array]]:
    """What a gradient should be that is given the input."""
    return lambda arrays, **attrs: [difference(lambda at: function(at, **attrs), arrays[1], arrays[0])]


@lambda choose: np.frompyfunc(choose, 2, 1)
def relu_backward(g: Counted, y: Counted) -> Counted:
    return g if call("gt", y, 0).value else Counted(0, g.calls)


def gelu_backward(_m: Machine, g: Array, x: Array, *, approximate: str) -> Array:
    square = x * x
    if approximate == "none":
        below = 0.5 * (1 + erf(x * math.sqrt(0.5)))
        density = exp(square * -0.5) * (1 / math.sqrt(2 * math.pi))
        return g * (below + x * density)
    a, k = math.sqrt(2 / math.pi), 0.044715
    t = tanh(a * (x + k * (square * x)))
    slope = a * (1 + (3 * k) * square)
    return g * (0.5 * (1 + t) + (0.5 * x) * (1 - t * t) * slope)


def silu_backward(_m: Machine, g: Array, x: Array) -> Array:
    s = sigmoid(x)
    return g * s * (1 + x * (1 - s))


def plain_gelu(x: Array, *, approximate: str) -> Array:
    if approximate == "none":
        return x * np.vectorize(NormalDist().cdf)(x)
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def plain_sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def dropout(_m: Machine, x: Array, *, p: float) -> tuple[Array, Array]:
    """Drop every other element."""
    drawn = np.array([Counted(i % 2, v.calls) for i, v in enumerate(x.flat)], dtype=object).reshape(x.shape)
    mask = drawn / (1 - p)
    return x * mask, mask


def dropped(arrays: list[Array], *, p: float) -> list[Array]:
    mask = (np.arange(arrays[0].size) % 2).reshape(arrays[0].shape) / (1 - p)
    return [np.where(mask > 0, arrays[0] / (1 - p), 0), mask]


def _reduced(m: Machine, terms: Array, reduction: str) -> Array:
    return terms if reduction == "none" else m.sums(terms, range(terms.ndim)).reshape(())


def nll_loss(m: Machine, log_probs: Array, targets: Array, *, reduction: str, ignore_index: int) -> tuple[Array, Array]:
    del ignore_index
    picked = np.take_along_axis(log_probs, np.expand_dims(targets, 1), 1).squeeze(1)
    loss = np.asarray(0 - _reduced(m, picked, reduction))
    total = np.array(Counted(targets.size, m.reduced), dtype=object)
    return (loss / targets.size if reduction == "mean" else loss), total


def looked_up(arrays: list[Array], *, reduction: str, ignore_index: int) -> list[Array]:
    del ignore_index
    log_probs = arrays[0]
    arrays[1] = np.floor(np.abs(arrays[1]) * 100).astype(int) % log_probs.shape[1]
    hot = np.moveaxis(np.eye(log_probs.shape[1])[arrays[1]], -1, 1)
    each_loss = -(hot * log_probs).sum(1)
    loss = {"none": each_loss, "sum": each_loss.sum(), "mean": each_loss.mean()}[reduction]
    return [loss, np.array(float(arrays[1].size))]


def nll_loss_backward(
    m: Machine, g: Array, log_probs: Array, targets: Array, total: Array, *, reduction: str, ignore_index: int
) -> Array:
    del ignore_index
    one = np.asarray(0 - (g / total if reduction == "mean" else g))
    out = np.full(log_probs.shape, Counted(0, m.calls), dtype=object)
    np.put_along_axis(out, np.expand_dims(targets, 1), np.expand_dims(np.broadcast_to(one, targets.shape), 1), 1)
    return out


def put_back(arrays: list[Array], *, reduction: str, ignore_index: int) -> list[Array]:
    g, log_probs = arrays[:2]
    inner = arrays[1:3]
    looked_up(inner, reduction=reduction, ignore_index=ignore_index)
    arrays[2], arrays[3] = inner[1], np.array(float(inner[1].size))

    def loss(at: Array) -> Array:
        return looked_up([at, (inner[1] + 0.5) / 100], reduction=reduction, ignore_index=ignore_index)[0]

    return [difference(loss, log_probs, g)]


def mse_loss(m: Machine, x: Array, y: Array, *, reduction: str) -> Array:
    off = x - y
    loss = np.asarray(_reduced(m, off * off, reduction))
    return loss / x.size if reduction == "mean" else loss


def squared(arrays: list[Array], *, reduction: str) -> list[Array]:
    x, y = arrays
    return [
        {"none": (x - y) ** 2, "sum": np.linalg.norm(x - y) ** 2, "mean": np.var(x - y) + np.mean(x - y) ** 2}[
            reduction
        ]
    ]


def moved_by_nll_loss(variant: Variant, graph: Graph) -> list[tuple[int, Axes]]:
    """One log-probability a target."""
    targets = variant.operands[1]
    return [(0, targets), (1, targets), *((i, graph.tensors[i].shape) for i in graph.outputs)]


def moved_by_its_gradient(variant: Variant, _graph: Graph) -> list[tuple[int, Axes]]:
    """The log-probabilities only tell a shape; zeros are written, then the places of the targets."""
    g, log_probs, targets, total = variant.operands
    number = [(3, total)] if variant.attrs["reduction"] == "mean" else []
    return [(0, g), (2, targets), *number, (4, log_probs), (4, targets)]


ROWS = tuple(Variant((BDS,), {"axis": axis}) for axis in (0, 1, -1))
ROWS_BACKWARD = tuple(Variant((BDS, BDS), {"axis": axis}) for axis in (0, 1, -1))
ALIKE = (Variant((BS, BS)),)
LOGSUMEXP = tuple(Variant((BDS,), {"axes": a, "keepdims": k}) for a, k in (((1,), False), ((0, -1), True)))
REDUCTIONS = ("mean", "sum", "none")
TARGETS = (((BD), ("b",)), (BDS, BS))
NLL = tuple(Variant(t, {"reduction": r, "ignore_index": -100}) for t in TARGETS for r in REDUCTIONS)
NLL_BACKWARD = tuple(
    Variant((t[1] if r == "none" else (), *t, ()), {"reduction": r, "ignore_index": -100})
    for t in TARGETS
    for r in REDUCTIONS
)
GELU = tuple(Variant((BS, BS), {"approximate": a}) for a in ("none", "tanh"))

KINDS = {
    "softmax": Kind(softmax, lambda arrays, **attrs: [plain_softmax(*arrays, **attrs)], ROWS),
    "log_softmax": Kind(log_softmax, lambda arrays, **attrs: [plain_log_softmax(*arrays, **attrs)], ROWS),
    "logsumexp": Kind(
        logsumexp,
        lambda arrays, axes, keepdims: [np.log(np.exp(arrays[0]).sum(axes, keepdims=keepdims))],
        LOGSUMEXP,
    ),
    "softmax_backward": Kind(softmax_backward, from_output(plain_softmax), ROWS_BACKWARD),
    "log_softmax_backward": Kind(log_softmax_backward, from_output(plain_log_softmax), ROWS_BACKWARD),
    "relu_backward": Kind(lambda _m, g, y: relu_backward(g, y), from_output(lambda x: np.maximum(x, 0)), ALIKE),
    "sigmoid_backward": Kind(lambda _m, g, y: g * (1 - y) * y, from_output(plain_sigmoid), ALIKE),
    "tanh_backward": Kind(lambda _m, g, y: g * (1 - y * y), from_output(np.tanh), ALIKE),
    "silu_backward": Kind(silu_backward, from_input(lambda x: x * plain_sigmoid(x)), ALIKE),
    "gelu_backward": Kind(gelu_backward, from_input(plain_gelu), GELU),
    "sign": Kind(
        lambda _m, x: np.frompyfunc(lambda v: Counted(2 * call("gt", v, 0).value - 1, v.calls), 1, 1)(x),
        lambda arrays: [np.sign(arrays[0])],
        (Variant((BS,)),),
    ),
    "dropout": Kind(dropout, dropped, (Variant((BS,), {"p": P}),)),
    "nll_loss": Kind(nll_loss, looked_up, NLL, moved_by_nll_loss, elements=lambda _variant, arrays: arrays[1].size),
    "nll_loss_backward": Kind(
        nll_loss_backward,
        put_back,
        NLL_BACKWARD,
        moved_by_its_gradient,
        elements=lambda _variant, arrays: arrays[2].size,
    ),
    "mse_loss": Kind(mse_loss, squared, tuple(Variant((BS, BS), {"reduction": r}) for r in REDUCTIONS)),
}

CHECKS = checks(KINDS)
