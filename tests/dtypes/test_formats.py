"""Everything derived from bit fields agrees with torch, ml_dtypes and NumPy, and with all bit patterns."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from symacct.dtypes import FORMATS, BlockFormat, Format, as_format, as_plain_format, decode, representable
from symacct.errors import DtypeError

TORCH_FLOATS = [
    "float64",
    "float32",
    "bfloat16",
    "float16",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "complex128",
    "complex64",
    "complex32",
]
INTEGERS = ["int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"]
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
SMALL_FLOATS = [name for name in ML_DTYPES if name != "bfloat16"]
SMALL = [fmt for fmt in FORMATS if isinstance(fmt, Format) and fmt.bits // fmt.parts <= 8]


@pytest.mark.claim("S14", "S15", "S16", "S18", "D2")
@pytest.mark.parametrize("name", TORCH_FLOATS)
def test_torch_finfo(name):
    torch = pytest.importorskip("torch")
    info, fmt = torch.finfo(getattr(torch, name)), as_plain_format(name)
    assert (fmt.bits // fmt.parts, fmt.max, fmt.min) == (info.bits, Fraction(info.max), Fraction(info.min))
    assert fmt.smallest_normal == Fraction(info.smallest_normal)
    if name != "float8_e5m2fnuz":  # torch 2.13 says 1/8; the next test counts the patterns
        assert fmt.epsilon == Fraction(info.eps)


def test_epsilon_of_e5m2fnuz_is_the_step_after_one_where_torch_finfo_is_wrong():
    torch = pytest.importorskip("torch")
    one = torch.ones(1).to(torch.float8_e5m2fnuz).view(torch.uint8)
    after = (one + 1).view(torch.float8_e5m2fnuz).item()
    assert as_plain_format("e5m2fnuz").epsilon == Fraction(after) - 1 == Fraction(1, 4)


@pytest.mark.parametrize("name", INTEGERS)
def test_torch_iinfo(name):
    torch = pytest.importorskip("torch")
    info, fmt = torch.iinfo(getattr(torch, name)), as_plain_format(name)
    assert (fmt.bits, fmt.max, fmt.min) == (info.bits, info.max, info.min)


@pytest.mark.parametrize("name", ML_DTYPES)
def test_ml_dtypes_finfo(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    info, fmt = ml_dtypes.finfo(getattr(ml_dtypes, name)), as_plain_format(name)
    assert fmt.bits == info.bits
    assert [fmt.max, fmt.min, fmt.smallest_normal, fmt.epsilon] == [
        Fraction(float(v)) for v in (info.max, info.min, info.smallest_normal, info.eps)
    ]
    if name == "float8_e8m0fnu":  # ml_dtypes repeats the smallest normal
        assert fmt.smallest_subnormal is None
    else:
        assert fmt.smallest_subnormal == Fraction(float(info.smallest_subnormal))


@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_ml_dtypes_iinfo(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    info, fmt = ml_dtypes.iinfo(getattr(ml_dtypes, name)), as_plain_format(name)
    assert (fmt.bits, fmt.max, fmt.min) == (info.bits, int(info.max), int(info.min))


@pytest.mark.parametrize("name", ["float64", "float32", "float16"])
def test_numpy_smallest_subnormal(name):
    # A power of two of NumPy's own; finfo would warn where another library flushes subnormals to zero.
    step = np.nextafter(np.dtype(name).type(0), np.dtype(name).type(1))
    assert as_plain_format(name).smallest_subnormal == Fraction(float(step))


@pytest.mark.claim("D4", "S18")
@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_every_pattern_as_ml_dtypes_reads_it(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    patterns = 2 ** as_plain_format(name).bits
    theirs = np.arange(patterns, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float64)
    ours = [float(decode(name, pattern)) for pattern in range(patterns)]
    np.testing.assert_array_equal(ours, theirs)
    assert representable(name) == sorted({Fraction(v) for v in theirs if math.isfinite(v)})


def test_every_pattern_of_two_bytes():
    torch = pytest.importorskip("torch")
    patterns = np.arange(2**16, dtype=np.uint16)
    bf16 = torch.from_numpy(patterns.view(np.int16)).view(torch.bfloat16).double().numpy()
    for name, theirs in (("fp16", patterns.view(np.float16).astype(np.float64)), ("bf16", bf16)):
        np.testing.assert_array_equal([float(decode(name, int(p))) for p in patterns], theirs)


@pytest.mark.claim("S19", "D4")
def test_grid_of_e2m1():
    positive = [0, Fraction(1, 2), 1, Fraction(3, 2), 2, 3, 4, 6]
    assert representable("e2m1") == sorted({*positive, *(-v for v in positive)})


def test_grids_of_integers():
    assert representable("int8") == list(range(-128, 128))
    assert representable("uint4") == list(range(16))
    assert representable("bool") == [0, 1]
    # OCP: the elements of mxint8 go from -2 to 1 + 63/64 in steps of 1/64
    assert representable(as_format("mxint8").element) == [Fraction(i, 64) for i in range(-128, 128)]


@pytest.mark.parametrize("fmt", SMALL, ids=lambda fmt: fmt.name)
def test_derived_numbers_are_those_of_the_whole_list(fmt):
    values = representable(fmt)
    assert (fmt.max, fmt.min) == (values[-1], values[0])
    if fmt.smallest_subnormal is not None:
        assert fmt.smallest_subnormal == min(v for v in values if v > 0)
        assert fmt.smallest_normal == 2**fmt.mantissa_bits * fmt.smallest_subnormal
    if fmt.epsilon is not None:
        assert fmt.epsilon == min(v for v in values if v > 1) - 1


@pytest.mark.claim("S14", "S15", "S16")
def test_fields_of_the_lecture():
    fields = {name: as_plain_format(name) for name in ("fp32", "fp16", "bf16", "tf32")}
    got = {n: (f.sign_bits, f.exponent_bits, f.mantissa_bits) for n, f in fields.items()}
    assert got == {"fp32": (1, 8, 23), "fp16": (1, 5, 10), "bf16": (1, 8, 7), "tf32": (1, 8, 10)}
    assert (fields["tf32"].bits, fields["tf32"].stored_bits, fields["tf32"].itemsize) == (19, 32, 4)
    assert (fields["fp16"].epsilon, fields["bf16"].epsilon) == (Fraction(1, 2**10), Fraction(1, 2**7))
    assert fields["fp16"].smallest_subnormal == Fraction(1, 2**24)


def test_tf32_is_fp32_with_13_bits_cut_off():
    largest = np.array([0x7F7FFFFF & ~0x1FFF], dtype=np.uint32).view(np.float32)[0]
    tf32, fp32 = as_plain_format("tf32"), as_plain_format("fp32")
    assert tf32.max == Fraction(float(largest))
    assert tf32.smallest_normal == fp32.smallest_normal
    assert tf32.smallest_subnormal == 2**13 * fp32.smallest_subnormal


@pytest.mark.claim("S18")
def test_max_of_fp8():
    assert as_plain_format("e4m3").max == Fraction(7, 4) * 2**8 == 448
    assert as_plain_format("e5m2").max == Fraction(7, 4) * 2**15 == 57344


@pytest.mark.claim("S19")
def test_effective_bits():
    got = {name: float(as_format(name).effective_bits) for name in ("mxfp8", "mxfp6", "mxfp4", "mxint8", "nvfp4")}
    assert got == {"mxfp8": 8.25, "mxfp6": 6.25, "mxfp4": 4.25, "mxint8": 8.25, "nvfp4": 4.5}
    assert as_format("mxfp8_e5m2").effective_bits == 8.25
    assert as_format("mxfp6_e3m2").effective_bits == 6.25


def test_a_format_of_ones_own():
    b11 = Format("float8_e4m3b11fnuz", 1, 4, 3, "fnuz", own_bias=11)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    theirs = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3b11fnuz).astype(np.float64)
    assert representable(b11) == sorted({Fraction(v) for v in theirs if math.isfinite(v)})
    assert b11.max == 30


@pytest.mark.parametrize(
    "fields",
    [
        (2, 4, 3, "ieee"),
        (1, 0, 3, "ieee"),
        (1, 4, 0, "fn"),
        (0, 4, 3, "fnuz"),
        (1, 8, 0, "e8m0"),
        (1, 2, 5, "int"),
        (1, 0, 1, "bool"),
        (1, 4, 3, "e4m3"),
        (1, 4, 3, "fn", 0),
        (1, 8, 10, "ieee", 1, None, 18),
    ],
)
def test_fields_that_cannot_be_read_are_refused(fields):
    with pytest.raises(DtypeError, match="mine"):
        Format("mine", *fields)


def test_empty_blocks_are_refused():
    with pytest.raises(DtypeError, match="at least 1"):
        BlockFormat("mine", as_plain_format("fp4"), 0, as_plain_format("e8m0"))
