"""Normalisation and its gradients: programs of their terms, run on numbers that count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from symacct.graph import Graph
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
