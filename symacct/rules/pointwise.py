"""Element-wise operations: one call of a function an output element, whatever the operands broadcast from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from symacct.conventions import Key, Work
from symacct.graph import Graph, Op, Tensor
from symacct.rules.rule import Attrs, Out, Rule, broadcast, no_work, out_of

PRIMITIVES = {
    "abs": "abs",
    "add": "add",
    "div": "div",
    "erf": "erf",
    "exp": "exp",
    "gelu": "gelu",
    "log": "log",
    "maximum": "max",
    "minimum": "max",
    "mul": "mul",
    "neg": "sub",
    "relu": "max",
    "rsqrt": "rsqrt",
    "sigmoid": "sigmoid",
    "silu": "silu",
    "sqrt": "sqrt",
    "square": "mul",
    "sub": "sub",
    "tanh": "tanh",
}
"""Which function each kind calls once an element: relu is max(x, 0), square is x*x."""

COMPARISONS = ("eq", "ge", "gt", "le", "lt")
FREE = ("logical_and", "logical_not", "logical_or", "where")
"""Selections and operations on masks: no arithmetic, but traffic."""

FORMULAS: Mapping[Key, Mapping[Key, int]] = {
    ("silu", "points"): {("sigmoid", "points"): 1, ("mul", "points"): 1},
    ("pow", "points"): {("mul", "points"): 1},
}
"""silu is x * sigmoid(x): a sigmoid and a multiply. A power p is p - 1 multiplies, which its work counts as points."""


def shape(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the broadcast of the inputs, in their dtype."""
    masks = {t.dtype for t in inputs}
    return (Out(broadcast([t.shape for t in inputs]), masks.pop() if len(masks) == 1 else attrs.get("dtype")),)


def shape_of_mask(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the broadcast of the inputs as a mask."""
    return (Out(broadcast([t.shape for t in inputs]), "bool"),)


def shape_of_where(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the broadcast of mask and values, in the values' dtype."""
    return (Out(broadcast([t.shape for t in inputs]), inputs[-1].dtype if len(inputs) > 1 else None),)


def work(op: Op, graph: Graph) -> Work:
    """Return one call an output element."""
    return {(PRIMITIVES[op.kind], "points"): out_of(op, graph).numel}


def work_of_comparison(op: Op, graph: Graph) -> Work:
    """Return one comparison an output element."""
    return {("compare", "points"): out_of(op, graph).numel}


def work_of_power(op: Op, graph: Graph) -> Work:
    """Return ``p - 1`` multiplies an element for a natural power p."""
    return {("pow", "points"): (op.attrs["exponent"] - 1) * out_of(op, graph).numel}


RULES = {
    **{kind: Rule("pointwise", shape, work) for kind in PRIMITIVES},
    **{kind: Rule("pointwise", shape_of_mask, work_of_comparison) for kind in COMPARISONS},
    **{kind: Rule("pointwise", shape_of_mask, no_work) for kind in FREE if kind != "where"},
    "where": Rule("pointwise", shape_of_where, no_work),
    "pow": Rule("pointwise", shape, work_of_power),
}
