"""Waterfalls: each loss by hand, and parts that sum to the time exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import ConventionError, HardwareError, SizeError, UndefinedSizeError

PEAK, TF32, BANDWIDTH, VECTOR = 989.5e12, 494.5e12, 3.35e12, 67e12


def layer(x: "b d", w: "d k"):
    return sa.relu(x @ w)


def losses(bound: Any) -> dict[str, float]:
    return {x.cause: float(x.seconds) for x in bound.losses}


@pytest.mark.claim("S2")
def test_a_layer_by_hand() -> None:
    b, d, k = 4096, 128, 4096
    bound = sa.account(layer).mfu_bound("h100", b=b, d=d, k=k)
    products = 2 * b * d * k / PEAK
    moved = 2 * (b * d + d * k + b * k) / BANDWIDTH
    assert float(bound.base) == pytest.approx(products)
    assert losses(bound) == pytest.approx(
        {"products that wait for memory": moved - products, "no products: pointwise": 4 * b * k / BANDWIDTH}
    )
    assert float(bound.mfu) == pytest.approx(products / (moved + 4 * b * k / BANDWIDTH))


@pytest.mark.claim("S2")
def test_an_unfused_llama_reaches_less_than_half() -> None:
    llama = sa.load_worked("graphs/llama.py").account()
    sizes = {"b": 1, "s": 4096, "L": 32, "d": 4096, "g": 8, "r": 4, "k": 128, "f": 14336, "v": 128256}
    bound = llama.mfu_bound("h100", sizes=sizes)
    fused = sa.load_worked("graphs/llama.py").account(fuse="pointwise").mfu_bound("h100", sizes=sizes)
    assert 0.4 < bound.mfu < 0.5 < fused.mfu < 0.7
    assert float(bound.base) == pytest.approx(int(llama.at(sizes=sizes).matmul_flops) / PEAK)
    at = llama.roofline("h100").at(sizes=sizes)
    assert bound.seconds == at.overlapped.value


def test_without_overlap_everything_adds_up() -> None:
    b, d, k = 128, 256, 512
    account = sa.account(layer)
    bound = account.mfu_bound("h100", overlap="none", b=b, d=d, k=k)
    assert bound.seconds == account.roofline("h100").at(b=b, d=d, k=k).serial.value
    assert losses(bound)["products that wait for memory"] == pytest.approx(2 * (b * d + d * k + b * k) / BANDWIDTH)
    assert bound.mfu < account.mfu_bound("h100", b=b, d=d, k=k).mfu


def test_products_in_another_format() -> None:
    def mixed(x: "b d", w: "d k", v: "k m"):
        return sa.cast(x @ w, "fp32") @ sa.cast(v, "fp32")

    b, d, k, m = 8192, 8192, 8192, 8192
    bound = sa.account(mixed).mfu_bound("h100", b=b, d=d, k=k, m=m)
    assert float(bound.base) == pytest.approx((2 * b * d * k + 2 * b * k * m) / PEAK)
    assert losses(bound)["products in other formats"] == pytest.approx(2 * b * k * m * (1 / VECTOR - 1 / PEAK))


def test_tiles_launches_and_communication() -> None:
    m, n, k = 8193, 8192, 8192
    account = sa.account("m k, k n -> m n", m=m, n=n, k=k)
    bound = account.mfu_bound("h100", tile=128, launch=0.25, communication=0.5)
    found = losses(bound)
    assert found["sizes rounded up to tiles"] == pytest.approx(2 * 127 * n * k / PEAK)
    assert found["communication"] == 0.5
    busy = 2 * (m + 127) * n * k / PEAK
    assert found["launches"] == pytest.approx(0.25 - busy)
    alone = account.mfu_bound("h100", tile=128, launch=0.25, overlap="none")
    assert losses(alone)["launches"] == 0.25


def test_recompute_is_time_but_no_work_of_the_model() -> None:
    graph = sa.account(layer).graph
    again = graph._replace(ops=tuple(op._replace(phase="recompute") if op.kind == "relu" else op for op in graph.ops))
    sizes = {"b": 512, "d": 512, "k": 512}
    bound = sa.account(again).mfu_bound("h100", sizes=sizes)
    assert losses(bound)["recompute"] == pytest.approx(4 * 512 * 512 / BANDWIDTH)
    products = graph._replace(ops=tuple(op._replace(phase="recompute") for op in graph.ops))
    assert sa.account(products).mfu_bound("h100", sizes=sizes).mfu is None  # no work of the model at all


def test_a_step_with_everything_checkpointed_runs_its_forward_again() -> None:
    step = sa.account(layer, params=["w"]).training()
    sizes = {"b": 4096, "d": 4096, "k": 4096}
    plain = step.total.mfu_bound("h100", sizes=sizes)
    again = step.total.mfu_bound("h100", sizes=sizes, recompute=step.forward, launch=1e-9)
    forward = step.forward.roofline("h100").at(sizes=sizes).overlapped
    assert again.base == plain.base
    assert again.seconds - plain.seconds == forward.value
    assert losses(again)["recompute"] == pytest.approx(float(forward))
    assert again.mfu < plain.mfu


SIZES = st.integers(1, 9000)


TILES = st.sampled_from([None, 16, (64, 128)])
OVERLAPS = st.sampled_from(["perfect", "none"])


@given(sizes=st.tuples(SIZES, SIZES, SIZES), launch=st.floats(0, 1e-3), tile=TILES, overlap=OVERLAPS)
def test_parts_sum_exactly(sizes: tuple[int, int, int], launch: float, tile: Any, overlap: str) -> None:
    b, d, k = sizes
    options = {"launch": launch, "tile": tile, "overlap": overlap, "communication": launch}
    bound = sa.account(layer).mfu_bound("h100", b=b, d=d, k=k, **options)
    assert type(bound.seconds) is Fraction
    assert sum(bound.points) == 1 - bound.mfu
    assert bound.running[-1] == bound.mfu
    assert all(x.seconds > 0 for x in bound.losses)
    at = sa.account(layer).roofline("h100", launch=launch, tile=tile).at(b=b, d=d, k=k)
    kernels = at.overlapped.value if overlap == "perfect" else at.serial.value
    assert bound.seconds == kernels + Fraction(repr(launch))


def test_as_text_and_json() -> None:
    bound = sa.account(layer).mfu_bound("h100", b=64, d=64, k=64, communication=sa.Quantity(1, "s"))
    text = str(bound)
    assert max(map(len, text.splitlines())) <= 80
    assert "products at the peak" in text
    assert "so a bound" in text
    data = bound.to_json()
    assert sum(x["points"] for x in data["losses"]) == pytest.approx(1 - data["mfu"])
    assert data["losses"][-1]["cause"] == "communication"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"b": 1, "d": 2}, UndefinedSizeError),
        ({"b": 1, "d": 2, "k": 3, "overlap": "some"}, ConventionError),
        ({"b": 1, "d": 2, "k": 3, "communication": -1}, SizeError),
    ],
)
def test_mistakes(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        sa.account(layer).mfu_bound("h100", **options)


def test_other_work_in_a_kernel_of_products_is_not_called_waiting_for_memory() -> None:
    """Attention of width 8 in fp8: its softmax outlasts its products, and its traffic."""

    def attend(q: "b h s k", k: "b h s k", v: "b h s k"):
        return sa.scaled_dot_product_attention(q, k, v)

    bound = sa.account(attend, fuse="flash", dtype="fp8").mfu_bound("h100", b=1, h=1, s=4096, k=8)
    pairs, peak, vector = 4096**2, 1979e12, 67e12
    products, other = 4 * 8 * pairs / peak, 6 * pairs / vector
    assert losses(bound) == {"other work in kernels of products": pytest.approx(other - products)}
    assert float(bound.base) == pytest.approx(products)


def test_one_roof() -> None:
    """On one roof the other work of a kernel is no rounding up; a device without a vector peak needs it."""
    sizes = {"b": 64, "d": 4096, "k": 4096}

    bound = sa.account(layer).mfu_bound("tpu-v6e", engines="matrix", **sizes)
    assert set(losses(bound)) == {"products that wait for memory", "no products: pointwise"}
    with pytest.raises(HardwareError, match="engines='matrix'"):
        sa.account(layer).mfu_bound("tpu-v6e", **sizes)


def test_without_products_there_is_no_mfu() -> None:
    bound = sa.account(sa.relu, x="b d").mfu_bound("h100", b=64, d=4096, communication="1 us")
    text = str(bound)
    assert "there are no products, so there is no MFU" in " ".join(text.split())
    assert "at the peak" not in text
    moved = 2 * 2 * 64 * 4096 / BANDWIDTH
    assert f"{100 * moved / (moved + 1e-6):.1f}%" in text
    assert f"{100 * 1e-6 / (moved + 1e-6):.1f}%" in text
