"""Attention scores that are not kept: from the product that makes them to the one that uses them, run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from symacct.backward import Saving
from symacct.checkpointing.plan import larger
from symacct.checkpointing.saved import Key, Terms
from symacct.expr import Expr, add, multiply
from symacct.graph import Graph, Op


class Dropped(NamedTuple):
    """What is kept without scores, the bytes of these, and what bringing them back executes: whole, and until saved."""

    kept: dict[Key, Expr]
    transient: Expr = 0
    whole: Expr = 0
    until: Expr = 0


def without_scores(ops: Sequence[Op], saving: Saving, terms: Terms) -> Dropped:
    """Keep what makes the scores instead of them; what later operations alone keep is gone when these come back."""
    graph, places = saving.graph, score_regions(saving.graph, ops)
    kept: dict[Key, Expr] = {}
    first: dict[Key, int] = {}
    for place, op in enumerate(ops):
        if not any(place in region for region in places):
            own = terms.saved([op], saving)
            kept |= own
            first |= {key: place for key in own if key not in first}
    regions = [(region.start, ops[region.start : region.stop]) for region in places]
    for start, inside in regions:
        made = {i for op in inside for i in op.outputs}
        taken = {saving.owners[i] for op in inside for i in op.inputs if i not in made}
        arguments = {i for i in taken if graph.tensors[i].role != "param"}
        kept |= {i: terms.memory(i, saving) for i in arguments}
        first |= {i: min(start, first.get(i, start)) for i in arguments}
    changes: list[Expr] = []
    for start, inside in regions:
        gone = {key for key, place in first.items() if place >= start + len(inside)}
        back = [size for key, size in terms.saved(inside, saving).items() if key in gone or key not in kept]
        changes.append(add((*back, *(multiply(-1, kept[key]) for key in gone))))
    whole = [terms.flops(inside, graph) for _, inside in regions]
    tails = [multiply(-1, terms.tail(inside, saving)) for _, inside in regions]
    return Dropped(kept, reduce(larger, changes) if changes else 0, add(whole), add((*whole, *tails)))


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
