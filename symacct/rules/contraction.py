"""Einsum operations: contractions, outer and element-wise products, reductions, diagonals, permutations.

One product of two operands, `b d, d k -> b k`, visits b*d*k points and yields b*k outputs: a sum of d products each.
An axis of one operand alone that is not in the output is summed before the product, as torch does.
"""

from __future__ import annotations

from collections.abc import Iterable

from symacct.conventions import Key, Work
from symacct.expr import Expr, add
from symacct.graph import Einsum, Graph, Op
from symacct.rules.rule import Read, Rule


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
        return _collected(_reduction(e, set(e.operands[0]), set(e.output)))
    return _nest(e) if e.nest or len(e.operands) > 2 else pair_work(e)


def pair_work(e: Einsum) -> Work:
    """Return the work of one product of two operands, lone axes summed first."""
    first, second, out = set(e.operands[0]), set(e.operands[1]), set(e.output)
    parts: list[tuple[Key, Expr]] = []
    for mine, other in ((first, second), (second, first)):
        kept = mine & (other | out)
        if kept != mine:
            parts += _reduction(e, mine, kept)
    left = (first & (second | out)) | (second & (first | out))
    return _collected(parts + _product_of(e, left, out, 2))


def _nest(e: Einsum) -> Work:
    return _collected(_product_of(e, {a for operand in e.operands for a in operand}, set(e.output), len(e.operands)))


def _product_of(e: Einsum, axes: set[str], out: set[str], operands: int) -> list[tuple[Key, Expr]]:
    points = e.size(_ordered(e, axes))
    if axes <= out:
        return [(("mul", "points"), (operands - 1) * points)]
    parts: list[tuple[Key, Expr]] = [
        (("contract", "points"), points),
        (("contract", "outputs"), e.size(_ordered(e, axes & out))),
    ]
    return parts if operands == 2 else [*parts, (("mul", "points"), (operands - 2) * points)]


def _reduction(e: Einsum, axes: set[str], kept: set[str]) -> list[tuple[Key, Expr]]:
    if axes <= kept:
        return []
    return [
        (("reduce", "points"), e.size(_ordered(e, axes))),
        (("reduce", "outputs"), e.size(_ordered(e, axes & kept))),
    ]


def _ordered(e: Einsum, axes: set[str]) -> Iterable[str]:
    return [a for a in e.sizes if a in axes]


def _collected(parts: list[tuple[Key, Expr]]) -> Work:
    out: dict[Key, Expr] = {}
    for key, amount in parts:
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


RULES = {"einsum": Rule(work, reads, writes)}
