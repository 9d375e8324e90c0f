"""Optimizers as plain programs on arrays of numbers that count: what a step executes, by name, and what it yields.

Each takes a parameter, its gradient and a dict for the state; scalars that are worked out once a step are plain floats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symacct.testing.counting import Counted, call
from verify.counted_arrays import Machine, each, plain

Array = NDArray[Any]
LR, EPS, WD = 0.01, 1e-8, 0.1


class Bench(Machine):
    """Counts element-wise calls, the terms of reductions, and the products and sums of matrix products apart."""

    def __init__(self) -> None:
        super().__init__("exact")
        self.products: Counter[str] = Counter()

    def zeros(self, shape: Any) -> Array:
        return self.load(np.zeros(shape))

    def matmul(self, a: Array, b: Array) -> Array:
        """The definition: `np.matmul` on objects multiplies and adds as it says."""
        apart = [np.vectorize(lambda v: Counted(v.value, self.products), otypes=[object])(x) for x in (a, b)]
        return self.load(plain(np.matmul(*apart)))

    def norm(self, x: Array) -> float:
        """Square, sum, one root."""
        total = self.sums(x * x, range(x.ndim)).reshape(-1)[0]
        return float(call("sqrt", total).value)


sqrt, rsqrt = each("sqrt"), each("rsqrt")


def _limit(x: Array, low: float) -> Array:
    return np.frompyfunc(lambda v: call("max", v, low), 1, 1)(x)


def _larger(a: Array, b: Array) -> Array:
    return np.frompyfunc(lambda x, y: call("max", x, y), 2, 1)(a, b)


def _lerp(a: Array, b: Array, t: float) -> Array:
    return a + t * (b - a)


def sgd(p: Array, g: Array, state: dict[str, Any], _: Bench, **options: Any) -> Array:
    if options.get("weight_decay"):
        g = g + WD * p
    if options.get("momentum"):
        state["b"] = b = 0.9 * state["b"] + g if "b" in state else g
        g = g + 0.9 * b if options.get("nesterov") else b
    return p - LR * g


def adagrad(p: Array, g: Array, state: dict[str, Any], m: Bench) -> Array:
    state["s"] = s = state.get("s", m.zeros(p.shape)) + g * g
    return p - LR * g / (sqrt(s) + EPS)


def rmsprop(p: Array, g: Array, state: dict[str, Any], m: Bench, **options: Any) -> Array:
    state["v"] = v = 0.99 * state.get("v", m.zeros(p.shape)) + 0.01 * g * g
    if options.get("centered"):
        state["m"] = mean = _lerp(state.get("m", m.zeros(p.shape)), g, 0.01)
        v = v - mean * mean
    if options.get("momentum"):
        state["b"] = b = 0.9 * state.get("b", m.zeros(p.shape)) + g / (sqrt(v) + EPS)
        return p - LR * b
    return p - LR * g / (sqrt(v) + EPS)


def adam(p: Array, g: Array, state: dict[str, Any], m: Bench, **options: Any) -> Array:
    if options.get("weight_decay"):
        g = g + WD * p
    t = state["t"] = state.get("t", 0) + 1
    state["m"] = mean = _lerp(state.get("m", m.zeros(p.shape)), g, 0.1)
    state["v"] = v = 0.999 * state.get("v", m.zeros(p.shape)) + 0.001 * g * g
    if options.get("amsgrad"):
        state["largest"] = v = _larger(state.get("largest", m.zeros(p.shape)), v)
    step, corrected = LR / (1 - 0.9**t), (1 - 0.999**t) ** 0.5
    return p - step * mean / (sqrt(v) / corrected + EPS)


def adamw(p: Array, g: Array, state: dict[str, Any], m: Bench) -> Array:
    return adam(p * (1 - LR * WD), g, state, m)


def lion(p: Array, g: Array, state: dict[str, Any], m: Bench) -> Array:
    mean = state.get("m", m.zeros(p.shape))
    positive = np.frompyfunc(lambda v: call("gt", v, 0), 1, 1)(_lerp(mean, g, 0.1))
    sign = m.load(np.where(plain(positive) > 0, 1.0, -1.0))
    state["m"] = _lerp(mean, g, 0.01)
    return p * (1 - LR * WD) - LR * sign


def adafactor(p: Array, g: Array, state: dict[str, Any], m: Bench) -> Array:
    t = state["t"] = state.get("t", 0) + 1
    fresh = t**-0.8
    alpha = max(1e-3, m.norm(p) / p.size**0.5) * min(LR, t**-0.5)
    if p.ndim > 1:
        shapes = ((*p.shape[:-1], 1), (*p.shape[:-2], 1, p.shape[-1]))
        rows, columns = (m.sums(g * g, (axis,)) / float(g.shape[axis]) for axis in (-1, -2))
        state["r"] = rows = _lerp(state.get("r", m.zeros(shapes[0])), rows, fresh)
        state["c"] = columns = _lerp(state.get("c", m.zeros(shapes[1])), columns, fresh)
        mean = m.sums(rows, (-2,)) / float(rows.shape[-2])
        v = rows * columns / _limit(mean, 1e-7)
    else:
        state["v"] = v = _lerp(state.get("v", m.zeros(p.shape)), g * g, fresh)
    u = rsqrt(_limit(v, 1e-14)) * g
    return p + (-alpha / max(1.0, m.norm(u) / u.size**0.5)) * u


def muon(p: Array, g: Array, state: dict[str, Any], m: Bench) -> Array:
    a, b, c = 3.4445, -4.7750, 2.0315
    p = p * (1 - LR * WD)
    state["b"] = buffer = _lerp(state.get("b", m.zeros(p.shape)), g, 0.05)
    u = _lerp(g, buffer, 0.95)
    long = u.shape[0] > u.shape[1]
    x = u.T if long else u
    x = x / call("max", Counted(m.norm(u), m.calls), 1e-7).value
    for _ in range(5):
        gram = m.matmul(x, x.T)
        x = a * x + m.matmul(b * gram + c * m.matmul(gram, gram), x)
    ratio = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
    return p - LR * ratio * (x.T if long else x)


def inverse_root(s: Array, m: Bench, iterations: int) -> Array:
    """``s ** (-1/4)`` by coupled Newton steps."""
    one = np.eye(len(s))
    size = m.norm(s)
    rest, x = s / size, m.load(one)
    for _ in range(iterations):
        t = (5 * one - rest) / 4.0
        x = m.matmul(x, t)
        t = m.matmul(t, t)
        rest = m.matmul(m.matmul(t, t), rest)
    return x / size**0.25


def shampoo(p: Array, g: Array, state: dict[str, Any], m: Bench, *, iterations: int) -> Array:
    left, right = (state.get(side, m.load(1e-2 * np.eye(k))) for side, k in zip("LR", p.shape, strict=True))
    state["L"], state["R"] = left, right = left + m.matmul(g, g.T), right + m.matmul(g.T, g)
    state["roots"] = [inverse_root(s, m, iterations) for s in (left, right)]
    return p - LR * m.matmul(m.matmul(state["roots"][0], g), state["roots"][1])


def orthonormal(s: Array, m: Bench) -> Array:
    """Gram-Schmidt, column by column, the columns to come made orthogonal as each is done."""
    rows = [s[:, j] for j in range(s.shape[1])]
    for j in range(len(rows)):
        rows[j] = row = rows[j] / m.norm(rows[j])
        for k in range(j + 1, len(rows)):
            dot = m.matmul(row.reshape(1, -1), rows[k].reshape(-1, 1))[0, 0].value
            rows[k] = rows[k] - dot * row
    return np.stack(rows, axis=1)


def soap(p: Array, g: Array, state: dict[str, Any], m: Bench) -> Array:
    r, c = p.shape
    t = state["t"] = state.get("t", 0) + 1
    left, right = state.get("bases", (m.load(np.eye(r)), m.load(np.eye(c))))
    turned = m.matmul(m.matmul(left.T, g), right)
    state["m"] = _lerp(state.get("m", m.zeros(p.shape)), g, 0.1)
    mean = m.matmul(m.matmul(left.T, state["m"]), right)
    state["v"] = v = 0.999 * state.get("v", m.zeros(p.shape)) + 0.001 * turned * turned
    u = mean / (sqrt(v) / (1 - 0.999**t) ** 0.5 + EPS)
    u = m.matmul(m.matmul(left, u), right.T)
    sums = state.get("sums", (m.zeros((r, r)), m.zeros((c, c))))
    fresh = (m.matmul(g, g.T), m.matmul(g.T, g))
    state["sums"] = tuple(_lerp(s, f, 0.05) for s, f in zip(sums, fresh, strict=True))
    ridge = [1e-3 * np.eye(k) for k in (r, c)]  # what keeps the sums regular is added once, at the start
    regular = [m.load(plain(s) + e) for s, e in zip(state["sums"], ridge, strict=True)]
    state["bases"] = tuple(orthonormal(m.matmul(s, q), m) for s, q in zip(regular, (left, right), strict=True))
    return p * (1 - LR * WD) - LR / (1 - 0.9**t) * u


CODES = np.linspace(-1, 1, 256)
_MIDDLE = (CODES[1:] + CODES[:-1]) / 2


def _code(x: Counted) -> int:
    """The nearest of 256 codes, found by halving: 8 comparisons."""
    low, high = 0, 255
    for _ in range(8):
        middle = (low + high) // 2
        if call("gt", x, float(_MIDDLE[middle])).value:
            low = middle + 1
        else:
            high = middle
    return low


def adam8bit(p: Array, g: Array, state: dict[str, Any], m: Bench, *, block: int, inside: Callable[..., Array]) -> Array:
    """Adam on moments that are read from codes, and become codes again."""
    for name in "mv":
        if name in state:
            codes, scales = state[name]
            state[name] = (m.load(CODES[codes]).ravel() * np.repeat(scales, block)[: p.size]).reshape(p.shape)
    p = inside(p, g, state, m)
    for name in "mv":
        flat = state[name].ravel()
        blocks = [flat[i : i + block] for i in range(0, flat.size, block)]
        scales = [m.largest(each("abs")(b), (0,)).ravel()[0].value for b in blocks]
        scaled = flat / np.repeat(scales, block)[: flat.size]
        state[name] = (np.array([_code(x) for x in scaled]).reshape(p.shape), np.array(scales))
    return p
