"""A graph for other programs: networkx, DOT, Mermaid, GraphML.

Tensors and operations are both nodes; an edge carries its slots, so ``x*x`` reads x in slots 0 and 1.
"""

from __future__ import annotations

from typing import Any

from symacct.graph.types import Graph, Op, Tensor


def to_networkx(graph: Graph) -> Any:
    """Return a bipartite ``networkx.DiGraph``: nodes ``("tensor", id)`` and ``("op", id)``, edges with ``slots``.

    Tensor nodes have name, role, shape (text) and dtype; op nodes have kind, label and scope.
    """
    import networkx as nx

    out = nx.DiGraph()
    for t in graph.tensors:
        out.add_node(("tensor", t.id), name=t.name, role=t.role, shape=_shape(t), dtype=t.dtype or "")
    for op in graph.ops:
        out.add_node(("op", op.id), kind=op.kind, label=op.label, scope=op.scope)
        for i in dict.fromkeys(op.inputs):
            out.add_edge(("tensor", i), ("op", op.id), slots=_slots(op.inputs, i))
        for i in op.outputs:
            out.add_edge(("op", op.id), ("tensor", i), slots=_slots(op.outputs, i))
    return out


def _slots(ids: tuple[int, ...], wanted: int) -> tuple[int, ...]:
    return tuple(slot for slot, i in enumerate(ids) if i == wanted)


def _shape(tensor: Tensor) -> str:
    return " ".join(str(s) for s in tensor.shape)


def to_graphml(graph: Graph) -> str:
    """Return the graph as GraphML text."""
    import networkx as nx

    plain = nx.DiGraph()
    bipartite = to_networkx(graph)
    for (kind, i), data in bipartite.nodes(data=True):
        plain.add_node(f"{kind}{i}", node=kind, **data)
    for (a, i), (b, j), data in bipartite.edges(data=True):
        plain.add_edge(f"{a}{i}", f"{b}{j}", slots=" ".join(map(str, data["slots"])))
    return "\n".join(nx.generate_graphml(plain))


def to_dot(graph: Graph) -> str:
    """Return the graph in Graphviz' language: operations as boxes, tensors on the edges, bodies and branches beside."""
    head = ["digraph symacct {", "  rankdir=TB;", '  node [shape=box, fontname="monospace"];']
    return "\n".join([*head, *_dot(graph, "", "  "), "}"])


def _dot(graph: Graph, mark: str, indent: str) -> list[str]:
    lines = [f"{mark}{end} [label={text}, shape=ellipse];" for end, text in _ends(graph)]
    lines += [f"{mark}o{op.id} [label={_quoted(op.label)}];" for op in graph.ops]
    lines += [f"{mark}{a} -> {mark}{b} [label={_quoted(label)}];" for a, b, label in _links(graph)]
    out = [indent + line for line in lines]
    for inner, title, part in _parts(graph, mark):
        out += [f"{indent}subgraph cluster_{inner} {{", f"{indent}  label={_quoted(title)};"]
        out += [*_dot(part, f"{inner}_", indent + "  "), indent + "}"]
    return out


def to_mermaid(graph: Graph) -> str:
    """Return the graph as a Mermaid flowchart, for Markdown pages; bodies and branches stand beside it."""
    return "\n".join(["flowchart TB", *_mermaid(graph, "", "  ")])


def _mermaid(graph: Graph, mark: str, indent: str) -> list[str]:
    lines = [f"{mark}{end}([{text}])" for end, text in _ends(graph)]
    lines += [f"{mark}o{op.id}[{_quoted(op.label)}]" for op in graph.ops]
    lines += [f"{mark}{a} -->|{_quoted(label)}| {mark}{b}" for a, b, label in _links(graph)]
    out = [indent + line for line in lines]
    for inner, title, part in _parts(graph, mark):
        out += [
            f"{indent}subgraph {inner}[{_quoted(title)}]",
            *_mermaid(part, f"{inner}_", indent + "  "),
            f"{indent}end",
        ]
    return out


def _parts(graph: Graph, mark: str) -> list[tuple[str, str, Graph]]:
    """Return the graphs inside, each with a name of its own and a title."""
    inside = [(op, place, *found) for op in graph.ops for place, found in enumerate(titled_parts(op), 1)]
    return [(f"{mark}in{op.id}_{place}", title, part) for op, place, title, part in inside]


def titled_parts(op: Op) -> list[tuple[str, Graph]]:
    """Return the bodies of a repeat or the branches of a conditional, each with what to write above."""
    if op.kind == "repeat":
        often = [(body, "" if turns == op.attrs["n"] else f", {turns} of them") for body, turns in op.bodies]
        return [(f"body of: {op.label}{times}", body) for body, times in often]
    return [(f"branch {number} of: {op.label}", branch) for number, branch in enumerate(op.parts, 1)]


def _ends(graph: Graph) -> list[tuple[str, str]]:
    """Return the inputs and outputs, each with a name of its own and what to write in it."""
    ends = [(f"t{i}", i) for i in graph.inputs] + [(f"out{i}", i) for i in dict.fromkeys(graph.outputs)]
    tensors = [(end, graph.tensors[i]) for end, i in ends]
    return [(end, _quoted(f"{t.name}: {_shape(t) or 'scalar'}")) for end, t in tensors]


def _quoted(text: str) -> str:
    return '"' + " ".join(text.replace('"', "'").replace("\\", "/").split()) + '"'


def _links(graph: Graph) -> list[tuple[str, str, str]]:
    """Return the links between operations, each with the shape of the tensor that goes along it."""
    maker: dict[int, Op] = {i: op for op in graph.ops for i in op.outputs}
    out = []
    for op in graph.ops:
        for i in op.inputs:
            start = f"o{maker[i].id}" if i in maker else f"t{i}"
            out.append((start, f"o{op.id}", _shape(graph.tensors[i]) or "scalar"))
    for i in graph.outputs:
        start = f"o{maker[i].id}" if i in maker else f"t{i}"
        out.append((start, f"out{i}", _shape(graph.tensors[i]) or "scalar"))
    return out
