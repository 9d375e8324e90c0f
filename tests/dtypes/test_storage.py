"""Bytes agree with real tensors of torch, and with packing bits and counting blocks one element at a time."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import symacct as sa
from symacct.dtypes import FORMATS, BlockFormat, as_format, storage_bytes
from symacct.errors import AxisConflictError, DtypeError, SizeError, UnknownAxisError
from symacct.expr import evaluate, name

SHAPES = st.lists(st.integers(0, 7), max_size=4).map(tuple)
BLOCKS = [fmt.name for fmt in FORMATS if isinstance(fmt, BlockFormat)]
# Bits a value, values that share a scale, bits of a scale, bytes a tensor: copied from the specifications.
FACTS = {
    "mxfp8_e4m3": (8, 32, 8, 0),
    "mxfp8_e5m2": (8, 32, 8, 0),
    "mxfp6_e2m3": (6, 32, 8, 0),
    "mxfp6_e3m2": (6, 32, 8, 0),
    "mxfp4": (4, 32, 8, 0),
    "mxint8": (8, 32, 8, 0),
    "nvfp4": (4, 16, 8, 4),
}


def packed(bits):
    """Bytes of a bit stream, by writing it."""
    return len(np.packbits(np.ones(bits, dtype=np.uint8)))


def counted(dtype, shape, axes):
    """Bytes of a block format: visit every element, add its bits to its row, open a scale at each block."""
    bits, block, scale, tensor = FACTS[dtype]
    rows = {}
    for index in itertools.product(*map(range, shape)):
        row = tuple(i for axis, i in enumerate(index) if axis not in axes)
        values, scales = rows.get(row, (0, 0))
        rows[row] = (values + 1, scales + (values % block == 0))
    return tensor + sum(packed(values * bits) + packed(scales * scale) for values, scales in rows.values())


@pytest.mark.claim("S12")
@pytest.mark.filterwarnings("ignore:ComplexHalf")
@given(SHAPES)
@example((4, 8))
@example(())
def test_as_torch_stores_every_dtype(shape):
    torch = pytest.importorskip("torch")
    tried = 0
    for dtype in {d for d in vars(torch).values() if isinstance(d, torch.dtype)}:
        try:
            ours = storage_bytes(dtype, shape)
        except DtypeError:
            continue
        tried += 1
        assert ours == torch.empty(shape, dtype=dtype).untyped_storage().nbytes(), dtype
    assert tried >= 20


@pytest.mark.claim("S12", "S13")
def test_bytes_of_the_lecture():
    assert storage_bytes("fp32", (4, 8)) == 128
    weight = storage_bytes("fp32", (12288 * 4, 12288))
    assert weight == 2_415_919_104 == 2304 * 2**20 == Fraction(9, 4) * 2**30
    torch = pytest.importorskip("torch")
    w = torch.empty(12288 * 4, 12288, device="meta")
    assert weight == w.numel() * w.element_size()


@pytest.mark.parametrize(("dtype", "bits"), [("int4", 4), ("uint4", 4), ("fp4", 4), ("fp6_e3m2", 6), ("fp6", 6)])
def test_below_a_byte_as_a_bit_stream(dtype, bits):
    for n in range(33):
        assert storage_bytes(dtype, (n,)) == packed(n * bits)
    assert storage_bytes(dtype, (3, 5)) == packed(15 * bits)  # no padding of rows
    assert storage_bytes(dtype, ()) == 1


def test_fields_and_storage_are_not_the_same():
    assert storage_bytes("tf32", (10,)) == 40
    assert storage_bytes("bool", (10,)) == 10
    assert storage_bytes("complex64", (10,)) == 80


@pytest.mark.claim("S19")
@given(st.sampled_from(BLOCKS), st.lists(st.integers(1, 40), min_size=1, max_size=3), st.data())
def test_block_formats_as_counted_one_element_at_a_time(dtype, shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    assert storage_bytes(dtype, shape, axis) == counted(dtype, shape, {axis % len(shape)})
    axes = data.draw(st.permutations(range(len(shape))))[: data.draw(st.integers(1, len(shape)))]
    assert storage_bytes(dtype, shape, tuple(axes)) == counted(dtype, shape, set(axes))
    assert storage_bytes(dtype, shape, "flat") == counted(dtype, shape, set(range(len(shape))))


@pytest.mark.claim("S19")
@given(st.lists(st.integers(1, 70), min_size=1, max_size=3))
@example([17])
def test_nvfp4_flat_as_the_claim_states_it(shape):
    n = math.prod(shape)
    assert storage_bytes("nvfp4", shape, "flat") == math.ceil(n / 2) + math.ceil(n / 16) + 4


def test_odd_rows_round_up_one_by_one():
    assert storage_bytes("nvfp4", (3, 17)) == 3 * (9 + 2) + 4
    assert storage_bytes("nvfp4", (3, 17), 0) == 17 * (2 + 1) + 4
    assert storage_bytes("nvfp4", (3, 17), "flat") == 26 + 4 + 4
    assert storage_bytes("nvfp4", ()) == 1 + 1 + 4


@pytest.mark.parametrize("dtype", BLOCKS)
def test_full_blocks_take_the_effective_bits(dtype):
    fmt, n = as_format(dtype), 64 * 32
    tensor = 4 if dtype == "nvfp4" else 0
    assert (storage_bytes(dtype, (64, 32)) - tensor) * 8 == fmt.effective_bits * n


@given(st.sampled_from([fmt.name for fmt in FORMATS]), st.integers(1, 99), st.integers(1, 99), st.integers(1, 99))
def test_named_sizes_give_the_same_as_numbers(dtype, b, d, k):
    for axis in (-1, 0, (0, 2), "flat"):
        formula = storage_bytes(dtype, (name("b"), name("d"), 2 * name("k")), axis)
        assert evaluate(formula, {"b": b, "d": d, "k": k}) == storage_bytes(dtype, (b, d, 2 * k), axis)


def test_formulas_read_well():
    b, d = name("b"), name("d")
    assert repr(storage_bytes("bf16", (b, d))) == "2*b*d"
    assert repr(storage_bytes("int4", (b,))) == "ceil(b/2)"
    assert storage_bytes("mxfp4", (b, 64)) == 34 * b
    assert storage_bytes("int8", (d / 2, 3)) == 3 * d / 2  # whole bytes are never rounded


def test_sizes_of_numpy_are_exact():
    assert storage_bytes("fp64", (np.int32(2**30), np.int32(2**30))) == 2**63


@pytest.mark.parametrize("size", [-1, 2.0, "4", True, None, Fraction(1, 2)])
def test_what_is_not_a_size(size):
    with pytest.raises(SizeError, match="is not a size"):
        storage_bytes("fp32", (3, size))


@pytest.mark.parametrize("axis", [2, -3, (0, 5), (), "last", None, 0.5])
def test_no_such_block_axis(axis):
    with pytest.raises(UnknownAxisError, match="2 axes has the axes -2 to 1"):
        storage_bytes("nvfp4", (3, 4), axis)


def test_block_axis_named_twice():
    with pytest.raises(AxisConflictError, match="twice"):
        storage_bytes("nvfp4", (3, 4), (1, -1))


@pytest.mark.claim("S19")
def test_flat_blocks_in_an_account() -> None:
    """Of 5 rows of 17 values each has ceil(17/16) = 2 scales and ceil(17/2) = 9 bytes; flat there are 85."""
    sizes = {"b": 3, "d": 17, "k": 5}
    by_row = sa.bytes("b d, k d -> b k", dtype=["bf16", "nvfp4", "bf16"], sizes=sizes)
    flat = sa.bytes("b d, k d -> b k", dtype=["bf16", "nvfp4-flat", "bf16"], sizes=sizes)
    assert by_row == 2 * (3 * 17 + 3 * 5) + 5 * (9 + 2) + 4
    assert flat == 2 * (3 * 17 + 3 * 5) + math.ceil(85 / 2) + math.ceil(85 / 16) + 4


@pytest.mark.parametrize("name", ["bf16_flat", "flat", "nvfp4_flat_flat"])
def test_only_block_formats_are_flat(name: str) -> None:
    with pytest.raises(DtypeError, match="unknown dtype"):
        as_format(name)
