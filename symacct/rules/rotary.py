"""Rotary embedding: each pair of elements turned by an angle, ``(x1*cos - x2*sin, x2*cos + x1*sin)``.

A pair takes 4 multiplies, a subtraction and an addition, so an element 2 multiplies and 1 add or sub. The gradient
turns back by the same angle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.conventions import Work
from symacct.errors import GraphError, ShapeError
from symacct.expr import divide, multiply
from symacct.graph import Graph, Op, Tensor
from symacct.rules.rule import Attrs, Backward, Out, Residual, Rule, broadcast, out_of, show_shape


def shape(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of the input; cosines and sines have half its last axis and broadcast to the rest.

    Raises
    ------
    ShapeError
        Names the shapes.

    """
    x, cos, sin = inputs
    shapes = " and ".join(show_shape(t.shape) for t in (x, cos))
    if not x.shape or (type(x.shape[-1]) is int and x.shape[-1] % 2):
        msg = f"the last axis of {show_shape(x.shape)} has no pairs to turn"
        raise ShapeError(msg)
    half = (*x.shape[:-1], divide(x.shape[-1], 2))
    if cos.shape != sin.shape or not cos.shape or cos.shape[-1] != half[-1]:
        msg = f"the shapes {shapes} do not fit: cosines and sines have an angle a pair, {half[-1]}"
        raise ShapeError(msg)
    if broadcast([cos.shape, half]) != half:  # type: ignore[list-item]
        msg = f"the shapes {shapes} do not fit: the angles broadcast to {show_shape(half)}"
        raise ShapeError(msg)
    return (Out(x.shape, x.dtype),)


def work(op: Op, graph: Graph) -> Work:
    """Return 4 multiplies, a subtraction and an addition a pair."""
    turned = divide(out_of(op, graph).numel, 2)
    return {("mul", "points"): multiply(4, turned), ("sub", "points"): turned, ("add", "points"): turned}


def residuals(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep cosines and sines."""
    return (Residual("input", 1), Residual("input", 2)) if needs[0] else ()


def gradient(b: Backward) -> tuple[Any, ...]:
    """Turn the gradient back.

    Raises
    ------
    GraphError
        If the angles need a gradient.

    """
    if any(b.needs[1:]):
        msg = (
            "the angles are constants; name what gets a gradient, wrt='x' or params=, "
            "or write the rotation out if cos and sin are to be trained"
        )
        raise GraphError(msg)
    _, cos, sin = b.inputs
    back = not b.attrs["back"]
    return b.apply("rotary", b.grads[0], cos, sin, interleaved=b.attrs["interleaved"], back=back), None, None


RULES = {"rotary": Rule("attention", shape, work, residuals=residuals, gradient=gradient)}
