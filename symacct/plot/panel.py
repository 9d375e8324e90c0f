"""What stands in every box of a graph, how large that makes it, and where it goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from symacct.graph import Graph, Tensor
from symacct.plot.bounds import Bound, Figure
from symacct.plot.layers import Placed, Spot, place

FONT, SMALL = 8.0, 6.5
"""Points."""
LINE, PAD, GAP, LAYER = 0.14, 0.07, 0.26, 0.36
"""Inches: a line of text, around text, between boxes, between layers."""
MANY = 4
"""Parameters of one operation that are still shown one by one."""
WIDE = 2.2
"""Inches from which on a pattern is broken before its arrow."""


@dataclass(frozen=True)
class Panel:
    """One graph of a picture: text in boxes, x by spot, and for each layer where it starts and ends, down from 0."""

    title: str
    graph: Graph
    texts: Mapping[Spot, Sequence[str]]
    bounds: Mapping[Spot, Bound]
    placed: Placed
    rows: Sequence[tuple[float, float]]

    @property
    def sides(self) -> tuple[float, float]:
        """The leftmost and the rightmost x."""
        edges = [(x, width_of(self.texts[s]) / 2 if s in self.texts else 0) for s, x in self.placed.x.items()]
        return min(x - w for x, w in edges), max(x + w for x, w in edges)


def panel_of(title: str, graph: Graph, figures: Mapping[int, Figure]) -> Panel:
    """Decide what stands in every box of a graph, and where each goes."""
    together = _together(graph)
    texts: dict[Spot, list[str]] = {Spot("op", op.id): [*_broken(op.label), *figures[op.id].lines] for op in graph.ops}
    for i in graph.inputs:
        count = sum(shown == i for shown in together.values())
        if count:
            texts[Spot("in", i)] = [f"{count} parameters"]
        elif i not in together:
            texts[Spot("in", i)] = [graph.tensors[i].name, shape_of(graph.tensors[i])]
    texts |= {Spot("out", i): ["output", shape_of(graph.tensors[i])] for i in graph.outputs}
    placed = place(graph, {spot: width_of(lines) for spot, lines in texts.items()}, GAP, together)
    rows, y = [], 0.0
    for layer in placed.layers:
        height = max((height_of(texts[s]) for s in layer if s in texts), default=0.0)
        rows.append((y, y - height))
        y -= height + LAYER
    return Panel(title, graph, texts, {Spot("op", i): f.bound for i, f in figures.items()}, placed, rows)


def _together(graph: Graph) -> dict[int, int]:
    """Return parameters that are shown as one, the first of them: many that one operation alone takes."""
    users: dict[int, set[int]] = {}
    for op in graph.ops:
        for i in op.inputs:
            users.setdefault(i, set()).add(op.id)
    out: dict[int, int] = {}
    for op in graph.ops:
        own = [i for i in op.inputs if graph.tensors[i].role == "param" and len(users[i]) == 1]
        if len(own) > MANY:
            out |= dict.fromkeys(own, own[0])
    return out


def shape_of(tensor: Tensor) -> str:
    """Return a shape as text."""
    return " ".join(str(s) for s in tensor.shape) or "scalar"


def _broken(label: str) -> list[str]:
    if width_of([label]) < WIDE or " -> " not in label:
        return [label]
    left, _, right = label.partition(" -> ")
    return [left, f"-> {right}"]


@lru_cache(maxsize=4096)
def measured(text: str, size: float) -> float:
    """Return the width of a line of text."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width: float = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), ismath=False)[0]
    return width / 72


def width_of(lines: Sequence[str]) -> float:
    """Return the width of a box; all lines but the first are small."""
    return max(measured(line, FONT if i == 0 else SMALL) for i, line in enumerate(lines)) + 2 * PAD


def height_of(lines: Sequence[str]) -> float:
    """Return the height of a box."""
    return (len(lines) + 0.8) * LINE
