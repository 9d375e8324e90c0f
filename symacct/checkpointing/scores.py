"""Where the scores of attention are made and used: from the product that makes them to the one that uses them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from symacct.graph import Graph, Op


def score_regions(graph: Graph, ops: Sequence[Op]) -> list[range]:
    """Return the stretches of operations, by their places, that run again where scores are not kept.

    Each softmax of the result of a product, with as many elements, that a product uses in turn; what lies between (a
    scale, a mask, dropout) is part of it. A softmax that no product uses, as that of a loss, is none.
    """
    maker = {i: place for place, op in enumerate(ops) for i in op.outputs}
    users: dict[int, list[int]] = {}
    for place, op in enumerate(ops):
        for i in op.inputs:
            users.setdefault(i, []).append(place)

    def makers(place: int) -> list[int]:
        return [maker[i] for i in ops[place].inputs if i in maker]

    def uses(place: int) -> list[int]:
        return [user for i in ops[place].outputs for user in users.get(i, ())]

    regions: list[range] = []
    for place, op in enumerate(ops):
        if op.kind != "softmax" or (regions and place in regions[-1]):
            continue
        numel = graph.tensors[op.inputs[0]].numel
        before = [p for p in _products(place, makers, ops) if graph.tensors[ops[p].outputs[0]].numel == numel]
        after = _products(place, uses, ops)
        if before and after:
            regions.append(range(max(before), min(after) + 1))
    return regions


def _products(start: int, neighbours: Callable[[int], list[int]], ops: Sequence[Op]) -> list[int]:
    """Return the products that are reached first, whatever else lies between."""
    found, seen, waiting = [], {start}, neighbours(start)
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if ops[place].kind == "einsum":
            found.append(place)
        else:
            waiting += neighbours(place)
    return found
