"""Where torch puts products in memory, and what it copies to multiply: strides, compared as exact expressions.

A product that sums is one batched matrix multiplication. Its axes fall into four groups: `batch` (both operands and the
output), `rows` and `columns` (one operand and the output), `inner` (summed). An operand must be viewable with each
group as one axis, else it is copied; the result lies in memory as (batch, rows, columns) whatever its order of axes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from symacct.expr import Expr, Size, add, at_most
from symacct.graph import Einsum, Tensor
from symacct.rules.rule import contiguous, strides_of
from symacct.rules.strides import plain


class Matrices(NamedTuple):
    """The axes of a product as torch multiplies it: each group becomes one axis."""

    batch: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    inner: tuple[str, ...]


def matrices(e: Einsum) -> Matrices | None:
    """Return the groups of axes of a product of two operands, None where it sums nothing.

    Output axes keep the output's order, summed ones their order of appearance; axes of size 1 are none to torch.
    """
    first, second = set(e.operands[0]), set(e.operands[1])
    inner = tuple(a for a in e.sizes if a in first & second and a not in e.output and e.sizes[a] != 1)
    if not inner:
        return None
    left = [a for a in e.output if a in first and e.sizes[a] != 1]
    batch = tuple(a for a in left if a in second)
    rows = tuple(a for a in left if a not in second)
    return Matrices(batch, rows, tuple(a for a in e.output if a not in left), inner)


def strides_of_product(e: Einsum, groups: Matrices) -> tuple[Expr, ...] | None:
    """Return the strides of a product that sums: those of (batch, rows, columns), put in the output's order.

    Torch exchanges the operands where all columns come before all rows, so that the output is contiguous; an axis that
    neither operand has (any more), or of size 1, counts as a column.
    """
    batch, rows, columns, _ = groups
    place = {a: i for i, a in enumerate(_order(e))}
    absent = [a for a in set(e.sizes).difference(e.output) if e.sizes[a] == 1 or not any(a in o for o in e.operands)]
    exchanged = bool(rows and columns) and all(place[a] < place[rows[0]] for a in (*columns, *absent))
    order = (*batch, *columns, *rows) if exchanged else (*batch, *rows, *columns)
    strides = dict(zip(order, contiguous(_sizes(e, order)), strict=True))
    return plain(_sizes(e, e.output), tuple(strides[a] for a in e.output))


def _order(e: Einsum) -> tuple[str, ...]:
    """Return the axes as torch lays them out: as `sizes` has them where the output agrees, else the output's first."""
    if tuple(a for a in e.sizes if a in e.output) == e.output:
        return tuple(e.sizes)
    return (*e.output, *(a for a in e.sizes if a not in e.output))


def strides_of_operand(e: Einsum, i: int, tensor: Tensor) -> Mapping[str, Expr]:
    """Return the stride of each axis of an operand that the product itself sees.

    Along a diagonal strides add up. Axes of this operand alone are summed first, into a tensor of its own.
    """
    axes = e.operands[i]
    others = set(e.output).union(*(operand for j, operand in enumerate(e.operands) if j != i))
    if not others.issuperset(axes):
        kept = [a for a in _order(e) if a in axes and a in others]
        return dict(zip(kept, contiguous(_sizes(e, kept)), strict=True))
    own = contiguous(_sizes(e, axes)) if tensor.strides is None else tensor.strides
    steps: dict[str, list[Expr]] = {}
    for a, stride in zip(axes, own, strict=True):
        steps.setdefault(a, []).append(stride)
    return {a: add(parts) for a, parts in steps.items()}


def is_copied(e: Einsum, groups: Matrices, strides: Mapping[str, Expr]) -> bool:
    """Whether an operand cannot be viewed with each group as one axis: whether some group is scattered in memory."""
    for group in groups:
        axes = [a for a in group if a in strides and e.sizes[a] != 1]
        if any(strides[a] != e.sizes[b] * strides[b] for a, b in itertools.pairwise(axes)):
            return True
    return False


def elementwise_strides(shape: tuple[Size, ...], tensors: Sequence[Tensor]) -> tuple[Expr, ...] | None:
    """Return the strides of an element-wise result, None for contiguous: it lies in memory as its operands do.

    Axes are sorted by the first operand that has both of a pair (its strides, then its sizes), as torch's iterators
    do; where names leave open which stride is larger, a pair stays in the order of the output.
    """
    if all(t.strides is None for t in tensors):
        return None
    strides = [_aligned(t, shape) for t in tensors]
    fastest_first = list(range(len(shape)))[::-1]
    for i in range(1, len(fastest_first)):
        at = i
        for before in range(i - 1, -1, -1):
            first, second = fastest_first[before], fastest_first[at]
            order = _compared(first, second, strides, shape)
            if order < 0:
                break
            if order > 0:
                fastest_first[before], fastest_first[at] = second, first
                at = before
    order_in_memory = fastest_first[::-1]
    steps = dict(zip(order_in_memory, contiguous(tuple(shape[a] for a in order_in_memory)), strict=True))
    return plain(shape, tuple(steps[a] for a in range(len(shape))))


def _aligned(t: Tensor, shape: tuple[Size, ...]) -> list[Expr]:
    """Return strides for the axes of the result; 0 where the tensor is repeated along one."""
    missing = len(shape) - len(t.shape)
    own = zip(t.shape, strides_of(t), shape[missing:], strict=True)
    return [0] * missing + [0 if size == 1 and full != 1 else stride for size, stride, full in own]


def _compared(a: int, b: int, strides: Sequence[Sequence[Expr]], shape: tuple[Size, ...]) -> int:
    """Return -1 where axis a is the faster one, 1 where b is, 0 where no operand tells."""
    for own in strides:
        if own[a] == 0 or own[b] == 0:
            continue
        if own[a] != own[b]:
            return 1 if at_most(own[b], own[a]) else -1
        if shape[a] != shape[b] and at_most(shape[b], shape[a]):
            return 1
    return 0


def _sizes(e: Einsum, axes: Sequence[str]) -> tuple[Size, ...]:
    return tuple(e.sizes[a] for a in axes)
