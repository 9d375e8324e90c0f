"""Published figures of activations: of one device, and of one among t that share tensors and sequences (Korthikanti).

Tensor parallelism runs the same block with a/t heads and f/t hidden units; sequence parallelism divides the rest among
the ranks too. Figures by their numbers in the list of published ones.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

import symacct as sa
from tests.checkpointing.test_scores import block_2022

PARAMS = ["qkv", "out", "up", "down"]
OPTIONS = {"wrt": ["x", *PARAMS], "device": "cuda"}
ACCOUNT = sa.account(block_2022, params=PARAMS, dtype="bf16")
MODELS = {"22B": (6144, 64), "175B": (12288, 96), "530B": (20480, 128), "1T": (25600, 160)}


def kept(*, without_scores=False, ranks=1):
    """Bytes of a block without statistics of norms, on one of `ranks` that share heads and hidden units."""
    form = ACCOUNT.residuals(**OPTIONS).without("statistic").bytes
    if without_scores:
        plans = [sa.checkpoint(ACCOUNT, name, **OPTIONS) for name in ("none", "selective")]
        form = form - plans[0].held + plans[1].held
    a, f, k, d = sympy.symbols("a f k d")
    shared = form.subs({a: a / ranks, f: f / ranks}, simultaneous=True)
    return sympy.expand(shared.subs({f: 4 * d, k: d / a}, simultaneous=True))


t = sympy.Symbol("t")


def test_a_block_on_one_device():
    """Figures 85, 89 and 90: sbh*(34 + 5as/h); 34*sbh without scores; 2*sbh where only what goes in is kept."""
    assert sa.same(kept(), "s*b*d*(34 + 5*a*s/d)")
    assert sa.same(kept(without_scores=True), "34*s*b*d")
    full = sa.checkpoint(ACCOUNT, "block", layers="L", **OPTIONS)
    assert sa.same(sympy.diff(full.memory, sympy.Symbol("L")), "2*s*b*d")


def test_ranks_that_share_tensors_and_sequences():
    """Figures 86, 87 and 89: sbh*(10 + 24/t + 5as/(ht)), all of it over t, and 34*sbh/t."""
    assert sa.same(kept(ranks=t), "s*b*d*(10 + 24/t + 5*a*s/(d*t))")
    rest = kept(ranks=t).subs(t, sympy.oo)  # what heads and hidden units do not divide
    assert sa.same(rest, "10*s*b*d")
    assert sa.same(kept(ranks=t) - rest + rest / t, "s*b*d*(34 + 5*a*s/d)/t")


@pytest.mark.parametrize(
    ("model", "shares"),
    [
        ("22B", (66.77, 49.37, 16.14, 7.59)),
        ("175B", (61.96, 56.52, 18.48, 8.70)),
        ("530B", (58.33, 61.90, 20.24, 9.52)),
        ("1T", (58.33, 61.90, 20.24, 9.52)),
    ],
)
def test_shares_of_the_baseline(model, shares):
    """Figure 94, in its exact forms: with sequences, without scores, both, and everything again; of tensors alone."""
    h, a = MODELS[model]
    sizes = {"s": 2048, "b": 1, "d": h, "a": a, "t": 8}
    one = 2048 * h
    tensors, selective = (kept(without_scores=flag, ranks=t).subs(sizes) for flag in (False, True))
    found = (kept().subs(sizes) / 8, selective, kept(without_scores=True).subs(sizes) / 8, 2 * one)
    assert [round(float(100 * x / tensors), 2) for x in found] == list(shares)


@pytest.mark.parametrize(("model", "term"), [("175B", 80), ("530B", 64), ("22B", Fraction(320, 3))])
def test_the_term_of_attention(model, term):
    """Figure 95: 5as/h."""
    h, a = MODELS[model]
    scores = kept() - kept(without_scores=True)
    assert Fraction(str(scores.subs({"s": 2048, "b": 1, "d": h, "a": a}) / (2048 * h))) == term


def test_a_residual_network_of_a_thousand_layers():
    """Figure 109: from 48 GB to 7 GB, some 30 % slower: a forward pass more is 1/3; in halves O(log n) are held."""
    layer = sa.Stage(boundary=48_000_000, residual=48_000_000)
    none, some = sa.checkpoint(layer, "none", layers=1000), sa.checkpoint(layer, "sqrt", layers=1000)
    assert none.at().memory.value == pytest.approx(48e9, rel=2e-3)
    assert some.at().memory.value < 7e9
    assert some.recomputed / (3 * some.forward) <= Fraction(1, 3)
    halves = sa.checkpoint(layer, "recursive", layers=1024, early_stop=False)
    assert halves.at().memory.value == 48_000_000 * (10 + 2)
    assert halves.recomputed == 1024 * 10
