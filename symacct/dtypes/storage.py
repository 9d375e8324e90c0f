"""Bytes of a tensor in memory: values, packed; block scales and tensor scales, counted."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from symacct.dtypes.catalogue import as_format
from symacct.dtypes.formats import BlockFormat, Format
from symacct.errors import AxisConflictError, SizeError, UnknownAxisError
from symacct.expr import Expr, Poly, Size, ceildiv, product

BlockAxis: TypeAlias = int | tuple[int, ...] | Literal["flat"]


def storage_bytes(dtype: object, shape: Sequence[Size], block_axis: BlockAxis = -1) -> Size:
    """``numel * itemsize``, or ``ceil(numel * bits/8)`` below a byte; block formats by row, with scales.

    A row of k values takes ``ceil(k * bits/8)`` bytes (odd tails round up) and ``ceil(k / block)`` scales; a
    tensor has ``numel / k`` rows, and nvfp4 4 bytes more for its own scale. Values below a byte are packed
    without gaps, as kernels keep them; NumPy arrays of such dtypes take a whole byte a value.

    Parameters
    ----------
    dtype : Format, BlockFormat, str or dtype object
        As in `as_format`.
    shape : sequence of int or Poly
        Sizes of the axes; ``()`` is one value. For ``float4_e2m1fn_x2`` they count pairs, as in torch.
    block_axis : int, tuple of int, or "flat"
        Where the blocks of a block format run (plain formats have none): along one axis, normally the
        contracted one; along several that form one row; or over all values at once, as those of a flat
        format always do.

    Returns
    -------
    int or Poly
        Bytes.

    Raises
    ------
    DtypeError
        If the dtype is unknown.
    SizeError
        If a size is neither a whole number >= 0 nor a Poly.
    UnknownAxisError, AxisConflictError
        If the shape has no such block axis, or one is named twice.

    Examples
    --------
    >>> storage_bytes("fp32", (4, 8)), storage_bytes("int4", (3, 5)), storage_bytes("nvfp4", (2, 17))
    (128, 8, 26)

    """
    fmt = as_format(dtype)
    sizes = [_checked_size(size) for size in shape]
    if isinstance(fmt, Format):
        return cast("Size", _packed_bytes(fmt, product(sizes)))
    along = _row_axes(fmt, len(sizes), block_axis)
    length = product(size for axis, size in enumerate(sizes) if axis in along)
    rows = product(size for axis, size in enumerate(sizes) if axis not in along)
    row = _packed_bytes(fmt.element, length) + _packed_bytes(fmt.scale, ceildiv(length, fmt.block))
    tensor = _packed_bytes(fmt.tensor_scale, 1) if fmt.tensor_scale else 0
    return cast("Size", rows * row + tensor)


def _packed_bytes(fmt: Format, count: Expr) -> Expr:
    """``ceil(count * bits / 8)``."""
    whole, rest = divmod(fmt.stored_bits, 8)
    return ceildiv(count * fmt.stored_bits, 8) if rest else count * whole


def _row_axes(fmt: BlockFormat, rank: int, block_axis: BlockAxis) -> set[int]:
    """Return the axes that form a row, counted from 0."""
    if fmt.flat or block_axis == "flat" or rank == 0:
        return set(range(rank))
    named = block_axis if isinstance(block_axis, tuple) else (block_axis,)
    if not named or not all(isinstance(axis, int) and -rank <= axis < rank for axis in named):
        raise UnknownAxisError(
            f"block_axis={block_axis!r} of {fmt.name}: a shape of {rank} axes has the axes {-rank} to "
            f"{rank - 1}; name one, a tuple of them, or 'flat'"
        )
    axes = {axis % rank for axis in named}
    if len(axes) < len(named):
        raise AxisConflictError(f"block_axis={block_axis!r} of {fmt.name} names an axis twice; name each axis once")
    return axes


def _checked_size(size: Size) -> Size:
    """Return an exact size: Poly as it is, any library's integers as int."""
    if isinstance(size, Poly):
        return size
    try:
        whole = -1 if isinstance(size, bool) else operator.index(size)
    except TypeError:
        whole = -1
    if whole < 0:
        raise SizeError(f"{size!r} is not a size; give a whole number >= 0 or an expression such as name('b')")
    return whole
