"""Back through a graph, operation by operation: gradients of what is made become gradients of what it is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from symacct.backward.branches import through_cond
from symacct.backward.loops import through_repeat
from symacct.backward.needs import Needs, wants
from symacct.backward.parts import dtype_of_gradient
from symacct.errors import GraphError, SymacctError
from symacct.expr import Poly
from symacct.graph import Op
from symacct.rules import rule_of
from symacct.rules.rule import Backward
from symacct.symbolic import Builder, Symbolic, apply, wrap

Grads: TypeAlias = dict[int, Symbolic]
Through: TypeAlias = Callable[..., tuple[Symbolic | None, ...]]

THROUGH: Mapping[str, Through] = {"repeat": through_repeat, "cond": through_cond}
"""The operations with graphs inside, of which the gradient is one too."""


def propagate(builder: Builder, needs: set[int], grads: Grads) -> None:
    """Add, behind the operations of a builder, those that make the gradients of its tensors.

    Parameters
    ----------
    builder
        Holds the forward pass. A repeat or a conditional may come to yield more: what its gradient needs of the inside.
    needs
        The tensors that need a gradient.
    grads
        Gradients by tensor, at first those of what the graph yields. Where a tensor is read several times they add up.

    """
    for place in reversed(range(len(builder.ops))):
        op = builder.ops[place]
        wanted = wants(op, needs)
        if not any(wanted) or grads.keys().isdisjoint(op.outputs):
            continue
        builder.scope = op.scope
        for i, grad in zip(op.inputs, _gradients(builder, op, wanted, grads), strict=True):
            if grad is not None:
                # those of graphs inside, and of weights that are cast, are in their dtypes already
                mine = grad if op.parts or "source" in op.attrs else _in_dtype(grad, builder.tensors[i].dtype)
                grads[i] = grads[i] + mine if i in grads else mine
    builder.scope = ""


def _in_dtype(grad: Symbolic, dtype: str | None) -> Symbolic:
    """Return a gradient in the dtype that its tensor gives it."""
    wanted = dtype_of_gradient(dtype)
    return grad if grad.dtype == wanted else apply("cast", grad, dtype=wanted)


def _gradients(builder: Builder, op: Op, wanted: Needs, grads: Grads) -> tuple[Symbolic | None, ...]:
    """Return the gradient of each input that needs one.

    Raises
    ------
    SymacctError
        What the rule says about the gradient, with the operation.

    """
    if op.phase != "fwd":
        msg = f"operation {op.id} ({op.label}) is of a backward pass already; the gradient of a gradient is not known"
        raise GraphError(msg)
    coming = [grads.get(i) for i in op.outputs]
    if op.kind in THROUGH:
        return THROUGH[op.kind](builder, op, wanted, coming, propagate)
    inputs, outputs = (tuple(Symbolic(builder, i) for i in ids) for ids in (op.inputs, op.outputs))
    attrs: Mapping[str, Any] = op.attrs if op.einsum is None else {**op.attrs, "einsum": op.einsum}
    if isinstance(attrs.get("scalar"), Poly):
        attrs = {**attrs, "scalar": wrap(attrs["scalar"])}  # so that operators take it beside a tensor
    try:
        found = rule_of(op).gradient(Backward(apply, attrs, inputs, outputs, tuple(coming), wanted))
    except SymacctError as error:
        where = f" in {op.scope}" if op.scope else ""
        raise type(error)(f"the gradient of {op.label}{where}: {error}") from None
    return tuple(grad if need else None for grad, need in zip(found, wanted, strict=True))
