"""Repeats and branches: their work is that of the graphs inside, which accounts visit one by one.

What a repeat collects is written by its iterations, each in its place: it moves nothing more. What an iteration did not
make (a slice of it, what it was given, the same tensor twice) is read and written once more; so is all of it in torch.
What it keeps for a backward pass (``attrs["kept"]`` of its last outputs) stays where it was made.

`absent` stands for a tensor that there is none of: what the branch that is not taken would yield, the gradient that a
carry does not have yet. It has a shape and costs nothing; where it is read after all it is zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from symacct.expr import Size, at_most
from symacct.graph import Condition, Graph, Op, Tensor, size_conditions
from symacct.rules.rule import Attrs, Out, Read, Rule, no_work, touch_nothing, whole


def shape_of_repeat(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the carry as the body leaves it, and what is collected or kept, stacked along a new first axis."""
    body, carries = attrs["body"], attrs["carry"]
    yielded = [body.tensors[i] for i in body.outputs]
    carry = tuple(Out(t.shape, t.dtype, strides=t.strides) for t in yielded[:carries])
    return (*carry, *(Out((attrs["n"], *t.shape), t.dtype) for t in yielded[carries:]))


def collected_twice(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Return what is collected and not written in its place: what the body did not make, or has twice."""
    return tuple(whole(graph, i) for i, in_place in _collected(op) if not in_place)


def stacked(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Return what is collected and was written in its place, where torch writes it elsewhere and stacks it."""
    return tuple(whole(graph, i) for i, in_place in _collected(op) if in_place)


def _collected(op: Op) -> list[tuple[int, bool]]:
    """Return the outputs that are collected, each with whether an iteration writes it in its place."""
    body, carries, stop = op.attrs["body"], op.attrs["carry"], op.attrs["carry"] + op.collected
    out, taken = [], set(body.inputs)
    for made, i in zip(body.outputs[carries:stop], op.outputs[carries:stop], strict=True):
        tensor = body.tensors[made]
        owner = body.tensors[tensor.owner]
        out.append((i, owner.id not in taken and owner.numel == tensor.numel))
        taken.add(owner.id)
    return out


def conditions_of_repeat(op: Op, _graph: Graph) -> list[Condition]:
    """Return that the number of iterations is a positive whole number, and not below that of those that differ."""
    n = op.attrs["n"]
    return size_conditions(n) + enough_turns(n, len(op.parts) - 1)


def enough_turns(n: Size, differing: int) -> list[Condition]:
    """Return that there are as many turns as those that differ, where that is not sure."""
    return [] if differing < 2 or at_most(differing, n) else [Condition("at_least", n, differing)]


def shape_of_cond(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return what the branches share; where they lay it out differently, it is taken as contiguous."""
    first, second = ([branch.tensors[i] for i in branch.outputs] for branch in attrs["branches"])
    return tuple(
        Out(one.shape, one.dtype, strides=one.strides if one.strides == other.strides else None)
        for one, other in zip(first, second, strict=True)
    )


def shape_of_absent(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return a shape without memory: zeros that nobody makes."""
    shape = tuple(attrs["shape"])
    return (Out(shape, attrs["dtype"], strides=(0,) * len(shape) if shape else None),)


RULES = {
    "absent": Rule("control", shape_of_absent, no_work, touch_nothing, touch_nothing),
    "repeat": Rule(
        "control",
        shape_of_repeat,
        no_work,
        collected_twice,
        collected_twice,
        conditions=conditions_of_repeat,
        copies=stacked,
    ),
    "cond": Rule("control", shape_of_cond, no_work, touch_nothing, touch_nothing),
}
