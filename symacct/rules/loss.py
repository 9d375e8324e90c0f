"""Losses over n terms. Cross-entropy is a log_softmax and then, as in torch, the negative log-likelihood of targets.

    nll_loss    -log_probs[target] a row; n the rows
        none    - of each                                               n sub
        sum     sum of n terms, -                                       n sum; sub
        mean    sum of n terms, -, / number of targets that count       n sum; sub, div
    nll_loss_backward: zeros, and at each target
        none    -g of its row                                           n sub
        sum     -g                                                      sub
        mean    -g / number of targets that count                       sub, div
    mse_loss    (x - y) * (x - y) an element; n the elements
        none                                                            n sub, n mul
        sum     sum of n terms                                          n sub, n mul, n sum
        mean    sum of n terms, / n                                     n sub, n mul, n sum; div

Counting the targets that count (all but `ignore_index`) is no floating-point work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from symacct.conventions import Key, Work
from symacct.errors import ShapeError
from symacct.expr import Expr
from symacct.graph import Graph, Op, Tensor
from symacct.rules.rule import (
    Attrs,
    Backward,
    Out,
    Read,
    Residual,
    Rule,
    last_axis,
    no_second_gradient,
    same_shape,
    show_shape,
    whole,
    write_all,
)

FORMULAS: Mapping[Key, Mapping[Key, int]] = {
    ("nll_loss", "points"): {},
    ("nll_loss", "summed"): {("reduce", "points"): 1},
    ("nll_loss", "outputs"): {("reduce", "outputs"): 1},
    ("nll_loss", "negated"): {("sub", "points"): 1},
    ("nll_loss", "means"): {("div", "points"): 1},
    ("nll_loss_backward", "points"): {},
    ("nll_loss_backward", "negated"): {("sub", "points"): 1},
    ("nll_loss_backward", "means"): {("div", "points"): 1},
    ("mse_loss", "points"): {("sub", "points"): 1, ("mul", "points"): 1},
    ("mse_loss", "summed"): {("reduce", "points"): 1},
    ("mse_loss", "outputs"): {("reduce", "outputs"): 1},
    ("mse_loss", "means"): {("div", "points"): 1},
}
"""What a term is made of (`points`; a log-probability is looked up), and a sum or a mean of terms."""


def shape_of_nll_loss(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the loss, and how many targets count, a number in the dtype of the log-probabilities."""
    log_probs, targets = inputs
    rows = log_probs.shape[:1] + log_probs.shape[2:] if len(log_probs.shape) > 1 else ()
    if not log_probs.shape or targets.shape != rows:
        shapes = f"{show_shape(log_probs.shape)} and {show_shape(targets.shape)}"
        msg = f"the shapes {shapes} do not fit: the targets have to be {show_shape(rows)}, without the axis of classes"
        raise ShapeError(msg)
    return Out(rows if attrs["reduction"] == "none" else (), log_probs.dtype), Out((), log_probs.dtype)


def work_of_nll_loss(op: Op, graph: Graph) -> Work:
    """Return the rows, what is summed and divided, and how many signs change."""
    rows = graph.tensors[op.inputs[1]].numel
    return {("nll_loss", "points"): rows, ("nll_loss", "negated"): _results(op, rows), **_sum("nll_loss", op, rows)}


def work_of_nll_loss_backward(op: Op, graph: Graph) -> Work:
    """Return the rows, how many signs change, and the division of a mean."""
    name, rows = op.kind, graph.tensors[op.inputs[2]].numel
    means: dict[Key, Expr] = {(name, "means"): 1} if op.attrs["reduction"] == "mean" else {}
    return {(name, "points"): rows, (name, "negated"): _results(op, rows), **means}


def work_of_mse_loss(op: Op, graph: Graph) -> Work:
    """Return the elements, and what is summed and divided."""
    numel = graph.tensors[op.inputs[0]].numel
    return {("mse_loss", "points"): numel, **_sum("mse_loss", op, numel)}


def _results(op: Op, terms: Expr) -> Expr:
    return terms if op.attrs["reduction"] == "none" else 1


def _sum(name: str, op: Op, terms: Expr) -> dict[Key, Expr]:
    if op.attrs["reduction"] == "none":
        return {}
    means: dict[Key, Expr] = {(name, "means"): 1} if op.attrs["reduction"] == "mean" else {}
    return {(name, "summed"): terms, (name, "outputs"): 1, **means}


def reads_of_nll_loss(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read one log-probability a target, and the targets."""
    targets = graph.tensors[op.inputs[1]]
    return Read(op.inputs[0], targets.shape, last_axis(targets.shape)), whole(graph, targets.id)


def reads_of_nll_loss_backward(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read the gradient and the targets, for a mean their number; the log-probabilities only tell a shape."""
    grad, _, targets, total = (whole(graph, i) for i in op.inputs)
    return (grad, targets, total) if op.attrs["reduction"] == "mean" else (grad, targets)


def writes_of_nll_loss_backward(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Write zeros everywhere, then one element a target."""
    targets = graph.tensors[op.inputs[2]]
    return (*write_all(op, graph), Read(op.outputs[0], targets.shape, last_axis(targets.shape)))


def keep_of_nll_loss(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep the log-probabilities, the targets and their number."""
    return (Residual("input", 0), Residual("input", 1), Residual("output", 1)) if any(needs) else ()


def keep_of_mse_loss(_op: Op, _graph: Graph, needs: tuple[bool, ...]) -> tuple[Residual, ...]:
    """Keep both inputs."""
    return (Residual("input", 0), Residual("input", 1)) if any(needs) else ()


def gradient_of_nll_loss(b: Backward) -> tuple[Any, ...]:
    """Return the gradient of the log-probabilities; the targets have none."""
    log_probs, targets = b.inputs
    return (b.apply("nll_loss_backward", b.grads[0], log_probs, targets, b.outputs[1], **b.attrs), None)


def shape_of_nll_loss_backward(inputs: Sequence[Tensor], _attrs: Attrs) -> tuple[Out, ...]:
    """Return the shape of the log-probabilities."""
    return (Out(inputs[1].shape, inputs[1].dtype),)


def shape_of_mse_loss(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the loss: one of every element, or of all."""
    (out,) = same_shape(inputs, 2)
    return (out if attrs["reduction"] == "none" else out._replace(shape=()),)


def gradient_of_mse_loss(b: Backward) -> tuple[Any, ...]:
    """Return ``(x - y) * (2*g)``, over n for a mean, and its negative."""
    (x, y), scale = b.inputs, 2 * b.grads[0]
    if b.attrs["reduction"] == "mean":
        scale = scale / prod(x.shape)
    return ((x - y) * scale if b.needs[0] else None, (y - x) * scale if b.needs[1] else None)


RULES = {
    "mse_loss": Rule(
        "loss", shape_of_mse_loss, work_of_mse_loss, residuals=keep_of_mse_loss, gradient=gradient_of_mse_loss
    ),
    "nll_loss": Rule(
        "loss",
        shape_of_nll_loss,
        work_of_nll_loss,
        reads_of_nll_loss,
        residuals=keep_of_nll_loss,
        gradient=gradient_of_nll_loss,
    ),
    "nll_loss_backward": Rule(
        "loss",
        shape_of_nll_loss_backward,
        work_of_nll_loss_backward,
        reads_of_nll_loss_backward,
        writes_of_nll_loss_backward,
        gradient=no_second_gradient,
    ),
}
