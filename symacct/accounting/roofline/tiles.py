"""By what factor products take longer since sizes are rounded up to tiles, and tiles to waves.

A kernel computes its output in tiles of so many rows and columns, and `units` tiles at once: a product of m by k with
k by n takes the time of ``ceil(m/rows) * ceil(n/columns)`` whole tiles; those of one kernel are rounded up to whole
waves. Of what is a product inside, m, n and k are those of the matrices that it is computed as.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

from symacct.accounting.roofline.machine import Machine
from symacct.accounting.steps import Step
from symacct.accounting.walk import Visit
from symacct.conventions import matmul_work
from symacct.expr import Expr, add, ceildiv, divide, multiply, product
from symacct.graph import Graph, Op
from symacct.rules import rule_of
from symacct.rules.attention import Heads, heads_of
from symacct.rules.rule import out_of

Product = tuple[Expr, Expr, Expr, Expr]
"""How many products there are, and m, n and k of each."""


def rounding(step: Step, machine: Machine, *, flash: bool) -> Expr | None:
    """Return the factor; None where a tile is given and what is computed has tiles of its own, which are not known.

    Those are attention in one kernel and experts, whose rows are data.
    """
    visits = [v for v in step.parts if matmul_work(rule_of(v.op).work(v.op, v.graph))]
    if machine.tile is None or not visits:
        return 1
    products = [list(_products_of(v, flash=flash)) for v in visits]
    if not all(products):
        return None
    exact, rounded = [], []
    for count, m, n, k in chain.from_iterable(products):
        rows, columns = (ceildiv(size, side) for size, side in zip((m, n), machine.tile, strict=True))
        tiles = product((count, rows, columns))
        if machine.units is not None:
            tiles = multiply(machine.units, ceildiv(tiles, machine.units))
        exact.append(product((count, m, n, k)))
        rounded.append(product((tiles, *machine.tile, k)))
    return divide(add(rounded), add(exact))


def _products_of(visit: Visit, *, flash: bool) -> Iterable[Product]:
    """Return the matrix products of an operation; none where they are not known."""
    op, graph = visit.op, visit.graph
    if op.einsum is not None:
        return _einsum(op)
    if op.kind in _ATTENTION and flash:
        return ()
    return _KINDS[op.kind](op, graph) if op.kind in _KINDS else ()


def _einsum(op: Op) -> Iterable[Product]:
    """Return m: axes of the first alone, n: of the second alone, k: summed; the axes of all three count products."""
    e = op.einsum
    if e is None or len(e.operands) != 2 or e.nest:
        return ()
    first, second, out = set(e.operands[0]), set(e.operands[1]), set(e.output)
    summed = (first & second) - out
    count, m, n = first & second & out, (first - second) & out, (second - first) & out
    return [(e.size(count), e.size(m), e.size(n), e.size(summed))] if summed else ()


def _conv(op: Op, graph: Graph) -> Iterable[Product]:
    """Return, for each group, windows by taps of all its input channels with its output channels."""
    w, out, groups = graph.tensors[op.inputs[1]].shape, out_of(op, graph).shape, op.attrs["groups"]
    return [(groups, _places(out, w), divide(w[0], groups), product(w[1:]))]


def _conv_transpose(op: Op, graph: Graph) -> Iterable[Product]:
    """Return, for each group, input places by its input channels with taps of its output channels."""
    x, w, groups = *(graph.tensors[i].shape for i in op.inputs[:2]), op.attrs["groups"]
    return [(groups, _places(x, w), product(w[1:]), divide(w[0], groups))]


def _conv_backward_weight(op: Op, graph: Graph) -> Iterable[Product]:
    """Return, for each group, its output channels by windows with taps of all its input channels."""
    grad, out, groups = graph.tensors[op.inputs[1]].shape, out_of(op, graph).shape, op.attrs["groups"]
    return [(groups, divide(out[0], groups), product(out[1:]), _places(grad, out))]


def _places(shape: tuple[Expr, ...], weight: tuple[Expr, ...]) -> Expr:
    """Return batch times places: all axes but that of the channels."""
    channels = len(shape) - (len(weight) - 2) - 1
    return product((*shape[:channels], *shape[channels + 1 :]))


def _attention(op: Op, graph: Graph) -> Iterable[Product]:
    """Return scores and outputs of all pairs, masked ones too."""
    x = heads_of(*(graph.tensors[i] for i in op.inputs[:3]))
    return [_scores(x, x.width), (x.query_rows, x.s, x.value_width, x.t)]


def _attention_backward(op: Op, graph: Graph) -> Iterable[Product]:
    """Return dP, dV, dQ and dK."""
    x = heads_of(*(graph.tensors[i] for i in op.inputs[1:4]))
    rows = x.query_rows
    gradients = (rows, x.t, x.value_width, x.s), (rows, x.s, x.width, x.t), (rows, x.t, x.width, x.s)
    return [_scores(x, x.value_width), *gradients]


def _scores(x: Heads, width: Expr) -> Product:
    return x.query_rows, x.s, x.t, width


_ATTENTION = ("sdpa", "sdpa_backward")
_KINDS: dict[str, Callable[[Op, Graph], Iterable[Product]]] = {
    "conv": _conv,
    "conv_transpose": _conv_transpose,
    "conv_backward_weight": _conv_backward_weight,
    "sdpa": _attention,
    "sdpa_backward": _attention_backward,
}
