"""What is timed: operations of the gallery, each a function that is both accounted for and run, over a stated grid.

The grid of an operation is along one of its sizes, such that it moves given shares of the last cache (so that it is the
same question on every device), or, of what computes much for what it moves, in given numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import einops

import symacct as sa
from symacct.accounting import Account
from symacct.expr import evaluate

SHARES = (0.3, 1, 3, 4.5, 6, 8)
"""Bytes moved, as multiples of the last cache; from 4 on no cache helps."""


@dataclass(frozen=True)
class Case:
    """One operation, with its sizes but one, and the values of that one or the shares of the cache that it moves."""

    family: str
    name: str
    run: Callable[..., Any]
    free: str
    fixed: Mapping[str, int]
    values: tuple[int, ...] = ()
    large: tuple[int, ...] = ()
    """The values on an accelerator, where they are others."""

    def account(self, dtype: str, convention: Any = "2n") -> Account:
        return sa.account(self.run, dtype=dtype, layout="torch", fuse="flash", convention=convention)

    def sizes(self, device: str, dtype: str, cache: int) -> list[dict[str, int]]:
        """Return the grid."""
        values = self.large if device == "cuda" and self.large else self.values
        if not values:
            bytes_of = self.account(dtype).total("bytes")
            values = tuple(_moving(bytes_of, self.free, self.fixed, round(share * cache)) for share in SHARES)
        return [{**self.fixed, self.free: n} for n in values]


def _moving(total: Any, free: str, fixed: Mapping[str, int], wanted: int) -> int:
    """Return the first size at which so many bytes are moved."""
    low, high = 1, 1
    while evaluate(total, {**fixed, free: high}) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if evaluate(total, {**fixed, free: middle}) < wanted else (low, middle)
    return high


def relu(x: "n"):
    return sa.relu(x)


def gelu_tanh(x: "n"):
    return sa.gelu(x, approximate="tanh")


def gelu(x: "n"):
    return sa.gelu(x)


def exp(x: "n"):
    return sa.exp(x)


def tanh(x: "n"):
    return sa.tanh(x)


def sigmoid(x: "n"):
    return sa.sigmoid(x)


def silu(x: "n"):
    return sa.silu(x)


def add(x: "n", y: "n"):
    return x + y


def mul(x: "n", y: "n"):
    return x * y


def bias(x: "n d", y: "d"):
    return x + y


def sum_rows(x: "n d"):
    return einops.reduce(x, "n d -> n", "sum")


def sum_columns(x: "n d"):
    return einops.reduce(x, "n d -> d", "sum")


def mean_rows(x: "n d"):
    return einops.reduce(x, "n d -> n", "mean")


def softmax(x: "n d"):
    return sa.softmax(x, -1)


def log_softmax(x: "n d"):
    return sa.log_softmax(x, -1)


def layer_norm(x: "n d", scale: "d", shift: "d"):
    return sa.layer_norm(x, [x.shape[-1]], scale, shift)


def rms_norm(x: "n d", scale: "d"):
    return sa.rms_norm(x, [x.shape[-1]], scale)


def transpose(x: "n d"):
    return sa.contiguous(einops.rearrange(x, "n d -> d n"))


def heads(x: "b s h k"):
    return sa.contiguous(einops.rearrange(x, "b s h k -> b h s k"))


def concat(x: "n d", y: "n d"):
    return sa.concat([x, y], 0)


def dot(x: "n", y: "n"):
    return einops.einsum(x, y, "n, n ->")


def outer(x: "n", y: "m"):
    return einops.einsum(x, y, "n, m -> n m")


def matrix_vector(a: "m n", x: "n"):
    return einops.einsum(a, x, "m n, n -> m")


def square(a: "n n", b: "n n"):
    return a @ b


def linear(x: "b d", w: "d k"):
    return x @ w


def batched(a: "g n n", b: "g n n"):
    return a @ b


def conv(x: "b c h w", kernel: "o c 3 3"):
    return sa.conv2d(x, kernel, padding=1)


def attention(q: "b h s k", k: "b h s k", v: "b h s k"):
    return sa.scaled_dot_product_attention(q, k, v)


def mlp(x: "b d", up: "d f", down: "f d"):
    return sa.gelu(x @ up, approximate="tanh") @ down


def gated_mlp(x: "b d", gate: "d f", up: "d f", down: "f d"):
    return (sa.silu(x @ gate) * (x @ up)) @ down


def scores(q: "b h s k", k: "b h s k", v: "b h s k"):
    weights = sa.softmax(einops.einsum(q, k, "b h s k, b h t k -> b h s t") / 8, -1)
    return einops.einsum(weights, v, "b h s t, b h t k -> b h s k")


ROW = {"d": 1000}
LINEAR_ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512)
LARGE_ROWS = (1, 8, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)


def _element_wise(*functions: Callable[..., Any]) -> list[Case]:
    return [Case("pointwise", f.__name__, f, "n", {}) for f in functions]


def _by_row(family: str, *functions: Callable[..., Any]) -> list[Case]:
    return [Case(family, f.__name__, f, "n", ROW) for f in functions]


CASES: Sequence[Case] = (
    *_element_wise(relu, gelu_tanh, gelu, exp, tanh, sigmoid, silu, add, mul),
    *_by_row("pointwise", bias),
    *_by_row("reductions", sum_rows, sum_columns, mean_rows),
    *_by_row("normalization", softmax, log_softmax, layer_norm, rms_norm),
    *_by_row("copies", transpose, concat),
    Case("copies", "heads", heads, "b", {"s": 128, "h": 8, "k": 64}),
    Case("vectors", "dot", dot, "n", {}),
    Case("vectors", "outer", outer, "n", {"m": 3000}),
    Case("vectors", "matrix_vector", matrix_vector, "n", {"m": 4000}),
    Case(
        "products", "square", square, "n", {},
        (200, 300, 400, 600, 800, 1200, 1600, 2400), (1000, 1500, 2300, 3400, 5000, 7500),
    ),
    Case("products", "linear", linear, "b", {"d": 4096, "k": 4096}, LINEAR_ROWS, LARGE_ROWS),
    Case("products", "batched", batched, "g", {"n": 128}, (10, 30, 80, 200, 350), (100, 300, 1000, 3000, 9000)),
    Case(
        "convolution", "conv", conv, "b", {"c": 32, "o": 48, "h": 56, "w": 56},
        (1, 2, 3, 5, 8, 12, 18), (16, 32, 64, 128, 256, 512),
    ),
    Case(
        "attention", "attention", attention, "s", {"b": 1, "h": 8, "k": 64},
        (128, 256, 400, 700, 1000, 1400, 2000), (1024, 2048, 3000, 4096, 6000, 8192),
    ),
    Case(
        "graphs", "mlp", mlp, "b", {"d": 1024, "f": 4096},
        (4, 16, 40, 100, 200, 350), (16, 128, 512, 2048, 8192, 16384),
    ),
    Case(
        "graphs", "gated_mlp", gated_mlp, "b", {"d": 1024, "f": 2816},
        (4, 16, 40, 100, 200, 350), (16, 128, 512, 2048, 8192, 16384),
    ),
    Case(
        "graphs", "scores", scores, "s", {"b": 1, "h": 8, "k": 64},
        (128, 256, 400, 700, 1000, 1400), (512, 1024, 2048, 3000, 4096),
    ),
)  # fmt: skip
"""Every operation that is timed."""
