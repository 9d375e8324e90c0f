"""Every usual spelling finds its format, and a wrong one is told what is known."""

from __future__ import annotations

import numpy as np
import pytest

from symacct.dtypes import FORMATS, BlockFormat, as_format, as_plain_format
from symacct.errors import DtypeError

SPELLINGS = {
    "fp32": ["float32", "f32", "single", "FP32", " torch.float32 ", "Float32"],
    "bf16": ["bfloat16", "BFloat16", "torch.bfloat16"],
    "fp16": ["half", "float16", "f16"],
    "tf32": ["tensorfloat32"],
    "fp8_e4m3fn": ["fp8", "e4m3", "e4m3fn", "fp8-e4m3", "float8_e4m3fn", "torch.float8_e4m3fn"],
    "fp8_e4m3ieee": ["float8_e4m3"],
    "fp8_e5m2": ["e5m2", "float8_e5m2"],
    "fp6_e2m3": ["fp6", "float6_e2m3fn"],
    "fp4_e2m1": ["fp4", "e2m1", "float4_e2m1fn"],
    "fp4_e2m1x2": ["torch.float4_e2m1fn_x2"],
    "e8m0": ["float8_e8m0fnu"],
    "int64": ["long", "torch.int64"],
    "mxfp8_e4m3": ["mxfp8", "MXFP8"],
    "mxfp6_e2m3": ["mxfp6"],
    "nvfp4": ["NVFP4"],
}


@pytest.mark.parametrize(("name", "spelling"), [(n, s) for n, ss in SPELLINGS.items() for s in (n, *ss)])
def test_spelling(name, spelling):
    assert as_format(spelling).name == name


def test_canonical_names_are_distinct_and_find_themselves():
    names = [fmt.name for fmt in FORMATS]
    assert len(set(names)) == len(names)
    assert all(as_format(fmt.name) is fmt and as_format(fmt) is fmt for fmt in FORMATS)


def test_no_spelling_stands_for_two_formats():
    from symacct.dtypes.catalogue import _BY_NAME, _KNOWN

    spellings = [s for fmt, others in _KNOWN for s in (fmt.name, *others.split())]
    assert len(set(spellings)) == len(spellings)
    assert set(_BY_NAME) - set(spellings) == {f"{s}_flat" for s in spellings if s.startswith(("mx", "nv"))}


def test_every_torch_dtype_is_found_with_its_itemsize_or_refused():
    torch = pytest.importorskip("torch")
    found = {}
    for dtype in {d for d in vars(torch).values() if isinstance(d, torch.dtype)}:
        try:
            found[str(dtype)] = as_format(dtype)
        except DtypeError:
            continue
        assert found[str(dtype)].itemsize == dtype.itemsize, dtype
    expected = (
        "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz "
        "int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool complex128 complex64 complex32"
    )
    optional = {"torch.float8_e8m0fnu", "torch.float4_e2m1fn_x2"}  # came with torch 2.7 and 2.8
    assert set(found) - optional == {f"torch.{name}" for name in expected.split()}
    assert set(found) >= {name for name in optional if hasattr(torch, name.removeprefix("torch."))}


def test_dtypes_of_numpy_and_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert as_format(np.dtype("float32")) is as_format(np.float32) is as_format("fp32")
    assert as_format(np.dtype(ml_dtypes.float8_e4m3)) is as_format(ml_dtypes.float8_e4m3)
    assert as_plain_format(ml_dtypes.float8_e4m3).max == 240
    assert as_plain_format(bool) is as_format("bool")


def test_torch_placeholders_are_not_taken_for_packed_formats():
    with pytest.raises(DtypeError, match=r"torch\.uint4 is a placeholder .* 'uint4' .* 'uint8'"):
        as_format("torch.uint4")


@pytest.mark.parametrize(("wrong", "near"), [("bf61", "bf16"), ("flaot32", "float32"), ("nvfp8", "mxfp8")])
def test_unknown_name_lists_what_is_known(wrong, near):
    with pytest.raises(DtypeError) as caught:
        as_format(wrong)
    message = str(caught.value)
    assert f"unknown dtype '{wrong}'" in message
    assert "Did you mean" in message
    assert near in message
    assert all(fmt.name in message for fmt in FORMATS)


@pytest.mark.parametrize("wrong", ["", "float", "int", None, 3, float, "torch.qint8", "x" * 10_000])
def test_refused(wrong):
    with pytest.raises(DtypeError, match="unknown dtype") as caught:
        as_format(wrong)
    assert len(str(caught.value)) < 1000


def test_elements_and_scales_of_block_formats_are_known_by_name():
    blocks = [fmt for fmt in FORMATS if isinstance(fmt, BlockFormat)]
    assert len(blocks) == 7
    assert all(as_format(part.name) is part for fmt in blocks for part in (fmt.element, fmt.scale))


def test_block_format_where_a_plain_one_is_needed():
    with pytest.raises(DtypeError, match=r"nvfp4 is a block format.*'fp4_e2m1'"):
        as_plain_format("nvfp4")
