"""A step of training: forward, backward and update counted, and the memory with its peak, of GPT-2.

The peer counts the FLOPs of matrix products of both passes, at sizes that are numbers, by torch's counter on meta
tensors, where both must give the same. Ours are closed forms of all operations, bytes and memory besides. The second
comparison is ours with 1,000 layers against ours with 12.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

import symacct as sa
from bench.fresh import forget_patterns
from bench.graphs import block
from bench.rounds import Comparison, Turn, hand_back, interleave

ROUNDS = 10
SECONDS = 0.1
SIZES = {"b": 1, "s": 1024, "d": 768, "v": 50257}


def gpt2(
    tokens: "b s",
    table: "v d",
    places: "1024 d",
    *,
    norm: "2 d",
    norms: "L 4 d",
    qkv: "L d 3*d",
    out: "L d d",
    up: "L d 4*d",
    down: "L 4*d d",
) -> Any:
    layers = {"norms": norms, "qkv": qkv, "out": out, "up": up, "down": down}
    x = sa.repeat(norms.shape[0], block, table[tokens] + places[: tokens.shape[1]], xs=layers)
    return sa.layer_norm(x, x.shape[-1:], norm[0], norm[1]) @ table.T


PARAMS = ("table", "places", "norm", "norms", "qkv", "out", "up", "down")


def ours(layers: int | None) -> Any:
    account = sa.account(gpt2, params=PARAMS, sizes={} if layers is None else {"L": layers})
    step = account.training(optimizer="adamw", policy="bf16")
    return step, step.step_total("flops"), step.step_total("bytes"), step.memory.by_role, step.memory.peaks


def passes(_: None) -> Any:
    account = sa.account(gpt2, params=PARAMS)
    step = account.training()
    return step.total.total("flops"), step.total.total("bytes"), account.residuals().total()


def theirs(tensors: dict[str, torch.Tensor]) -> int:
    with FlopCounterMode(display=False) as counter:
        gpt2(**tensors).sum().backward()
    return counter.get_total_flops()


def meta() -> dict[str, torch.Tensor]:
    """Build what the peer counts on; not on the clock."""
    graph = sa.account(gpt2, params=PARAMS, sizes={**SIZES, "L": 12}).graph
    made = {}
    for tensor in (graph.tensors[i] for i in graph.inputs):
        kind = torch.int64 if tensor.dtype == "int64" else torch.float32
        made[tensor.name] = torch.empty(tensor.shape, dtype=kind, device="meta", requires_grad=tensor.role == "param")
    return made


def compare() -> list[Comparison]:
    tensors = meta()
    counted, there = ours(12)[0].total.at(sizes=SIZES).matmul_flops, theirs(tensors)
    if counted != there:
        raise SystemExit(f"a step of GPT-2: {counted} here, {there} by torch")
    turns: dict[str, Turn] = {"ours": (ours, [None]), "passes": (passes, [None]), "torch": (theirs, [tensors])}
    turns |= {"12": (ours, [12]), "1000": (ours, [1000])}
    samples = interleave([turns] * (1 + ROUNDS), forget_patterns)
    group = "a step of training; peer: torch's counter, meta tensors"
    return [
        Comparison(group, "GPT-2, passes and kept", samples["passes"], samples["torch"], seconds=SECONDS),
        Comparison(group, "GPT-2 with its memory", samples["ours"], samples["torch"], seconds=SECONDS),
        Comparison(
            "1,000 layers; peer: ours with 12", "GPT-2 with its memory", samples["1000"], samples["12"], at_most=1.5
        ),
    ]


if __name__ == "__main__":
    hand_back(compare())
