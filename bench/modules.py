"""GPT-2 as an `nn.Module`, which torch's counter, fvcore and DeepSpeed's profiler count at sizes that are numbers.

Ours is the same model as a function, and closed forms. Timed are all of them on meta tensors, where nobody pays for
executing the model; what each counts is told for meta tensors and for a CPU's, with attention written out and with
torch's own. fvcore and DeepSpeed count multiply-accumulates, which are doubled here. What is executed of products:

    L*(24*s*d^2 + 4*s^2*d) + 2*s*d*v      projections and MLPs, scores and values, the head
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import einops
import torch
from torch import nn
from torch.nn.functional import gelu, scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode

import symacct as sa
from bench.fresh import forget_patterns
from bench.rounds import Comparison, Count, Turn, hand_back, interleave

ROUNDS = 10
SECONDS = 0.05
GROUP = "GPT-2, meta tensors; peer: on the same as an nn.Module"
LAYERS = HEADS = 12
WIDTH, VOCABULARY, PLACES = 768, 50257, 1024
LENGTHS = {"meta": 1024, "CPU": 128}
ATTENTIONS = ("written out", "sdpa")


class Block(nn.Module):
    """A block of GPT-2, with attention written out or torch's own."""

    def __init__(self, attention: str) -> None:
        super().__init__()
        self.attention = attention
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("seen", torch.ones(PLACES, PLACES, dtype=torch.bool).tril())

    def mixed(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        if self.attention == "sdpa":
            return scaled_dot_product_attention(q, k, v, is_causal=True)
        length = q.shape[-2]
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        return scores.masked_fill(~self.seen[:length, :length], float("-inf")).softmax(-1) @ v

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.out(self.mixed(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    """GPT-2 with its head tied to the embedding."""

    def __init__(self, attention: str) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(PLACES, WIDTH)
        self.blocks = nn.Sequential(*(Block(attention) for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.table.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.table(tokens) + self.places(places))))


def block(attention: str, x: Any, layer: dict[str, Any]) -> Any:
    """Return the same block on symbolic tensors."""
    h = sa.layer_norm(x, x.shape[-1:], layer["norms"][0], layer["norms"][1]) @ layer["qkv"] + layer["qkv_bias"]
    heads = einops.rearrange(h, "b s (three h k) -> three b h s k", three=3, h=HEADS)
    q, k, v = heads[0], heads[1], heads[2]
    if attention == "sdpa":
        mixed = sa.scaled_dot_product_attention(q, k, v, is_causal=True)
    else:
        scores = q @ k.mT * q.shape[-1] ** -0.5
        mixed = sa.softmax(sa.where(sa.causal_mask(x.shape[1], like=x), scores, float("-inf"))) @ v
    x = x + einops.rearrange(mixed, "b h s k -> b s (h k)") @ layer["out"] + layer["out_bias"]
    h = sa.layer_norm(x, x.shape[-1:], layer["norms"][2], layer["norms"][3]) @ layer["up"] + layer["up_bias"]
    return x + sa.gelu(h, approximate="tanh") @ layer["down"] + layer["down_bias"]


def gpt2(
    attention: str,
    tokens: "b s",
    table: "v d",
    places: "1024 d",
    *,
    norm: "2 d",
    norms: "12 4 d",
    qkv: "12 d 3*d",
    qkv_bias: "12 3*d",
    out: "12 d d",
    out_bias: "12 d",
    up: "12 d 4*d",
    up_bias: "12 4*d",
    down: "12 4*d d",
    down_bias: "12 d",
) -> Any:
    layers = {"norms": norms, "qkv": qkv, "qkv_bias": qkv_bias, "out": out, "out_bias": out_bias}
    layers |= {"up": up, "up_bias": up_bias, "down": down, "down_bias": down_bias}
    x = sa.repeat(LAYERS, partial(block, attention), table[tokens] + places[: tokens.shape[1]], xs=layers)
    return sa.layer_norm(x, x.shape[-1:], norm[0], norm[1]) @ table.T


def ours(attention: str) -> sa.Account:
    account = sa.account(partial(gpt2, attention))
    account.total("flops")
    account.total("bytes")
    return account


def by_torch(model: nn.Module, tokens: torch.Tensor) -> int:
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(tokens)
    return counter.get_total_flops()


def by_fvcore(model: nn.Module, tokens: torch.Tensor) -> int:
    from fvcore.nn import FlopCountAnalysis

    found = FlopCountAnalysis(model, tokens)
    found.unsupported_ops_warnings(enabled=False)
    found.uncalled_modules_warnings(enabled=False)
    return 2 * int(found.total())


def by_deepspeed(model: nn.Module, tokens: torch.Tensor) -> int:
    from deepspeed.profiling.flops_profiler import FlopsProfiler

    profiler = FlopsProfiler(model)
    profiler.start_profile()
    with torch.no_grad():
        model(tokens)
    macs = profiler.get_total_macs()
    profiler.end_profile()
    return 2 * int(macs)


PEERS: dict[str, Callable[[nn.Module, torch.Tensor], int]] = {
    "torch": by_torch,
    "fvcore": by_fvcore,
    "DeepSpeed": by_deepspeed,
}


def asked(attention: str, device: str) -> tuple[nn.Module, torch.Tensor]:
    """Build what the peers count on; not on the clock."""
    with torch.device(device.lower()):
        return Model(attention).eval(), torch.zeros(1, LENGTHS[device], dtype=torch.int64)


def executed(s: int) -> int:
    return LAYERS * (24 * s * WIDTH**2 + 4 * s**2 * WIDTH) + 2 * s * WIDTH * VOCABULARY


def counted(call: Callable[[], int]) -> tuple[int | None, str]:
    """Return what a peer counts, or why it does not: it is not installed, or it refuses."""
    try:
        return call(), ""
    except Exception as error:  # noqa: BLE001 - whatever stops a peer is what there is to tell of it
        return None, f"{type(error).__name__}: {error}".splitlines()[0]


def counts() -> Iterator[Count]:
    """Yield what each counts of the products of both models on both devices."""
    for attention in ATTENTIONS:
        account = ours(attention)
        for device, length in LENGTHS.items():
            title, right = f"{attention}, {device}", executed(length)
            sizes = {"b": 1, "s": length, "d": WIDTH, "v": VOCABULARY}
            yield Count(title, right, "this", int(account.at(sizes=sizes).matmul_flops))
            module = asked(attention, device)
            for name, count in PEERS.items():
                yield Count(title, right, name, *counted(partial(count, *module)))


def compare(found: list[Count]) -> Iterator[Comparison]:
    """Yield times beside each peer that can count the model with its attention written out."""
    wrong = [c for c in found if c.by == "this" and c.flops != c.executed]
    if wrong:
        raise SystemExit(f"{wrong[0].title}: {wrong[0].flops} here, {wrong[0].executed} by hand")
    model = asked("written out", "meta")
    able = [c.by for c in found if c.title == "written out, meta" and c.flops is not None and c.by != "this"]
    turns: dict[str, Turn] = {name: (lambda with_, name=name: PEERS[name](*with_), [model]) for name in able}
    samples = interleave([{"ours": (ours, ["written out"]), **turns}] * (1 + ROUNDS), forget_patterns)
    for name in able:
        yield Comparison(GROUP, name, samples["ours"], samples[name], seconds=SECONDS)


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):  # DeepSpeed logs to standard output
        all_counts = list(counts())
        comparisons = list(compare(all_counts))
    hand_back(comparisons, all_counts)
