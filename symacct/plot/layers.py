"""Where things stand in a picture: in layers from top to bottom, with few crossings and short lines."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from symacct.graph import Graph


class Spot(NamedTuple):
    """An operation, a tensor that is given or yielded, by id; or where the line of a tensor passes through a layer."""

    kind: Literal["op", "in", "out", "via"]
    id: int
    layer: int = 0


SWEEPS = 24
PULL: Mapping[str, float] = {"in": 0.02, "via": 0.2}
"""How much of a say a spot has in where its neighbours stand, 1 for operations: what flows through them is the line."""


@dataclass
class Placed:
    """Layers of spots from left to right, the x of each in the middle, and lines through spots, by tensor."""

    layers: list[list[Spot]] = field(default_factory=list)
    x: dict[Spot, float] = field(default_factory=dict)
    lines: list[tuple[int, list[Spot]]] = field(default_factory=list)


def links(graph: Graph, shown_as: Mapping[int, int]) -> list[tuple[Spot, Spot, int]]:
    """Return from where to where each tensor goes, each pair once; some inputs are shown as one of them."""
    maker: dict[int, Spot] = {i: Spot("op", op.id) for op in graph.ops for i in op.outputs}
    start: dict[int, Spot] = {i: maker.get(i, Spot("in", i)) for i in range(len(graph.tensors))}
    taken = [(shown_as.get(i, i), op.id) for op in graph.ops for i in op.inputs]
    found: list[tuple[Spot, Spot, int]] = [(start[i], Spot("op", op), i) for i, op in taken]
    found += [(start[i], Spot("out", i), i) for i in graph.outputs]
    return list(dict.fromkeys(found))


def place(graph: Graph, widths: Mapping[Spot, float], gap: float, shown_as: Mapping[int, int]) -> Placed:
    """Place a graph; `widths` of what is drawn, and the `gap` between neighbours, are in one unit."""
    found = links(graph, shown_as)
    heights = _heights(graph, found)
    placed = Placed([[] for _ in range(max(heights.values(), default=-1) + 1)])
    for spot, layer in heights.items():
        placed.layers[layer].append(spot)
    edges: dict[Spot, dict[Spot, None]] = {}
    for a, b, tensor in found:
        path: list[Spot] = [a, *(Spot("via", tensor, at) for at in range(heights[a] + 1, heights[b])), b]
        for at, spot in enumerate(path[1:-1], heights[a] + 1):
            if spot not in placed.layers[at]:
                placed.layers[at].append(spot)
        for upper, lower in itertools.pairwise(path):
            edges.setdefault(upper, {})[lower] = None
        placed.lines.append((tensor, path))
    downs = {spot: list(below) for spot, below in edges.items()}
    ups: dict[Spot, list[Spot]] = {}
    for upper, below in downs.items():
        for lower in below:
            ups.setdefault(lower, []).append(upper)
    _order(placed, ups, downs)
    _spread(placed, ups, downs, lambda spot: widths.get(spot, 0.0), gap)
    return placed


def _heights(graph: Graph, found: Iterable[tuple[Spot, Spot, int]]) -> dict[Spot, int]:
    """Return the layer of everything: generations of operations; what has none above it is just above its first use."""
    import networkx as nx

    found = list(found)
    order = nx.DiGraph([(a, b) for a, b, _ in found])
    order.add_nodes_from(Spot("op", op.id) for op in graph.ops)
    inner = order.subgraph(k for k in order if k.kind != "in")
    heights = {k: at for at, keys in enumerate(nx.topological_generations(inner), 1) for k in keys}
    for key in reversed(list(nx.topological_sort(order))):
        below = [heights[k] for k in order.successors(key)]
        if below and all(k.kind == "in" for k in order.predecessors(key)):
            heights[key] = min(below) - 1
    lowest = min(heights.values(), default=0)
    return {key: height - lowest for key, height in heights.items()}


def _order(placed: Placed, ups: Mapping[Spot, list[Spot]], downs: Mapping[Spot, list[Spot]]) -> None:
    """Order each layer by where its neighbours stand, downwards and upwards in turns; keep what crosses least."""
    best, crossings = [list(layer) for layer in placed.layers], _crossings(placed.layers, downs)
    for sweep in range(SWEEPS):
        layers, neighbours = (placed.layers[1:], ups) if sweep % 2 == 0 else (placed.layers[-2::-1], downs)
        for layer in layers:
            rank = {spot: at for row in placed.layers for at, spot in enumerate(row)}
            middle = {
                spot: sum(rank[n] for n in neighbours[spot]) / len(neighbours[spot])
                if neighbours.get(spot)
                else float(rank[spot])
                for spot in layer
            }
            layer.sort(key=lambda spot: middle[spot])
        now = _crossings(placed.layers, downs)
        if now < crossings:
            best, crossings = [list(layer) for layer in placed.layers], now
    placed.layers = best


def _crossings(layers: Sequence[Sequence[Spot]], downs: Mapping[Spot, list[Spot]]) -> int:
    count = 0
    for upper, lower in itertools.pairwise(layers):
        rank = {spot: at for at, spot in enumerate(lower)}
        ends = [rank[b] for a in upper for b in sorted(downs.get(a, ()), key=lambda spot: rank[spot])]
        count += sum(a > b for a, b in itertools.combinations(ends, 2))
    return count


def _spread(
    placed: Placed,
    ups: Mapping[Spot, list[Spot]],
    downs: Mapping[Spot, list[Spot]],
    width: Callable[[Spot], float],
    gap: float,
) -> None:
    """Give every spot an x near the mean of its neighbours, no two of a layer too near each other."""
    for layer in placed.layers:
        at = 0.0
        for spot in layer:
            placed.x[spot] = at + width(spot) / 2
            at += width(spot) + gap
        for spot in layer:
            placed.x[spot] -= (at - gap) / 2
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for layer in placed.layers if down else reversed(placed.layers):
            wanted, weights = [], []
            for spot in layer:
                near = (ups if down else downs).get(spot) or (downs if down else ups).get(spot) or [spot]
                pulls = [PULL.get(n.kind, 1.0) for n in near]
                wanted.append(sum(pull * placed.x[n] for pull, n in zip(pulls, near, strict=True)) / sum(pulls))
                weights.append(PULL.get(spot.kind, 1.0))
            apart = [(width(a) + width(b)) / 2 + gap for a, b in itertools.pairwise(layer)]
            for spot, x in zip(layer, _nearest(wanted, weights, apart), strict=True):
                placed.x[spot] = x


def _nearest(wanted: Sequence[float], weights: Sequence[float], apart: Sequence[float]) -> list[float]:
    """Return the places nearest to those wanted, by least squares, that keep their order and distances.

    With the distances taken off it is isotonic regression: neighbours in the wrong order share their mean.
    """
    offsets = list(itertools.accumulate(apart, initial=0.0))
    blocks: list[tuple[float, float, int]] = []  # sum of weights, weighted mean, number
    for x, weight, offset in zip(wanted, weights, offsets, strict=True):
        total, mean, count = weight, x - offset, 1
        while blocks and blocks[-1][1] > mean:
            before, other, more = blocks.pop()
            mean = (before * other + total * mean) / (before + total)
            total, count = total + before, count + more
        blocks.append((total, mean, count))
    means = [mean for _, mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
