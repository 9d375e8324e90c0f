"""The MFU of a measured time, and what a roofline says that it leaves out."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import UtilisationError

PEAK, VECTOR = 989.5e12, 67e12
PRODUCT = sa.account("i j, j k -> i k", i="n", j="n", k="n")


def relu(x: "n"):
    return sa.relu(x)


def layer(x: "b d", w: "d k"):
    return sa.relu(x @ w)


@pytest.mark.claim("S37")
def test_mfu_of_a_measured_time() -> None:
    roof = PRODUCT.roofline("h100")
    assert roof.mfu("2 ms", n=8192) == pytest.approx(2 * 8192**3 / 989.5e12 / 2e-3)
    assert roof.mfu(sa.measure(lambda: None, samples=1), n=1) > 0


@pytest.mark.claim("S37")
def test_mfu_in_mixed_formats_sums_shares_of_each_peak() -> None:
    def mixed(x: "b d", w: "d k", v: "k m"):
        return sa.cast(x @ w, "fp32") @ sa.cast(v, "fp32")

    n = 2048
    roof = sa.account(mixed).roofline("h100")
    expected = 2 * n**3 * (1 / PEAK + 1 / VECTOR) / 1e-3
    assert roof.mfu(1e-3, b=n, d=n, k=n, m=n) == pytest.approx(expected)


@pytest.mark.claim("S38")
def test_no_utilisation_above_1() -> None:
    with pytest.raises(UtilisationError, match="synchronise"):
        PRODUCT.roofline("h100").mfu("1 us", n=8192)


def test_what_has_no_kernels_takes_no_time() -> None:
    roof = sa.account(lambda x: x.T, x="b d").roofline("h100")
    assert "none" in str(roof)
    at = roof.at(b=2, d=3)
    assert (at.kernels, at.overlapped, at.intensity, at.attainable) == ((), 0, None, 1)
    assert roof.to_json()["intensity"] is None


def test_what_is_not_counted_is_said() -> None:
    def partly(x: "b d", w: "d k"):
        y = x @ w
        return sa.opaque("mystery", [y], [y.shape])

    roof = sa.account(partly).roofline("h100")
    assert "mystery not counted, so partial" in str(roof)
    assert "partial" in roof.at(b=1, d=2, k=3).under
    assert "partial" in str(sa.account(partly).mfu_bound("h100", b=1, d=2, k=3)).replace("\n", " ")


@pytest.mark.parametrize(("fuse", "kernels"), [("none", 3), ("flash", 1)])
def test_an_attention_that_is_not_one_kernel_is_launched_three_times(fuse: str, kernels: int) -> None:
    def attend(q: "b h s k", k: "b h s k", v: "b h s k"):
        return sa.scaled_dot_product_attention(q, k, v)

    roof = sa.account(attend, fuse=fuse).roofline("h100", launch=1)
    assert roof.at(b=1, h=1, s=2, k=2).overlapped == kernels


def test_a_format_that_is_only_stored_has_the_vector_roof() -> None:
    roof = sa.account(relu, dtype="nvfp4").roofline("h100")
    assert (roof.dtype.name, float(roof.ridge)) == ("fp32", 20)
    assert "roof of fp32" in str(roof.at(n=64))


def test_a_training_step() -> None:
    step = sa.account(layer, params=["w"]).training().total
    at = step.roofline("h100").at(b=4096, d=4096, k=4096)
    assert {k.phase for k in at.kernels} == {"fwd", "bwd"}
    bound = step.mfu_bound("h100", b=4096, d=4096, k=4096)
    assert float(bound.base) == pytest.approx(2 * 2 * 4096**3 / PEAK)
    assert bound.seconds == at.overlapped.value
