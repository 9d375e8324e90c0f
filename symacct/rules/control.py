"""Repeats and branches: their work is that of the graphs inside, which accounts visit one by one."""

from __future__ import annotations

from collections.abc import Sequence

from symacct.graph import Tensor
from symacct.rules.rule import Attrs, Out, Rule, no_work, touch_nothing


def shape_of_repeat(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shapes of the carry, which the body keeps."""
    body = attrs["body"]
    return tuple(Out(body.tensors[i].shape, body.tensors[i].dtype) for i in body.outputs)


def shape_of_cond(_inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the shapes that the branches share."""
    branch = attrs["branches"][0]
    return tuple(Out(branch.tensors[i].shape, branch.tensors[i].dtype) for i in branch.outputs)


RULES = {
    "repeat": Rule("control", shape_of_repeat, no_work, touch_nothing, touch_nothing),
    "cond": Rule("control", shape_of_cond, no_work, touch_nothing, touch_nothing),
}
