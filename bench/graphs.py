"""A function to its FLOPs and bytes, against torch's `FlopCounterMode` on the same function and meta tensors.

The peer counts the FLOPs of matrix products at sizes that are numbers, where both must give the same; ours are closed
forms in named sizes, of all operations, and bytes too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import einops
import torch
from torch.utils.flop_counter import FlopCounterMode

import symacct as sa
from bench.fresh import forget_patterns
from bench.rounds import Comparison, Turn, hand_back, interleave

ROUNDS = 10
SECONDS = 0.05
GROUP = "a function; peer: torch's counter, meta tensors"
LAYERS = HEADS = 12


def deep(x: "b d", w: "d d") -> Any:
    for _ in range(1000):
        x = sa.relu(x @ w)
    return x


def block(x: Any, layer: dict[str, Any]) -> Any:
    h = sa.layer_norm(x, x.shape[-1:], layer["norms"][0], layer["norms"][1])
    heads = einops.rearrange(h @ layer["qkv"], "b s (three h k) -> three b h s k", three=3, h=HEADS)
    scores = einops.einsum(heads[0], heads[1], "b h s k, b h t k -> b h s t") * 0.125
    weights = sa.softmax(sa.where(sa.causal_mask(x.shape[1], like=x), scores, -1e9))
    mixed = einops.einsum(weights, heads[2], "b h s t, b h t k -> b h s k")
    x = x + einops.rearrange(mixed, "b h s k -> b s (h k)") @ layer["out"]
    h = sa.layer_norm(x, x.shape[-1:], layer["norms"][2], layer["norms"][3])
    return x + sa.gelu(h @ layer["up"], approximate="tanh") @ layer["down"]


def repeated(x: Any, layers: dict[str, Any]) -> Any:
    return sa.repeat(LAYERS, block, x, xs=layers)


def unrolled(x: Any, layers: dict[str, Any]) -> Any:
    for i in range(LAYERS):
        x = block(x, {name: stacked[i] for name, stacked in layers.items()})
    return x


def gpt2(
    run: Callable[..., Any],
    tokens: "b s",
    table: "v d",
    places: "1024 d",
    *,
    norm: "2 d",
    norms: "12 4 d",
    qkv: "12 d 3*d",
    out: "12 d d",
    up: "12 d 4*d",
    down: "12 4*d d",
) -> Any:
    layers = {"norms": norms, "qkv": qkv, "out": out, "up": up, "down": down}
    x = run(table[tokens] + places[: tokens.shape[1]], layers)
    return sa.layer_norm(x, x.shape[-1:], norm[0], norm[1]) @ table.T


class Case(NamedTuple):
    title: str
    function: Callable[..., Any]
    sizes: dict[str, int]


CASES = (
    Case("2,000 operations", deep, {"b": 64, "d": 1024}),
    Case("GPT-2, a repeat", partial(gpt2, repeated), {"b": 1, "s": 1024, "d": 768, "v": 50257}),
    Case("GPT-2, unrolled", partial(gpt2, unrolled), {"b": 1, "s": 1024, "d": 768, "v": 50257}),
)


def ours(case: Case) -> Any:
    account = sa.account(case.function)
    return account.total("flops"), account.total("bytes")


def theirs(asked: tuple[Case, dict[str, torch.Tensor]]) -> int:
    case, tensors = asked
    with FlopCounterMode(display=False) as counter:
        case.function(**tensors)
    return counter.get_total_flops()


def meta(case: Case) -> dict[str, torch.Tensor]:
    """Build what the peer counts on; not on the clock."""
    graph = sa.account(case.function, sizes=case.sizes).graph
    kinds = {"int64": torch.int64, None: torch.float32}
    inputs = [graph.tensors[i] for i in graph.inputs]
    return {t.name: torch.empty(t.shape, dtype=kinds[t.dtype], device="meta") for t in inputs}


def compare(case: Case) -> Comparison:
    asked = (case, meta(case))
    counted, there = sa.account(case.function).at(sizes=case.sizes).matmul_flops, theirs(asked)
    if counted != there:
        raise SystemExit(f"{case.title}: {counted} here, {there} by torch")
    turns: dict[str, Turn] = {"ours": (ours, [case]), "torch": (theirs, [asked])}
    samples = interleave([turns] * (1 + ROUNDS), forget_patterns)
    return Comparison(GROUP, case.title, samples["ours"], samples["torch"], seconds=SECONDS)


if __name__ == "__main__":
    hand_back([compare(case) for case in CASES])
