"""Rounding agrees with the casts of NumPy, ml_dtypes and torch, ties, subnormals and overflow included."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from symacct.dtypes import as_plain_format, decode, representable, round_to
from symacct.errors import DtypeError

ML_DTYPES = [
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e4m3",
    "float8_e3m4",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
]
TORCH_CASTS = [
    "float16",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
]


@st.composite
def float32_near(draw, dtype):
    """Draw float32 values: any, and for most draws values, ties and their neighbours of the format itself."""
    fmt = as_plain_format(dtype)
    if draw(st.integers(0, 3)) == 0:
        return draw(st.floats(width=32, allow_nan=False))
    magnitude_bits = fmt.bits // fmt.parts - fmt.sign_bits
    low = decode(fmt, draw(st.integers(0, 2**magnitude_bits - 2)))
    if not isinstance(low, Fraction):
        low = fmt.max
    unit = Fraction(2) ** max(math.frexp(float(low))[1] - 1, fmt.min_exponent) / 2**fmt.mantissa_bits
    x = np.float32(float(low + unit * draw(st.sampled_from([0, Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)]))))
    with np.errstate(all="ignore"):
        x = np.nextafter(x, np.float32(draw(st.sampled_from([float(x), 0.0, math.inf]))))
    return float(x) * draw(st.sampled_from([1, -1]))


def in_lowest_binade(x):
    """Whether x is between the two smallest values of e8m0: torch and ml_dtypes round all fp32 there up."""
    return 2.0**-127 < abs(x) < 2.0**-126


def same(ours, theirs):
    """Equal values, or both NaN."""
    return math.isnan(theirs) if math.isnan(ours) else ours == theirs


@pytest.mark.parametrize("name", ML_DTYPES)
def test_as_ml_dtypes_casts(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    overflow = "nan" if name == "float8_e4m3fn" else None

    @given(float32_near(name))
    @example(0.0)
    @example(1e-8)
    @example(3.4028234663852886e38)
    @example(math.inf)
    @example(-math.inf)
    def check(x):
        if name == "float8_e8m0fnu":
            assume(x != 0 and not in_lowest_binade(x))  # ml_dtypes makes a NaN of zero
        with np.errstate(all="ignore"):
            theirs = float(np.float32(x).astype(getattr(ml_dtypes, name)))
        assert same(round_to(name, x, overflow), theirs)

    check()


@pytest.mark.parametrize("name", TORCH_CASTS)
def test_as_torch_casts(name):
    torch = pytest.importorskip("torch")
    dtype = getattr(torch, name)
    overflow = None
    if name == "float8_e4m3fn" and math.isnan(torch.tensor(1000.0).to(dtype).item()):
        overflow = "nan"  # torch before it saturated

    @given(float32_near(name))
    @example(0.0)
    @example(math.inf)
    @example(464.0)
    @example(65520.0)
    def check(x):
        if name == "float8_e8m0fnu":
            assume(not in_lowest_binade(x))
            x = abs(x)  # torch drops the sign
        assert same(round_to(name, x, overflow), torch.tensor(x).to(dtype).double().item())

    check()


@given(st.floats(allow_nan=False))
@example(2.0**-25)
@example(math.nextafter(2.0**-25, 1))
@example(65520.0)
@example(math.nextafter(65520.0, 0))
def test_as_numpy_casts_doubles(x):
    with np.errstate(all="ignore"):
        for name in ("float16", "float32", "float64"):
            assert same(round_to(name, x), float(np.float64(x).astype(name)))


@given(float32_near("tf32"))
def test_tf32_as_integer_arithmetic_on_the_bits_of_fp32(x):
    bits = int(np.float32(x).view(np.uint32))
    rounded = (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF if math.isfinite(x) else bits
    assert round_to("tf32", x) == float(np.array(rounded, dtype=np.uint32).view(np.float32))


@pytest.mark.parametrize(("name", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255), ("int4", -8, 7)])
def test_integers_as_rint_and_clip(name, low, high):
    @given(st.one_of(st.floats(-400, 400), st.integers(-600, 600).map(lambda i: i / 2), st.just(math.inf)))
    def check(x):
        assert round_to(name, x) == np.clip(np.rint(x), low, high)

    check()


def test_integers_of_any_size_stay_exact():
    assert round_to("int64", 2**62 + 1) == 2**62 + 1
    assert round_to("fp64", Fraction(1, 3)) == Fraction(1 / 3)
    assert round_to("fp64", 10**400) == math.inf
    assert round_to("fp64", 2**53 + 1) == 2**53


@pytest.mark.claim("S15", "S16")
def test_what_1e_8_becomes():
    got = {name: round_to(name, 1e-8) for name in ("fp16", "bf16", "fp32", "fp8", "fp4", "e8m0")}
    assert got["fp16"] == got["fp8"] == got["fp4"] == 0
    assert f"{float(got['bf16']):.4e}" == "1.0012e-08"
    assert got["fp32"] == Fraction(float(np.float32(1e-8)))
    assert got["e8m0"] == Fraction(1, 2**27)
    torch = pytest.importorskip("torch")
    assert got["bf16"] == torch.tensor(1e-8).to(torch.bfloat16).item()
    assert torch.tensor(1e-8).to(torch.float16).item() == 0


@pytest.mark.claim("S15")
@given(st.floats(-(2.0**-20), 2.0**-20), st.sampled_from([1, Fraction(1, 3)]))
@example(2.0**-25, 1)
@example(math.nextafter(2.0**-25, 1), 1)
@example(-(2.0**-25), 1)
def test_fp16_loses_x_up_to_the_tie(x, factor):
    x = Fraction(x) * factor
    assert (round_to("fp16", x) == 0) == (abs(x) <= Fraction(1, 2**25))


def test_overflow_by_encoding_and_by_argument():
    assert round_to("fp16", 1e9) == math.inf
    assert round_to("fp16", -1e9) == -math.inf
    assert round_to("fp8", 1e9) == round_to("fp8", math.inf) == 448
    assert round_to("fp8", -1e9) == -448
    assert math.isnan(round_to("fp8", 1e9, overflow="nan"))
    assert round_to("fp8", 464, overflow="nan") == 448  # the tie with 480, whose pattern is NaN, is even
    assert math.isnan(round_to("e4m3fnuz", 1e9))
    assert round_to("e5m2", 1e9, overflow="saturate") == 57344
    assert round_to("fp4", -7) == -6
    assert round_to("uint8", -3) == 0


@pytest.mark.parametrize("name", ["fp16", "fp8", "e4m3fnuz", "e8m0"])
def test_nan_stays_nan(name):
    assert math.isnan(round_to(name, math.nan))


@given(st.floats(1, 2, width=32))
@example(1.5)
def test_e8m0_rounds_its_lowest_binade_like_the_others(x):
    assert round_to("e8m0", Fraction(x) / 2**127) == Fraction(1 if x < 1.5 else 2) / 2**127
    assert round_to("e8m0", x) == (1 if x < 1.5 else 2)


def test_e8m0_has_no_sign_and_no_zero():
    assert round_to("e8m0", 0) == round_to("e8m0", 1e-45) == Fraction(1, 2**127)
    assert (round_to("e8m0", 1.5), round_to("e8m0", 3)) == (2, 4)
    assert math.isnan(round_to("e8m0", -1))
    assert math.isnan(round_to("e8m0", Fraction(-1, 10**60)))
    assert round_to("e8m0", 1e39, overflow="saturate") == 2**127


@pytest.mark.parametrize("x", [0.0, 1e-8, -3.0, 1.0, math.inf])
def test_bool_as_torch_casts(x):
    torch = pytest.importorskip("torch")
    assert round_to("bool", x) == int(torch.tensor(x).to(torch.bool).item())


@pytest.mark.parametrize("name", ["fp8", "e5m2fnuz", "e3m4", "e8m0", "fp6_e3m2", "fp4", "int4", "bool"])
def test_values_of_a_format_stay(name):
    values = representable(name)
    assert [round_to(name, v) for v in values] == values


def test_refusals():
    with pytest.raises(DtypeError, match=r"fp4_e2m1 .* has no NaN"):
        round_to("fp4", math.nan)
    with pytest.raises(DtypeError, match=r"fp8_e4m3fn .* has no infinity"):
        round_to("fp8", 1.0, overflow="inf")
    with pytest.raises(DtypeError, match="overflow='wrap' is not known"):
        round_to("int8", 300, overflow="wrap")
    with pytest.raises(DtypeError, match="mxfp4 is a block format"):
        round_to("mxfp4", 1.0)
    with pytest.raises(DtypeError, match="pattern 256 does not fit the 8 bits"):
        decode("fp8", 256)
    with pytest.raises(DtypeError, match="pattern -1 does not fit"):
        decode("int8", -1)
    with pytest.raises(DtypeError, match=r"fp16 has 2\*\*16 patterns"):
        representable("fp16")
