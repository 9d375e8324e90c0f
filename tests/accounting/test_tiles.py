"""Tiles and waves: by what factor products take longer, worked out by hand from the sizes of the matrices."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest

import symacct as sa

Matrices = list[tuple[int, int, int, int]]
"""How many products, and m, n and k of each."""


def factor(products: Matrices, tile: tuple[int, int], units: int | None = None) -> float:
    took = 0
    for count, m, n, k in products:
        tiles = count * ceil(m / tile[0]) * ceil(n / tile[1])
        tiles = tiles if units is None else ceil(tiles / units) * units
        took += tiles * tile[0] * tile[1] * k
    return took / sum(count * m * n * k for count, m, n, k in products)


def attend(q: "b h s k", k: "b h t k", v: "b h t e"):
    return sa.scaled_dot_product_attention(q, k, v)


def causal(q: "b h s k", k: "b h s k", v: "b h s k"):
    return sa.scaled_dot_product_attention(q, k, v, is_causal=True)


def conv(x: "b c h w", kernel: "o c 3 3"):
    return sa.conv2d(x, kernel, padding=1)


def grouped(x: "b 4*d n", kernel: "o d 5"):
    return sa.conv1d(x, kernel, groups=4)


def transposed(x: "b c n", kernel: "c o 4"):
    return sa.conv_transpose1d(x, kernel, stride=2)


def linear(x: "b s d", w: "k d"):
    return x @ w.T


def batched(a: "g m k", b: "g k n"):
    return a @ b


CASES: list[tuple[Any, dict[str, int], Matrices]] = [
    (linear, {"b": 3, "s": 50, "d": 64, "k": 200}, [(1, 150, 200, 64)]),
    (batched, {"g": 5, "m": 100, "n": 130, "k": 70}, [(5, 100, 130, 70)]),
    (conv, {"b": 2, "c": 24, "h": 28, "w": 20, "o": 48}, [(1, 2 * 28 * 20, 48, 24 * 9)]),
    (grouped, {"b": 3, "n": 104, "o": 64, "d": 8}, [(4, 300, 16, 40)]),
    (transposed, {"b": 3, "c": 32, "n": 100, "o": 20}, [(1, 300, 80, 32)]),
    (attend, {"b": 2, "h": 3, "s": 70, "t": 200, "k": 40, "e": 56}, [(6, 70, 200, 40), (6, 70, 56, 200)]),
    (causal, {"b": 1, "h": 2, "s": 200, "k": 64}, [(2, 200, 200, 64), (2, 200, 64, 200)]),
]


@pytest.mark.parametrize("units", [None, 7])
@pytest.mark.parametrize("tile", [(64, 64), (128, 32)])
@pytest.mark.parametrize(("layer", "sizes", "products"), CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_products_take_the_time_of_whole_tiles(
    layer: Any, sizes: dict[str, int], products: Matrices, tile: tuple[int, int], units: int | None
) -> None:
    account = sa.account(layer)
    assert account.matmul_flops.subs(sizes) == 2 * sum(count * m * n * k for count, m, n, k in products)
    exact = account.roofline("h100").at(sizes=sizes).kernels[0].times.matrix
    roof = account.roofline("h100", tile=tile, units=units)
    assert roof.at(sizes=sizes).kernels[0].times.matrix / exact == pytest.approx(factor(products, tile, units))
    assert roof.notes == ()


def test_the_products_of_a_backward_pass() -> None:
    tile = (64, 64)
    step = sa.account(attend, params=["q", "k", "v"]).backward()
    sizes = {"b": 2, "h": 3, "s": 70, "t": 200, "k": 40, "e": 56}
    (exact,) = (k for k in step.roofline("h100").at(sizes=sizes).kernels if k.times.matrix)
    (rounded,) = (k for k in step.roofline("h100", tile=tile).at(sizes=sizes).kernels if k.times.matrix)
    products = [(6, 70, 200, 56), (6, 200, 56, 70), (6, 70, 40, 200), (6, 200, 40, 70)]
    assert rounded.times.matrix / exact.times.matrix == pytest.approx(factor(products, tile))


def test_the_products_of_the_gradients_of_a_convolution() -> None:
    step = sa.account(conv, params=["x", "kernel"]).backward()
    sizes = {"b": 2, "c": 24, "h": 28, "w": 20, "o": 48}
    exact, rounded = (step.roofline("h100", tile=t).at(sizes=sizes).kernels for t in (None, 64))
    factors = sorted(float(r.times.matrix / e.times.matrix) for e, r in zip(exact, rounded, strict=True))
    of_input, of_weight = [(1, 1120, 24 * 9, 48)], [(1, 48, 24 * 9, 1120)]
    assert factors == pytest.approx(sorted([factor(of_input, (64, 64)), factor(of_weight, (64, 64))]))


def test_kernels_with_tiles_of_their_own_are_said() -> None:
    flash = sa.account(attend, fuse="flash").roofline("h100", tile=128)
    assert flash.notes == ("not rounded up to tiles: sdpa",)
    sizes = {"b": 1, "h": 1, "s": 3, "t": 3, "k": 3, "e": 3}
    assert (
        flash.at(sizes=sizes).kernels[0].times
        == sa.account(attend, fuse="flash").roofline("h100").at(sizes=sizes).kernels[0].times
    )
    assert "not rounded" in flash.at(sizes=sizes).under

    assert sa.account(attend, fuse="flash").roofline("h100").notes == ()


def test_on_one_roof_products_alone_are_rounded_up() -> None:
    """Of attention on one roof, the softmax is no tile."""
    sizes = {"b": 1, "h": 1, "s": 65, "t": 65, "k": 64, "e": 64}
    plain, tiled = (
        sa.account(attend).roofline("h100", engines="matrix", tile=t).at(sizes=sizes).kernels[0].times.matrix
        for t in (None, 64)
    )
    products = 4 * 65 * 65 * 64
    longer = factor([(1, 65, 65, 64), (1, 65, 64, 65)], (64, 64)) - 1
    assert float(tiled - plain) == pytest.approx(longer * products / 989.5e12)


def test_padding_is_no_useful_work() -> None:
    b, d, k = 64, 4096, 4096
    account = sa.account("b d, d k -> b k", b=b, d=d, k=k)
    at = account.roofline("h100", tile=(128, 256), units=132).at()
    peak = 989.5e12
    waves = 132 * 128 * 256 * d * 2 / peak  # 16 tiles, less than one wave
    assert float(at.overlapped) == pytest.approx(waves)
    assert at.bound == "compute"
    assert float(at.kernels[0].attains) == pytest.approx(2 * b * d * k / peak / waves)
    assert float(at.kernels[0].attains) == pytest.approx(
        float(account.mfu_bound("h100", tile=(128, 256), units=132).mfu)
    )
    assert account.roofline("h100", tile=1).at().kernels[0].attains < 1  # the memory's bound, as without tiles
