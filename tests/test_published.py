"""Worked graphs against numbers and forms that others published."""

from __future__ import annotations

import importlib.util
from functools import partial
from typing import Any

import pytest
import sympy

import symacct as sa
from symacct.accounting import Account
from symacct.expr import to_text
from verify.rooms.worked import WORKED, account_of, total

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch")


def of(name: str, **sizes: Any) -> Account:
    return WORKED[name].account(sizes=sizes)


def products(name: str, **sizes: Any) -> Any:
    return of(name, **sizes).matmul_flops


@pytest.mark.parametrize(
    ("name", "convention", "limit"),
    [
        pytest.param("relu", "2n", "1/4", marks=pytest.mark.claim("S44")),
        pytest.param("gelu", "2n", "5", marks=pytest.mark.claim("S45")),
        pytest.param("dot", "exact", "1/2", marks=pytest.mark.claim("S46")),
    ],
)
def test_intensities_of_vectors(name: str, convention: str, limit: str) -> None:
    assert WORKED[name].account(convention=convention).limit("n") == sympy.Rational(limit)


@pytest.mark.claim("S47", "S48", "S49")
def test_intensities_of_matrices() -> None:
    assert WORKED["matrix_vector"].account(sizes={"m": "n"}, convention="exact").limit("n") == 1
    square = WORKED["matmul"].account(sizes={"m": "n", "k": "n"}, convention="exact")
    assert sa.same(square.intensity, "(2*n - 1)/6")


@pytest.mark.claim("S52", "S54")
def test_the_lectures_deep_network() -> None:
    assert total(of("deep_network", d=8, L=3), "params") == 192
    assert of("deep_network", b=1024, d=256, L=1).matmul_flops == 134_217_728


@needs_torch
@pytest.mark.claim("S64")
def test_inference_holds_one_layer_and_training_all() -> None:
    """Beside the weights, at most three activations at a time; autograd keeps one a layer, and the input."""
    import torch

    b, d = 3, 5
    beside = set()
    for layers in (2, 6):
        graph = of("deep_network", b=b, d=d, L=layers).graph
        beside.add(graph.run({}, dtype="fp32").peak_bytes - 4 * layers * d * d)
        weights = [torch.randn(d, d, requires_grad=True) for _ in range(layers)]
        kept: dict[int, Any] = {}
        keep = partial(lambda seen, t: seen.setdefault(t.data_ptr(), t), kept)
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
            x = torch.randn(b, d)
            for w in weights:
                x = torch.relu(x @ w)
        activations = [t for at, t in kept.items() if at not in {w.data_ptr() for w in weights}]
        assert sum(t.numel() for t in activations) == b * d * (layers + 1)
    assert len(beside) == 1
    assert beside.pop() <= 4 * 3 * b * d


GPT2 = {"small": (12, 768, 12), "medium": (24, 1024, 16), "large": (36, 1280, 20), "XL": (48, 1600, 25)}


@pytest.mark.parametrize(
    ("size", "params"),
    [("small", 124_439_808), ("medium", 354_823_168), ("large", 774_030_080), ("XL", 1_557_611_200)],
)
def test_parameters_of_gpt2(size: str, params: int) -> None:
    layers, d, heads = GPT2[size]
    assert total(of("gpt2", L=layers, d=d, h=heads, k=d // heads, f=4 * d, v=50257, c=1024), "params") == params


def test_operations_of_gpt2_small() -> None:
    account = of("gpt2", b=1, s=512, L=12, d=768, h=12, k=64, f=3072, v=50257, c=1024)
    assert account.matmul_flops == 136_160_477_184


def test_a_gpt2_block() -> None:
    account = of("transformer", b=2, s=32, d=64, h=4, k=16, f=256)
    assert account.matmul_flops == 6_815_744
    assert total(account, "params") * 4 == 199_936


LLAMA = ("L", "d", "g", "r", "k", "f", "v")


@pytest.mark.parametrize(
    ("sizes", "params", "cache"),
    [
        pytest.param((32, 4096, 32, 1, 128, 11008, 32000), 6_738_415_616, 524_288, id="2 7B"),
        pytest.param((40, 5120, 40, 1, 128, 13824, 32000), 13_015_864_320, 819_200, id="2 13B"),
        pytest.param((80, 8192, 8, 8, 128, 28672, 32000), 68_976_648_192, 327_680, id="2 70B"),
        pytest.param((32, 4096, 8, 4, 128, 14336, 128256), 8_030_261_248, 131_072, id="3 8B"),
        pytest.param((80, 8192, 8, 8, 128, 28672, 128256), 70_553_706_496, 327_680, id="3 70B"),
        pytest.param((126, 16384, 8, 16, 128, 53248, 128256), 405_853_388_800, 516_096, id="3.1 405B"),
    ],
)
def test_parameters_and_cache_of_llama(sizes: tuple[int, ...], params: int, cache: int) -> None:
    """The cache is what one step reads more when it is a token longer, in 16 bits."""
    named = dict(zip(LLAMA, sizes, strict=True))
    assert total(of("llama", **named), "params") == params
    del named["v"]
    step = WORKED["decode_step"].account(sizes={"b": 1, **named}, traffic="compulsory")
    assert sympy.diff(step.bytes, "t") == cache


def test_operations_of_llama_70b() -> None:
    """A third of 6*B*S*(L*(3*D*F + 2*D*G*K*R + 2*D*G*K + 2*G*K*R*S) + D*V), torch's count of forward and backward."""
    account = of("llama", b=4, s=4096, L=80, d=8192, g=8, r=8, k=128, f=28672, v=128256)
    assert account.matmul_flops == 7_360_062_116_855_808 // 3


def test_a_decode_step_is_bound_by_its_cache() -> None:
    """As the cache grows, r products a byte: the queries that share a key."""
    step, least = account_of("decode_step"), account_of("decode_step", traffic="compulsory")
    assert sa.same(step.leading("t", of="matmul_flops") / least.leading("t", of="bytes"), "r")


PUBLISHED = {
    # the scaling book: training is three times a forward
    "gated MLP": (lambda: products("gated_mlp"), "18*b*s*d*f/3"),
    "attention": (lambda: products("multi_head_attention"), "(24*b*s*d*h*k + 12*b*s^2*h*k)/3"),
    "unembedding": (lambda: 2 * products("llama", L=1) - products("llama", L=2), "6*b*s*d*v/3"),
    "pairs as projections at T = 2*D": (lambda: products("multi_head_attention", s="2*d"), "2*(8*b*(2*d)*d*h*k)"),
    # Kaplan, with all pairs instead of half: 2*N + 4*n_layer*n_ctx*d_attn a token, no head
    "Kaplan": (lambda: products("gpt2", d="h*k", f="4*h*k").subs("v", 0), "b*s*(2*12*L*(h*k)^2 + 4*L*s*h*k)"),
    # Megatron
    "SwiGLU of 4*h": (lambda: products("gated_mlp", f="4*d") - products("mlp", f="4*d"), "8*b*s*d^2"),
    "grouped queries": (
        lambda: products("grouped_query_attention", d="g*r*k"),
        "4*b*s*(g*r*k)^2*(1 + 1/r) + 4*b*s^2*g*r*k",
    ),
    "pairs of latent attention, trained, causal": (
        lambda: sympy.diff(products("latent_attention"), "s", 2) / 2 * 3 / 2,
        "3*b*h*(n + r + v)",
    ),
}


@pytest.mark.parametrize("form", PUBLISHED)
def test_published_forms(form: str) -> None:
    ours, published = PUBLISHED[form]
    assert sa.same(ours(), published)


def test_a_state_space_scan() -> None:
    """Seven operations a state and step, as Megatron counts; the decay from its logarithm comes once."""
    (scan,) = (part for part in account_of("state_space").by("scope").parts if part.name == "scan")
    assert sa.same(to_text(scan.flops), "7*b*s*e*n + 2*e*n + b*s*e")


def test_parameters_of_latent_attention_in_deepseek_v3() -> None:
    account = of("latent_attention", d=7168, h=128, q=1536, c=512, n=128, r=64, v=128)
    assert total(account, "params") == 187_107_328


@pytest.mark.parametrize(("name", "macs"), [("lstm", 23_040), ("gru", 17_280)])
def test_recurrent_layers_of_8_and_16(name: str, macs: int) -> None:
    """Multiply-accumulates of a layer from 8 to 16, 5 steps, a batch of 3, of which most counters say 0."""
    assert products(name, b=3, s=5, d=8, h=16) == 2 * macs


def test_linear_attention_wins_on_long_sequences() -> None:
    linear = WORKED["linear_attention"].account(sizes={"v": "k"})
    comparison = sa.compare(linear, account_of("multi_head_attention"), of="matmul_flops")
    assert sa.same(comparison.difference, "4*b*h*s*k*(s - k - 1/2)")
