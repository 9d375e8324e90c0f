"""One function, two worlds: what is recorded, saved, read back and run is what the function does on torch tensors."""

from __future__ import annotations

import json

import numpy as np
import pytest

import symacct as sa
from symacct.graph import Graph

torch = pytest.importorskip("torch")

from symacct.eager.run import run  # noqa: E402

SIZES = {"b": 2, "s": 4, "d": 6, "v": 11, "k": 3, "w": 2}


def arranged(x: "b s d"):
    left, right = sa.chunk(x, 2, axis=-1)
    x = sa.concat([right, sa.flip(left, (1,))], axis=2)
    first, rest = sa.split(x, [1, x.shape[1] - 1], axis=1)
    x = sa.concat([sa.roll(rest, 1, 1), first], axis=1)
    return sa.tile(sa.pad(sa.stack([x, x], axis=1), (1, 0, 2, 1), 3.0), (1, 1, 2, 1))


def moved(x: "b s d"):
    y = sa.cast(sa.clone(x.transpose(1, 2)), "fp64")
    y = sa.transfer(sa.contiguous(sa.detach(y).transpose(1, 2)), "cpu")
    return sa.tril(y, 1) + sa.triu(y, -1)


def attended(x: "b s d", w: int):
    scores = x @ x.transpose(-2, -1)
    s = scores.shape[-1]
    seen = sa.causal_mask(s, like=x) & sa.window_mask(s, window=w, like=x)
    return (
        sa.where(seen, scores, -1.0) + sa.full((s, s), 2.0, like=x) + sa.zeros((s,), like=x) + sa.ones((s, 1), like=x)
    )


def looked_up(tokens: "b s", table: "v d"):
    x = sa.embedding(tokens, table)
    best = sa.argmax(x, axis=-1, keepdims=True)
    top, where = sa.top_k(x, 3, axis=-1)
    ordered, _ = sa.sort(sa.gather(x, where, axis=-1), axis=1)
    return sa.scatter_add(x, where, ordered + top, axis=2), sa.one_hot(best, x.shape[-1]), table[sa.arange(3, like=x)]


def scanned(a: "b s d", x: "b s d", h: "b d"):
    y = sa.linear_recurrence(a, x, axis=1, initial=h) + sa.cumsum(x, axis=1)
    y = y + sa.linear_recurrence(a[:, :, :1], x, axis=1, method="parallel", reverse=True)
    return sa.associative_scan(y, "max", axis=1)


def scaled(q: "b s d", x: "s d"):
    """Numbers made of sizes, and numpy's, wherever an operation takes a number."""
    s, d = x.shape
    q = sa.scaled_dot_product_attention(q, q, q, scale=d**-0.5)
    x = sa.layer_norm(x, (d,), eps=1 / d) + sa.rms_norm(x, (d,), eps=1 / s)
    x = sa.where(x > 1 / d, x, d) * np.float32(0.5) + sa.minimum(sa.maximum(x, 1 / d), d)
    return q + sa.pad(x, (1, 1), value=d)[:, 1:-1] + sa.full((s, d), 1 / d, like=x)


@pytest.mark.parametrize("function", [arranged, moved, attended, looked_up, scanned, scaled])
def test_graphs_run_as_functions_do(function):
    values = {"w": SIZES["w"]} if function is attended else {}
    graph = sa.account(function, **values).graph
    again = Graph.from_json(json.loads(json.dumps(graph.to_json())))
    assert again == graph
    generator = torch.Generator().manual_seed(1)
    inputs = []
    for i in graph.inputs:
        tensor = graph.tensors[i]
        shape = [SIZES[str(s)] for s in tensor.shape]
        integers = tensor.dtype == "int64"
        inputs.append(
            torch.randint(0, SIZES["v"], shape, generator=generator)
            if integers
            else torch.randn(shape, generator=generator)
        )
    made = function(*inputs, **values)
    made = made if isinstance(made, tuple) else (made,)
    for ours, theirs in zip(run(again, SIZES, inputs=inputs).outputs, made, strict=True):
        torch.testing.assert_close(ours, theirs)
