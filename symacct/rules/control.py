"""Repeats and branches: their work is that of the graphs inside, which accounts visit one by one."""

from __future__ import annotations

from collections.abc import Sequence

from symacct.graph import Condition, Graph, Op, Tensor, size_conditions
from symacct.rules.rule import Attrs, Out, Rule, no_work, touch_nothing


def shape_of_repeat(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the carry as the body leaves it."""
    body = attrs["body"]
    yielded = [body.tensors[i] for i in body.outputs]
    return tuple(Out(t.shape, t.dtype, strides=t.strides) for t in yielded)


def conditions_of_repeat(op: Op, _graph: Graph) -> list[Condition]:
    """Return that the number of iterations is a positive whole number."""
    return size_conditions(op.attrs["n"])


def shape_of_cond(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return what the branches share; where they lay it out differently, it is taken as contiguous."""
    first, second = ([branch.tensors[i] for i in branch.outputs] for branch in attrs["branches"])
    return tuple(
        Out(one.shape, one.dtype, strides=one.strides if one.strides == other.strides else None)
        for one, other in zip(first, second, strict=True)
    )


RULES = {
    "repeat": Rule("control", shape_of_repeat, no_work, touch_nothing, touch_nothing, conditions=conditions_of_repeat),
    "cond": Rule("control", shape_of_cond, no_work, touch_nothing, touch_nothing),
}
