"""The rows of the table are complete, and their numbers are those of torch."""

from __future__ import annotations

from fractions import Fraction

import pytest

from symacct.dtypes import FORMATS, table
from symacct.errors import DtypeError


def test_one_row_a_format():
    assert [row.name for row in table()] == [fmt.name for fmt in FORMATS]


def test_rows_of_the_common_formats():
    rows = {row.name: row for row in table("fp32", "tf32", "fp8", "int8", "complex64", "bool")}
    assert [(r.bits, r.stored_bits, r.fields, r.encoding) for r in rows.values()] == [
        (32, 32, "1/8/23", "ieee"),
        (19, 32, "1/8/10", "ieee"),
        (8, 8, "1/4/3", "fn"),
        (8, 8, "1/0/7", "int"),
        (64, 64, "2 x 1/8/23", "ieee"),
        (1, 8, "0/0/1", "bool"),
    ]
    int8, fp8 = rows["int8"], rows["fp8_e4m3fn"]
    assert int8[5:10] == (127, -128, None, None, None)
    assert fp8[5:] == (448, -448, Fraction(1, 64), Fraction(1, 512), Fraction(1, 8), 0)


@pytest.mark.claim("S15", "S16")
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"])
def test_small_becomes_what_torch_makes_of_it(name):
    torch = pytest.importorskip("torch")
    (row,) = table(name)
    cast = torch.tensor(1e-8, dtype=torch.float64).to(getattr(torch, name))
    assert row.small_becomes == cast.double().item()


@pytest.mark.claim("S19")
def test_block_rows_count_scales_and_leave_ranges_open():
    mxfp4, nvfp4 = table("mxfp4", "nvfp4")
    assert (mxfp4.bits, mxfp4.fields, mxfp4.encoding) == (4.25, "fp4_e2m1, scale e8m0", "blocks of 32")
    assert nvfp4.bits == nvfp4.stored_bits == 4.5
    assert (nvfp4.fields, nvfp4.encoding) == ("fp4_e2m1, scale fp8_e4m3fn, fp32 a tensor", "blocks of 16")
    assert set(nvfp4[5:]) == {None}


def test_unknown():
    with pytest.raises(DtypeError, match="unknown dtype 'fp7'"):
        table("fp32", "fp7")
