"""Figures of the scaling book from its own numbers, which the catalogue keeps beside the vendor's."""

from __future__ import annotations

from fractions import Fraction

import pytest

import symacct as sa
from symacct.hardware import Figure

LAYER = "b d, d f -> b f"


def book(figures: tuple[Figure, ...]) -> float:
    """The figure that the book prints."""
    return next(float(f.quantity) for f in figures if "How to Scale" in f.source.title)


V5E = sa.device("tpu-v5e")
bandwidth = book(V5E.bandwidths)
int8 = book(V5E.peak("int8").dense)
bf16 = float(V5E.peak("bf16").speed)


def crossover(account, axis, intensity):
    return float(account.solve(axis, intensity=Fraction(intensity)).roots[0])


def test_int8_layers_need_a_batch_of_243():
    """Row 9: as the batch is small against the widths, 2*b operations a byte."""
    assert sa.same(sa.account(LAYER, dtype="int8", d="n", f="n").limit("n"), "2*b")
    assert int8 / bandwidth / 2 == pytest.approx(243, abs=0.5)


def test_int8_weights_with_bf16_products_need_120():
    """Row 10: the weights move in 8 bits, and the peak is that of bf16."""
    layer = sa.account(LAYER, dtype=["bf16", "int8", "bf16"], d="n", f="n")
    assert sa.same(layer.limit("n"), "2*b")
    assert bf16 / bandwidth / 2 == pytest.approx(120, rel=0.02)


def test_with_all_three_terms_it_is_262_and_not_271():
    """Row 11: the book's 271 is a slip of rounded inputs."""
    layer = sa.account(LAYER, dtype="int8", d=4096, f=16_384)
    assert crossover(layer, "b", int8 / bandwidth) == pytest.approx(262.7, abs=0.1)
    rounded = 6.7e7 / (1.3e8 / 3.94e14 * 8.1e11 - 2e4)
    assert rounded == pytest.approx(271, abs=2)


def test_weights_streamed_over_pcie_need_61000():
    """Row 13: b operations a byte of bf16 weights, over 1.5e10 B/s, on a v6e."""
    peak = book(sa.device("tpu-v6e").peak("bf16").dense)
    assert sa.same(sa.flops(LAYER) / (2 * sa.dims("d")[0] * sa.dims("f")[0]), "b")
    assert peak / 1.5e10 == pytest.approx(61_000, rel=0.01)


def test_a_product_split_over_two_chips_needs_a_width_of_8755():
    """Row 14: half of 2*b*d*f on each, and partial sums of b*f in bf16 to send over one link."""
    link = sa.link("ici-v5e").bandwidth
    assert link == 4.5e10
    b, d, f = sa.dims("b d f")
    compute = sa.flops(LAYER) / 2 / bf16
    send = 2 * b * f / float(link)
    assert float((send / compute * d).evalf()) == pytest.approx(8755, abs=1)


def test_the_core_of_attention_approaches_the_queries_that_share_a_key():
    """Row 15: t*s*g/(t*g + s) operations a byte with scores that stay inside; a decode step has g."""

    def core(q: "b k g t h", keys: "b k s h", values: "b k s h"):
        import einops

        scores = einops.einsum(q, keys, "b k g t h, b k s h -> b k g t s")
        return einops.einsum(scores, values, "b k g t s, b k s h -> b k g t h")

    account = sa.account(core, traffic="compulsory")
    assert sa.same(account.matmul_flops / account.bytes, "t*s*g/(t*g + s)")
    prefill = sa.account(core, traffic="compulsory", s="t")
    assert sa.same(prefill.matmul_flops / prefill.bytes, "t*g/(g + 1)")
    assert sa.same(sa.account(core, traffic="compulsory", t=1).limit("s"), "g")


@pytest.mark.parametrize("n", [64, 256, 1024, 4096])
def test_the_time_lies_between_the_longer_and_the_sum(n):
    """Row 17: at most a factor of two apart."""
    h100 = sa.device("h100")
    square = sa.account("i j, j k -> i k", i="n", j="n", k="n")
    t = sa.times(square, peak=h100.peak("bf16").speed, bandwidth=h100.bandwidth, n=n)
    assert float(t.compute) == pytest.approx(2 * n**3 / 989.5e12)
    assert float(t.memory) == pytest.approx(6 * n**2 / 3.35e12)
    assert max(t.compute, t.memory, key=float) == t.overlapped
    assert float(t.overlapped) <= float(t.serial) <= 2 * float(t.overlapped)
