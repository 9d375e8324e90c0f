"""``fuse="flash"``: which attentions run as one kernel, and which do not and why.

A flash kernel runs a logical attention, `symacct.scaled_dot_product_attention`. A softmax between two products that are
written out is not merged: nothing but its name would say that it is an attention, and a kernel that keeps the scores
inside has to know which operations scale, mask and drop them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from symacct.accounting.walk import graphs
from symacct.graph import Graph, Op
from symacct.rules import rule_of

BETWEEN = ("copies", "dropout", "pointwise", "views")
"""Families of what may stand between a softmax and the products around it: a scale, a mask, a cast."""


def told_of_flash(graph: Graph) -> str:
    """Say what ``fuse="flash"`` leaves as it is; nothing where all attention is logical."""
    if chains := written_out(graph):
        stay = "softmax between two products is" if chains == 1 else "softmaxes between two products are"
        return f"{chains} {stay} written out and not merged: only scaled_dot_product_attention is one kernel"
    if not any(op.kind.startswith("sdpa") for part in graphs(graph) for op in part.ops):
        return "no scaled_dot_product_attention here: nothing is merged"
    return ""


def written_out(graph: Graph) -> int:
    """Return how many softmaxes stand between two products, each in a body or branch once."""
    return sum(_between_products(op, part) for part in graphs(graph) for op in part.ops if op.kind == "softmax")


def _between_products(op: Op, graph: Graph) -> bool:
    maker = {i: other for other in graph.ops for i in other.outputs}

    def makers(of: Op) -> list[Op]:
        return [maker[i] for i in of.inputs if i in maker]

    takers: dict[int, list[Op]] = {}
    for other in graph.ops:
        for i in other.inputs:
            takers.setdefault(i, []).append(other)

    def users(of: Op) -> list[Op]:
        return [other for i in of.outputs for other in takers.get(i, ())]

    return _reaches_product(op, makers) and _reaches_product(op, users)


def _reaches_product(op: Op, beside: Callable[[Op], Iterable[Op]]) -> bool:
    waiting, seen = list(beside(op)), set[int]()
    while waiting:
        other = waiting.pop()
        if other.id in seen:
            continue
        seen.add(other.id)
        if other.einsum and len(other.inputs) == 2:
            return True
        if rule_of(other).family in BETWEEN:
            waiting += beside(other)
    return False
