"""Small worked graphs as plain programs on NumPy arrays of numbers that count; their sums start from the first term.

Each takes a `Machine` and the arrays of the graph's arguments, in order, and yields what the graph yields.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symacct.testing.counting import call
from verify.counted_arrays import Array, Machine


def each(function: str, *arrays: Any) -> Array:
    """Call a named function element by element."""
    return np.frompyfunc(lambda *values: call(function, *values), len(arrays), 1)(*arrays)


def silu(x: Array) -> Array:
    return x * each("sigmoid", x)


def softmax(m: Machine, x: Array) -> Array:
    powers = each("exp", x - m.largest(x, (-1,)))
    return powers / m.sums(powers, (-1,))


def deep_network(_: Machine, x: Array, weights: Array) -> Array:
    for w in weights:
        x = each("max", x @ w, 0)
    return x


def gated_mlp(_: Machine, x: Array, gate: Array, up: Array, down: Array) -> Array:
    return (silu(x @ gate) * (x @ up)) @ down


def multi_head_attention(m: Machine, x: Array, *weights: Array) -> Array:
    wq, wk, wv, wo = weights

    def heads(rows: Array) -> list[Array]:
        q, k, v = ([rows @ w[:, head] for head in range(w.shape[1])] for w in (wq, wk, wv))
        weights = [softmax(m, a @ b.T * wq.shape[-1] ** -0.5) for a, b in zip(q, k, strict=True)]
        return [w @ c for w, c in zip(weights, v, strict=True)]

    return np.stack([np.concatenate(heads(rows), axis=1) @ wo.reshape(-1, wo.shape[-1]) for rows in x])


def sliding_window_attention(m: Machine, x: Array, *rest: Any) -> Array:
    """Each query and the keys that it sees, nothing else."""
    wq, wk, wv, wo, w = rest

    def head(q: Array, k: Array, v: Array) -> Array:
        out = []
        for i, query in enumerate(q):
            seen = slice(max(0, i + 1 - w), i + 1)
            out.append(softmax(m, (k[seen] @ query * wq.shape[-1] ** -0.5)[None])[0] @ v[seen])
        return np.stack(out)

    def heads(rows: Array) -> list[Array]:
        return [head(*(rows @ p[:, i] for p in (wq, wk, wv))) for i in range(wq.shape[1])]

    return np.stack([np.concatenate(heads(rows), axis=1) @ wo.reshape(-1, wo.shape[-1]) for rows in x])


def linear_attention(m: Machine, x: Array, *weights: Array) -> Array:
    wq, wk, wv, wo = weights

    def feature(y: Array) -> Array:
        above, below = y + 1, each("exp", y)
        return np.where([[c.value for c in row] for row in each("gt", y, 0)], above, below)

    def head(rows: Array, i: int) -> Array:
        q, k, v = feature(rows @ wq[:, i]), feature(rows @ wk[:, i]), rows @ wv[:, i]
        return (q @ (k.T @ v)) / (q @ m.sums(k, (0,))[0])[:, None]

    heads = range(wq.shape[1])
    joined = [np.concatenate([head(rows, i) for i in heads], axis=1) for rows in x]
    return np.stack([rows @ wo.reshape(-1, wo.shape[-1]) for rows in joined])


def lstm(_: Machine, x: Array, hidden: Array, memory: Array, *weights: Array) -> tuple[Array, Array]:
    w_input, w_hidden, b_input, b_hidden = weights
    states = []
    for t in range(x.shape[1]):
        gates = (x[:, t] @ w_input.T + b_input) + (hidden @ w_hidden.T + b_hidden)
        keep, forget, candidate, out = np.split(gates, 4, axis=1)
        memory = each("sigmoid", forget) * memory + each("sigmoid", keep) * each("tanh", candidate)
        hidden = each("sigmoid", out) * each("tanh", memory)
        states.append(hidden)
    return np.stack(states, axis=1), hidden, memory


def gru(_: Machine, x: Array, hidden: Array, *weights: Array) -> tuple[Array, Array]:
    w_input, w_hidden, b_input, b_hidden = weights
    states = []
    for t in range(x.shape[1]):
        reset, update, new = np.split(x[:, t] @ w_input.T + b_input, 3, axis=1)
        by_reset, by_update, by_new = np.split(hidden @ w_hidden.T + b_hidden, 3, axis=1)
        update = each("sigmoid", update + by_update)
        new = each("tanh", new + each("sigmoid", reset + by_reset) * by_new)
        hidden = (1 - update) * new + update * hidden
        states.append(hidden)
    return np.stack(states, axis=1), hidden


PROGRAMS: dict[str, Callable[..., Any]] = {
    "relu": lambda _, x: each("max", x, 0),
    "dot": lambda _, x, y: x @ y,
    "matrix_vector": lambda _, a, x: a @ x,
    "matmul": lambda _, a, b: a @ b,
    "linear": lambda _, x, w, bias: x @ w + bias,
    "lora_linear": lambda _, x, w, down, up: x @ w + (x @ down * 0.5) @ up,
    "deep_network": deep_network,
    "gated_mlp": gated_mlp,
    "multi_head_attention": multi_head_attention,
    "sliding_window_attention": sliding_window_attention,
    "linear_attention": linear_attention,
    "lstm": lstm,
    "gru": gru,
}
