"""What operations cost: one file a family, each with the work and the traffic of its kinds."""

from __future__ import annotations

from collections.abc import Mapping

from symacct.conventions import Key
from symacct.errors import UnknownOpError, one_of
from symacct.graph import Graph, Op
from symacct.rules import (
    activations,
    adaptive,
    attention,
    contraction,
    control,
    convolution,
    copies,
    creation,
    dropout,
    grouped,
    lookup,
    loss,
    norm_gradients,
    normalization,
    opaque,
    orderings,
    pointwise,
    pooling,
    reductions,
    rotary,
    scan,
    softmax,
    views,
)
from symacct.rules.announced import check_against
from symacct.rules.rule import Read, Rule

FAMILIES = (
    activations,
    adaptive,
    attention,
    contraction,
    control,
    convolution,
    copies,
    creation,
    dropout,
    grouped,
    lookup,
    loss,
    norm_gradients,
    normalization,
    opaque,
    orderings,
    pointwise,
    pooling,
    reductions,
    rotary,
    scan,
    softmax,
    views,
)
RULES: dict[str, Rule] = {kind: rule for family in FAMILIES for kind, rule in family.RULES.items()}
FORMULAS: dict[Key, Mapping[Key, int]] = {
    name: parts for family in FAMILIES for name, parts in getattr(family, "FORMULAS", {}).items()
}
"""What named functions are made of, by name and role: "points" (its elements), "outputs", and others of its own."""

__all__ = ["FORMULAS", "RULES", "Read", "Rule", "check_shapes", "owners", "rule_of"]


def rule_of(op: Op) -> Rule:
    """Return the rule of an operation.

    Raises
    ------
    UnknownOpError
        There is no rule; nothing is ever taken as free by default.

    """
    rule = RULES.get(op.kind)
    if rule is None:
        msg = f"no rule for the operation {op.kind!r}; known: {one_of(sorted(RULES))}"
        raise UnknownOpError(msg)
    return rule


def owners(graph: Graph, *, free_copies: bool) -> list[int]:
    """Return the tensor in whose memory each tensor of a graph lies.

    `free_copies` says that copies for layout alone are not made.
    """
    source = {op.outputs[0]: op.inputs[0] for op in graph.ops if rule_of(op).implicit_copy} if free_copies else {}
    found: list[int] = []
    for t in graph.tensors:
        lies_in = source.get(t.id) if t.storage is None else t.storage
        found.append(t.id if lies_in is None else found[lies_in])
    return found


def check_shapes(graph: Graph) -> None:
    """Check that every tensor of a legal graph has the shape, dtype, strides and memory that its rule announces.

    `symacct.graph.check` comes first.

    Raises
    ------
    GraphError
        Names the operation, what it makes and what its rule announces.

    """
    check_against(RULES, graph)
