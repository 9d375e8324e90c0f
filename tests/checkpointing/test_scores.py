"""Attention scores that are not kept: what that saves, what comes back, and published figures of it."""

from __future__ import annotations

from pathlib import Path

import einops
import pytest
import sympy

import symacct as sa
from symacct.errors import GraphError
from symacct.expr import to_sympy

GRAPHS = Path(__file__).resolve().parents[2] / "graphs"


def product(x: "b d", w: "d d"):
    return sa.relu(x @ w)


def block_2022(x: "s b d", qkv: "d 3 a k", out: "a k d", up: "d f", down: "f d"):
    """The block whose activations are s*b*h*(34 + 5*a*s/h) bytes: dropout after the softmax and each branch."""
    normal = sa.layer_norm(x, (x.shape[-1],))
    three = einops.einsum(normal, qkv, "s b d, d n a k -> n b a s k")
    q, k, v = three[0], three[1], three[2]
    scores = einops.einsum(q, k, "b a s k, b a t k -> b a s t")
    weights = sa.dropout(sa.softmax(scores), 0.1)
    heads = einops.einsum(weights, v, "b a s k, b a k d -> s b a d")
    x = x + sa.dropout(einops.einsum(heads, out, "s b a k, a k d -> s b d"), 0.1)
    hidden = sa.gelu(sa.layer_norm(x, (x.shape[-1],)) @ up)
    return x + sa.dropout(hidden @ down, 0.1)


@pytest.mark.claim("D12")
@pytest.mark.parametrize(("device", "mask", "statistic"), [("cuda", 1, 4), ("cpu", 2, 2)])
def test_without_scores_the_term_of_their_square_is_gone(device: str, mask: int, statistic: int) -> None:
    s, b, d, a = sympy.symbols("s b d a")
    account = sa.account(block_2022, params=["qkv", "out", "up", "down"], dtype="bf16", k="d/a", f="4*d")
    options = {"wrt": ["x", "qkv", "out", "up", "down"], "device": device}
    none, selective = (sa.checkpoint(account, name, **options) for name in ("none", "selective"))
    # softmax, its mask, what dropout makes of it: 2 + mask + 2 bytes a pair and head
    assert sympy.expand(none.held - selective.held - (4 + mask) * a * b * s**2) == 0
    # s*b*h*34 with masks of a byte: 11 of attention, 19 of the MLP, 4 of the norms; and mean and rstd of two norms
    assert sympy.expand(selective.held - (32 + 2 * mask) * s * b * d - 4 * statistic * b * s) == 0
    # the product that makes the scores runs again; the one that uses them saves its factors first
    assert selective.recomputed_matmul == 2 * b * s**2 * d
    assert sa.checkpoint(account, "selective", early_stop=False, **options).recomputed_matmul == 4 * b * s**2 * d


def test_selective_over_layers_brings_back_the_scores_of_one_block() -> None:
    account = sa.load_worked(GRAPHS / "gpt2.py").account(dtype="bf16")
    none, selective = (sa.checkpoint(account, name) for name in ("none", "selective"))
    L, b, h, s, k, d, f = sympy.symbols("L b h s k d f")
    scores = 2 * b * h * s**2 + s**2  # the weights, and a boolean mask of pairs
    assert sympy.expand(none.held - selective.held - L * scores) == 0
    (block,) = [part for part in selective.parts if part.transient != 0]
    copies = 3 * 2 * b * s * h * k  # of queries, keys and values, laid out by heads
    # gone by then: the heads, both sides of the second norm and its statistics, both sides of the GELU
    gone = 2 * b * s * (h * k + 2 * d + 2 + 2 * f)
    assert sympy.expand(to_sympy(block.transient) - (scores + copies - gone)) == 0
    assert selective.recomputed_matmul == 2 * L * b * h * s**2 * k
    scale_and_softmax = sympy.expand(selective.recomputed - selective.recomputed_matmul)
    assert scale_and_softmax == 6 * L * b * h * s**2


PUBLISHED = {"175B": (12288, 96, 2048), "530B": (20480, 128, 2048), "22B": (6144, 64, 2048)}


@pytest.mark.parametrize(
    ("model", "term", "saved", "overhead"),
    [("175B", 80, 0.70, 0.0090), ("530B", 64, 0.65, 0.0055), ("22B", 106.7, 0.76, 0.0175)],
)
def test_published_figures_of_selective_recomputation(model: str, term: float, saved: float, overhead: float) -> None:
    """Row 63 of Korthikanti counts the core three times; here it is counted once."""
    h, a, s = PUBLISHED[model]
    account = sa.account(block_2022, params=["qkv", "out", "up", "down"], dtype="bf16", k="d/a", f="4*d")
    options = {"wrt": ["x", "qkv", "out", "up", "down"], "device": "cuda", "d": h, "a": a, "s": s, "b": 1}
    none, selective = (sa.checkpoint(account, name, early_stop=False, **options) for name in ("none", "selective"))
    one = s * h  # bytes are sbh*(34 + 5as/h), and 16bs of statistics
    assert float((none.held - selective.held) / one) == pytest.approx(term, abs=0.05)
    assert float(1 - selective.held / none.held) == pytest.approx(saved, abs=0.006)
    step = 3 * none.work["matmul_flops"].forward
    assert float(selective.recomputed_matmul / step) == pytest.approx(overhead, abs=0.0001)


def test_there_must_be_scores_to_drop() -> None:
    with pytest.raises(GraphError, match="no softmax between two products"):
        sa.checkpoint(sa.account(product, params=["w"]), "selective")

    def fused(q: "b h s k", w: "k k"):
        return sa.scaled_dot_product_attention(q @ w, q, q)

    with pytest.raises(GraphError, match="attention is fused and keeps none"):
        sa.checkpoint(sa.account(fused, params=["w"]), "selective")
