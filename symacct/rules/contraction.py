"""Einsum operations: contractions, outer and element-wise products, reductions, diagonals, permutations.

One product of two operands, `b d, d k -> b k`, visits b*d*k points and yields b*k outputs: a sum of d products each.
An axis of one operand alone that is not in the output is summed before the product, as torch does.
"""

from __future__ import annotations

from collections.abc import Sequence

from symacct.conventions import Key, Work
from symacct.expr import Expr, add
from symacct.graph import Einsum, Graph, Op, Tensor
from symacct.rules.rule import Attrs, Out, Read, Rule


def work(op: Op, _graph: Graph) -> Work:
    """Return the work of one einsum operation.

    - one operand: axes missing from the output are summed, `reduce`; nothing else costs an operation
    - two operands: lone axes are summed first; then `contract` if an axis is summed over the product, else one `mul`
      an output element
    - as one loop nest (`order="naive"`) of k operands: k - 2 multiplies a point besides the sum of products, or
      k - 1 multiplies an output element where nothing is summed
    """
    e = op.einsum
    assert e is not None
    if len(e.operands) == 1:
        return _reduction(e, set(e.operands[0]), set(e.output))
    return _nest(e) if e.nest or len(e.operands) > 2 else pair_work(e)


def pair_work(e: Einsum) -> Work:
    """Return the work of one product of two operands, lone axes summed first."""
    first, second, out = set(e.operands[0]), set(e.operands[1]), set(e.output)
    shared = (first & second) | out
    product = _product_of(e, shared, out, 2)
    if first | second == shared:
        return product
    return _sum(_reduction(e, first, first & shared), _reduction(e, second, second & shared), product)


def _nest(e: Einsum) -> Work:
    return _product_of(e, {a for operand in e.operands for a in operand}, set(e.output), len(e.operands))


def _product_of(e: Einsum, axes: set[str], out: set[str], operands: int) -> dict[Key, Expr]:
    points = e.size(axes)
    if axes <= out:
        return {("mul", "points"): (operands - 1) * points}
    work: dict[Key, Expr] = {("contract", "points"): points, ("contract", "outputs"): e.size(axes & out)}
    return work if operands == 2 else {**work, ("mul", "points"): (operands - 2) * points}


def _reduction(e: Einsum, axes: set[str], kept: set[str]) -> dict[Key, Expr]:
    if axes <= kept:
        return {}
    return {("reduce", "points"): e.size(axes), ("reduce", "outputs"): e.size(axes & kept)}


def _sum(*works: dict[Key, Expr]) -> Work:
    out: dict[Key, Expr] = {}
    for key, amount in (item for work in works for item in work.items()):
        out[key] = add((out[key], amount)) if key in out else amount
    return out


def reads(op: Op, _graph: Graph) -> tuple[Read, ...]:
    """Return what is read: each operand once, of a repeated name the diagonal only."""
    e = op.einsum
    assert e is not None
    return tuple(_touched(e, axes, tensor) for axes, tensor in zip(e.operands, op.inputs, strict=True))


def writes(op: Op, _graph: Graph) -> tuple[Read, ...]:
    """Return what is written: the output once."""
    e = op.einsum
    assert e is not None
    return (_touched(e, e.output, op.outputs[0]),)


def _touched(e: Einsum, axes: tuple[str, ...], tensor: int) -> Read:
    """Return the distinct axes; a row is what is summed, else the last axis (it is what scales of a block share)."""
    distinct = tuple(dict.fromkeys(axes))
    summed = tuple(i for i, a in enumerate(distinct) if a not in e.output)
    row = summed or ((len(distinct) - 1,) if distinct else ())
    return Read(tensor, tuple(e.sizes[a] for a in distinct), row)


def shape(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the sizes of the output axes; the inputs were checked when the axes were named."""
    e = attrs["einsum"]
    return (Out(tuple(e.sizes[a] for a in e.output)),)


RULES = {"einsum": Rule("contraction", shape, work, reads, writes)}
