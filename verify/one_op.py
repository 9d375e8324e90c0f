"""A graph of one operation, its output announced by its own rule, and what that operation is said to do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from symacct.conventions import Convention, convention_of, tally
from symacct.expr import Size, name, product
from symacct.graph import Graph, Op, Tensor
from symacct.rules import FORMULAS, RULES
from verify.check import agree, number

Axes = Sequence[str | int]
"""Axes of a tensor: names, or sizes such as 1."""

WEIGHTS = convention_of("2n").weights


def one_op(kind: str, operands: Sequence[Axes], **attrs: Any) -> Graph:
    """Build `kind` of operands with named axes."""
    inputs = [Tensor(i, _shape(axes), "input", f"operand {i + 1}") for i, axes in enumerate(operands)]
    outs = RULES[kind].shape(inputs, attrs)
    made = [Tensor(len(inputs) + i, o.shape, "output", "output", o.dtype) for i, o in enumerate(outs)]
    ids = tuple(t.id for t in inputs), tuple(t.id for t in made)
    return Graph((*inputs, *made), (Op(0, kind, *ids, attrs=attrs),), *ids)


def _shape(axes: Axes) -> tuple[Size, ...]:
    return tuple(name(a) if isinstance(a, str) else a for a in axes)  # type: ignore[misc]


def calls_of(graph: Graph, sizes: Mapping[str, int]) -> dict[str, int | float]:
    """How often each function with a weight is called: what a convention counts that gives a weight to it alone."""
    (op,) = graph.ops
    work = {key: n for key, n in RULES[op.kind].work(op, graph).items() if key[0] not in ("contract", "reduce")}
    out = {}
    for function in WEIGHTS:
        only = Convention("2n", weights={**dict.fromkeys(WEIGHTS, 0), function: 1})
        if counted := number(tally(work, only, FORMULAS).get("FLOP", 0), sizes):
            out[function] = counted
    return out


def flops_of(graph: Graph, sizes: Mapping[str, int], preset: str) -> int | float:
    """What a preset makes of the work, all units together."""
    (op,) = graph.ops
    counted = tally(RULES[op.kind].work(op, graph), convention_of(preset), FORMULAS)
    return sum(number(n, sizes) for n in counted.values())


def traffic_agrees(graph: Graph, sizes: Mapping[str, int], touched: Sequence[set[Any]], rows: Sequence[int]) -> None:
    """Compare what is read and written with the places that were touched, and rows of block scales with lengths.

    `touched` and `rows` are of the inputs and outputs that move, in order; an empty set is one that does not.
    """
    (op,) = graph.ops
    rule = RULES[op.kind]
    moved = [*rule.reads(op, graph), *rule.writes(op, graph)]
    expected = [(i, len(t), r) for i, t, r in zip((*op.inputs, *op.outputs), touched, rows, strict=True) if t]
    ours = [
        (
            m.tensor,
            number(product(m.shape), sizes),
            math.prod(int(number(m.shape[i], sizes)) for i in m.row),
        )
        for m in moved
    ]
    agree(ours, expected, f"tensor, elements and row of what {op.kind} moves at {dict(sizes)}")
