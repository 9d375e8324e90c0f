"""Dropout: a random mask of zeros and ``1/(1 - p)``, and a product with it.

The terms are what torch executes on a CPU: the mask is drawn in the dtype of x (drawing is no arithmetic), divided by
``1 - p`` (n div), and multiplied with x (n mul); it is written and kept. A fused kernel keeps one byte an element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from symacct.conventions import Key, Work
from symacct.graph import Graph, Op, Tensor
from symacct.rules.layout import elementwise_strides
from symacct.rules.rule import Attrs, Backward, Out, Residual, Rule, out_of

FORMULAS: Mapping[Key, Mapping[Key, int]] = {("dropout", "points"): {("div", "points"): 1, ("mul", "points"): 1}}
"""What an element is made of."""


def shape(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the input's shape, and the mask, laid out as it is."""
    (x,) = inputs
    out = Out(x.shape, x.dtype, strides=elementwise_strides(x.shape, inputs))
    return out, out


def work(op: Op, graph: Graph) -> Work:
    """Return the elements."""
    return {("dropout", "points"): out_of(op, graph).numel}


def keep_mask(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the mask."""
    return (Residual("output", 1),) if any(needs) else ()


def gradient(b: Backward) -> tuple[Any, ...]:
    """Return ``g * mask``."""
    return (b.grads[0] * b.outputs[1],)


RULES = {"dropout": Rule("pointwise", shape, work, residuals=keep_mask, gradient=gradient)}
