"""Rooflines against numbers worked out by hand, and against trying sizes one by one."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
import sympy

import symacct as sa
from symacct.errors import (
    ConventionError,
    DtypeError,
    HardwareError,
    InconclusiveError,
    MixedUnitsError,
    SizeError,
    UndefinedSizeError,
    UnknownAxisError,
)

PEAK, BANDWIDTH, VECTOR = 989.5e12, 3.35e12, 67e12
MILLION = 1024 * 1024


def square(**options: Any) -> sa.Account:
    return sa.account("i j, j k -> i k", i="n", j="n", k="n", convention="exact", **options)


def relu(x: "n"):
    return sa.relu(x)


def layer(x: "b d", w: "d k"):
    return sa.relu(x @ w)


@pytest.mark.claim("S39", "S40", "S41", "S44")
def test_relu_of_a_million_elements() -> None:
    at = sa.account(relu).roofline("h100", engines="matrix").at(n=MILLION)
    (only,) = at.kernels
    assert only.intensity == Fraction(1, 4)
    assert float(only.times.memory) == pytest.approx(4 * MILLION / BANDWIDTH) == pytest.approx(1.252e-6, rel=1e-3)
    assert float(only.times.matrix) == pytest.approx(MILLION / PEAK) == pytest.approx(1.060e-9, rel=1e-3)
    assert at.overlapped.value == only.times.memory
    assert at.serial.value == only.times.memory + only.times.matrix
    assert (at.bound, only.times.bound) == ("memory", "memory")


@pytest.mark.claim("S42", "S50")
def test_ridges() -> None:
    assert float(square().roofline("h100").ridge) == pytest.approx(989.5 / 3.35, rel=1e-12)
    assert float(square(dtype="fp32").roofline("h100").ridge) == pytest.approx(20, rel=1e-12)


@pytest.mark.claim("S43", "S48")
def test_a_square_product_turns_at_887() -> None:
    (turn,) = square().roofline("h100").turns("n")
    assert turn.solution.smallest == 887
    assert turn.solution.roots == (sympy.Rational(6 * 19790 + 67, 2 * 67),)
    below, above = (square().roofline("h100").at(n=n) for n in (886, 887))
    assert (below.bound, above.bound) == ("memory", "compute")
    assert float(square().roofline("h100").at(n=1024).intensity) == pytest.approx(341.17, rel=1e-4)


@pytest.mark.claim("S50")
def test_in_fp32_both_sides_change() -> None:
    roof = square(dtype="fp32").roofline("h100")
    (turn,) = roof.turns("n")
    assert turn.solution.smallest == next(n for n in range(1, 999) if (2 * n - 1) / 12 >= VECTOR / BANDWIDTH) == 121


@pytest.mark.claim("S45")
def test_gelu_in_isolation_is_no_slower_than_relu() -> None:
    gelu = sa.account(lambda x: sa.gelu(x, approximate="tanh"), x="n").roofline("h100", engines="matrix").at(n=MILLION)
    plain = sa.account(relu).roofline("h100", engines="matrix").at(n=MILLION)
    assert gelu.overlapped == plain.overlapped
    assert gelu.kernels[0].intensity == 5
    assert float(gelu.kernels[0].times.matrix) == pytest.approx(2.1e-8, rel=0.02)


@pytest.mark.claim("S46", "S47")
@pytest.mark.parametrize("pattern", ["n, n ->", "m n, n -> m"])
def test_products_with_vectors_never_turn(pattern: str) -> None:
    roof = sa.account(pattern).roofline("h100")
    assert roof.bound == "memory"
    assert "never" in str(roof)
    assert roof.turns("n")[0].solution.regions in ((), None)


@pytest.mark.claim("S51")
def test_attainable_is_the_lectures_bound() -> None:
    attainable = sa.account(relu).roofline("h100").attainable
    assert float(attainable) == pytest.approx(8.46e-4, rel=1e-3) == pytest.approx(0.25 / (989.5 / 3.35), rel=1e-3)
    form = square().roofline("h100").attainable
    n = sympy.Symbol("n")
    assert form.subs(n, 10**6) == 1
    assert float(form.subs(n, 500)) == pytest.approx((2 * 500 - 1) / 6 / (989.5 / 3.35))
    assert float(square().roofline("h100").at(n=500).attainable) == pytest.approx(float(form.subs(n, 500)))


def test_element_wise_work_has_a_roof_of_its_own() -> None:
    gelu = sa.account(lambda x: sa.gelu(x, approximate="tanh"), x="n", dtype="e4m3")
    (turn,) = gelu.roofline("h100").turns("n")
    assert (turn.engine, turn.solution.target) == ("vector", "20")
    at = gelu.roofline("h100").at(n=MILLION)
    assert float(at.kernels[0].times.vector) == pytest.approx(20 * MILLION / VECTOR)
    assert float(at.kernels[0].attains) == pytest.approx(10 / 20)
    wide = sa.account(relu, dtype="fp64").roofline("h100").at(n=MILLION)
    assert float(wide.kernels[0].times.vector) == pytest.approx(MILLION / 33.5e12)


def test_int8_weights_as_in_the_scaling_book() -> None:
    chip = sa.device("h100")
    both = sa.account("b d, d f -> b f", dtype="int8", d=10**9, f=10**9).roofline(chip)
    weights = sa.account("b d, d f -> b f", dtype=["bf16", "int8", "bf16"], d=10**9, f=10**9).roofline(chip)
    int8, bf16 = 1979e12, PEAK
    assert both.turns("b")[0].solution.smallest == pytest.approx(int8 / BANDWIDTH / 2, abs=1.01)
    assert weights.turns("b")[0].solution.smallest == pytest.approx(bf16 / BANDWIDTH / 2, abs=1.01)
    assert weights.dtype.name == "bf16"


@pytest.mark.claim("D5")
def test_a_peak_in_fewer_bits_than_are_stored_is_refused() -> None:
    with pytest.raises(DtypeError, match="stored in fp32"):
        square(dtype="fp32").roofline("h100", compute="bf16")
    assert square(dtype="fp32").roofline("h100", compute="tf32").dtype.name == "tf32"
    with pytest.raises(DtypeError, match="stored in fp32"):
        sa.account(layer, dtype="fp32").mfu_bound("h100", compute="bf16", b=2, d=2, k=2)


@pytest.mark.claim("D6")
def test_the_format_of_products_stands_with_every_time() -> None:
    roof = square().roofline("h100")
    assert "bf16, fp32 sums, matrix" in str(roof)
    assert "products in bf16" in str(roof.at(n=8))
    assert roof.to_json()["dtype"] == "bf16"


def test_one_operation_agrees_with_times() -> None:
    account = sa.account("b d, d k -> b k")
    sizes = {"b": 31, "d": 1000, "k": 77}
    at = account.roofline("h100").at(sizes=sizes)
    other = sa.times(account, peak=PEAK, bandwidth=BANDWIDTH, sizes=sizes)
    assert float(at.overlapped) == pytest.approx(float(other.overlapped))
    assert float(at.serial) == pytest.approx(float(other.serial))
    assert at.bound == other.bound


def test_a_layer_kernel_by_kernel() -> None:
    b, d, k = 4096, 64, 4096
    at = sa.account(layer).roofline("h100").at(b=b, d=d, k=k)
    product = (2 * b * d * k / PEAK, 2 * (b * d + d * k + b * k) / BANDWIDTH)
    element_wise = (b * k / VECTOR, 4 * b * k / BANDWIDTH)
    assert [k.times.bound for k in at.kernels] == ["memory", "memory"]
    assert float(at.overlapped) == pytest.approx(max(product) + max(element_wise))
    assert float(at.serial) == pytest.approx(sum(product) + sum(element_wise))
    ideal = at.times()["ideal"][0]
    assert float(ideal) == pytest.approx(max(product[0], element_wise[0], 2 * (b * d + d * k + b * k) / BANDWIDTH))
    whole = sa.account(layer).roofline("h100")
    assert float(whole.overlapped.subs({"b": b, "d": d, "k": k})) == pytest.approx(float(at.overlapped))
    assert float(whole.serial.subs({"b": b, "d": d, "k": k})) == pytest.approx(float(at.serial))


def test_fusing_moves_less() -> None:
    def several(x: "n"):
        return sa.exp(sa.relu(x) + x)

    at = sa.account(several).roofline("h100").at(n=MILLION)
    per_op, fused, ideal = (float(best) for best, _ in at.times().values())
    assert per_op == pytest.approx((4 + 6 + 4) * MILLION / BANDWIDTH)
    assert fused == ideal == pytest.approx(4 * MILLION / BANDWIDTH)
    assert len(at.fused) == 1


@pytest.mark.parametrize(
    ("pattern", "axis"), [("b d, d k -> b k", "b"), ("b d, d k -> b k", "d"), ("b d, b k -> d k", "b")]
)
def test_turning_points_against_trying(pattern: str, axis: str) -> None:
    others = {"b": 700, "d": 900, "k": 1100}
    given = {n: size for n, size in others.items() if n != axis}
    roof = sa.account(pattern, sizes=given).roofline("h100")
    bounds = [roof.at(sizes={axis: n}).bound for n in range(1, 1500, 7)]
    (turn,) = roof.turns(axis)
    first = turn.solution.smallest
    expected = ["compute" if first is not None and n >= first else "memory" for n in range(1, 1500, 7)]
    assert bounds == expected
    assert "compute" in bounds
    named = sa.account(pattern).roofline("h100").turns(axis)[0].solution.roots
    assert math.ceil(float(named[0].subs(others))) == first


def test_no_closed_form_is_said() -> None:
    with pytest.raises(UnknownAxisError, match="zz"):
        sa.account(layer).roofline("h100").turns("zz")
    blocks = sa.account("b d, d k -> b k", dtype=["bf16", "nvfp4", "bf16"])
    with pytest.raises(InconclusiveError):
        blocks.roofline("h100").turns("d")


def test_a_launch_is_hidden_by_what_takes_longer() -> None:
    roof = sa.account(layer).roofline("h100", launch=5e-6)
    small, large = roof.at(b=8, d=8, k=8), roof.at(b=8192, d=8192, k=8192)
    assert small.bound == "launch"
    assert float(small.overlapped) == pytest.approx(2 * 5e-6)
    plain = sa.account(layer).roofline("h100").at(b=8192, d=8192, k=8192)
    assert large.overlapped == plain.overlapped
    assert float(large.serial) == pytest.approx(float(plain.serial) + 2 * 5e-6)


def test_launches_of_a_repeat() -> None:
    def deep(x: "b d", w: "L d d"):
        return sa.repeat("L", lambda h, w: h @ w, x, xs=w)

    at = sa.account(deep, L=7).roofline("h100", launch=1).at(b=2, d=3)
    assert at.overlapped == 7


def test_tiles_and_waves() -> None:
    m, n, k = 4097, 300, 64
    account = sa.account("m k, k n -> m n", m=m, n=n, k=k)
    tiles = 33 * 2  # ceil(4097 / 128) rows of ceil(300 / 256)
    one = account.roofline("h100", tile=(128, 256)).at().kernels[0].times.matrix
    assert float(one) == pytest.approx(2 * tiles * 128 * 256 * k / PEAK)
    waves = account.roofline("h100", tile=(128, 256), units=132).at().kernels[0].times.matrix
    assert float(waves) == pytest.approx(2 * 132 * 128 * 256 * k / PEAK)
    batched = sa.account("g m k, g k n -> g m n", g=5, m=m, n=n, k=k)
    rounded = batched.roofline("h100", tile=(128, 256), units=132).at().kernels[0].times.matrix
    assert float(rounded) == pytest.approx(2 * math.ceil(5 * tiles / 132) * 132 * 128 * 256 * k / PEAK)
    fits = sa.account("m k, k n -> m n", m=256, n=256, k=k).roofline("h100", tile=128).at().kernels[0].times.matrix
    assert float(fits) == pytest.approx(2 * 256 * 256 * k / PEAK)


def test_tiles_in_names() -> None:
    roof = sa.account("m k, k n -> m n").roofline("h100", tile=128)
    assert float(roof.at(m=129, n=128, k=10).kernels[0].times.matrix) == pytest.approx(2 * 256 * 128 * 10 / PEAK)


def test_views_are_no_kernels() -> None:
    def turned(x: "b d"):
        return sa.relu(x.T)

    assert [k.label for k in sa.account(turned).roofline("h100").kernels] == ["relu"]


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: square().roofline("h900"), HardwareError, "unknown device"),
        (lambda: square().roofline(3), ConventionError, "is no device"),
        (lambda: square().roofline("h100", engines="both"), ConventionError, "apart"),
        (lambda: square().roofline("h100", launch=-1), SizeError, "0 or more"),
        (lambda: square().roofline("h100", tile=0), SizeError, "tile"),
        (lambda: square().roofline("h100", tile=(128, 0)), SizeError, "tile"),
        (lambda: square().roofline("h100", units=132), SizeError, "beside tile"),
        (lambda: square().roofline("h100").at(), UndefinedSizeError, "n"),
        (lambda: sa.account("n n, n -> n", convention="mac").roofline("h100"), MixedUnitsError, "MAC"),
        (lambda: square(dtype="mxfp6").roofline("h100"), HardwareError, "no peak of mxfp6"),
    ],
)
def test_mistakes(call: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        call()


def test_json_has_every_kernel() -> None:
    data = sa.account(layer).roofline("h100").at(b=4, d=5, k=6).to_json()
    assert [k["computes"] for k in data["kernels"]] == ["b d, d k -> b k", "relu"]
    assert data["kernels"][0]["flops"] == 240
    symbolic = sa.account(layer).roofline("h100").to_json()
    assert symbolic["kernels"][1]["compute_bound"] == "never"
    assert symbolic["kernels"][0]["flops"]["text"] == "2*b*d*k"


@pytest.mark.parametrize("options", [{"launch": "1e400 s"}, {}], ids=["a launch", "sizes"])
def test_times_beyond_all_numbers_are_refused(options: dict[str, Any]) -> None:
    n = 10**400 if not options else 2
    account = sa.account("i j, j k -> i k", i="n", j="n", k="n")
    with pytest.raises(SizeError, match="more than 1e200 s"):
        account.roofline("h100", **options).at(n=n)
    with pytest.raises(SizeError, match="more than 1e200 s"):
        account.mfu_bound("h100", n=n, **options)
    with pytest.raises(SizeError, match="more than 1e200 s"):
        account.mfu_bound("h100", n=2, communication="1e400 s")


def test_long_times_are_short_to_read() -> None:
    at = sa.account("i j, j k -> i k", i="n", j="n", k="n").roofline("h100").at(n=10**50)
    assert "2.021e+135 s" in str(at)
    assert at.to_json()["times"]["per op"]["overlapped"] == pytest.approx(2e150 / 989.5e12)
