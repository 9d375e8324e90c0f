"""Which tensors of an operation are kept for the backward pass, under each policy.

torch           what autograd keeps, copies that lay operands out included
ideal           the same without copies: what was copied to be laid out is kept as it was
outputs         the output of each product: one tensor a linear layer
pre_and_post    both sides of each non-linearity
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from symacct.backward.needs import Needs
from symacct.expr import at_most, product
from symacct.graph import Graph, Op
from symacct.rules import rule_of
from symacct.rules.rule import Residual

PolicyName: TypeAlias = Literal["torch", "ideal", "outputs", "pre_and_post"]

NONLINEAR = ("exp", "gelu", "log_softmax", "maximum", "relu", "sigmoid", "silu", "softmax", "tanh")
"""The operations that have two sides under `pre_and_post`."""


class Keeping(NamedTuple):
    """A policy: what is kept of an operation, and whether what is copied to be laid out is memory of its own."""

    of: Callable[[Op, Graph, Needs], tuple[Residual, ...]]
    copies: bool


def by_rule(op: Op, graph: Graph, needs: Needs) -> tuple[Residual, ...]:
    """Return what autograd keeps of an operation."""
    return rule_of(op).residuals(op, graph, needs)


def without_copies(op: Op, graph: Graph, needs: Needs) -> tuple[Residual, ...]:
    """Return the same, where what is made for the purpose is smaller than what it is made from; else that itself."""
    return tuple(_source(r, op, graph) for r in by_rule(op, graph, needs))


def _source(r: Residual, op: Op, graph: Graph) -> Residual:
    if r.kind == "extra" and at_most(graph.tensors[op.inputs[r.which]].numel, product(r.shape)):
        return Residual("input", r.which, kernel=r.kernel)
    return r


def products(op: Op, graph: Graph, _needs: Needs) -> tuple[Residual, ...]:
    """Return the output of an operation that sums products."""
    sums = any(key[0].startswith("contract") for key in rule_of(op).work(op, graph))
    return (Residual("output"),) if sums else ()


def both_sides(op: Op, _graph: Graph, _needs: Needs) -> tuple[Residual, ...]:
    """Return what a non-linearity is given and what it makes."""
    return (Residual("input"), Residual("output")) if op.kind in NONLINEAR else ()


POLICIES: Mapping[str, Keeping] = {
    "torch": Keeping(by_rule, copies=True),
    "ideal": Keeping(without_copies, copies=False),
    "outputs": Keeping(products, copies=False),
    "pre_and_post": Keeping(both_sides, copies=False),
}
