"""Graphs for other programs: what networkx, Graphviz, Mermaid and GraphML readers get is the whole graph."""

from __future__ import annotations

import io
import re

import networkx as nx
import pytest

import symacct as sa
from symacct.errors import GraphError
from symacct.graph import Graph
from tests.graph.examples import all_graphs

GRAPHS = all_graphs()


def made_by(graph: Graph) -> dict[int, int]:
    return {i: op.id for op in graph.ops for i in op.outputs}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_networkx_has_every_tensor_operation_and_slot(graph):
    g = graph.nx()
    assert {n for n in g if n[0] == "tensor"} == {("tensor", t.id) for t in graph.tensors}
    assert {n for n in g if n[0] == "op"} == {("op", op.id) for op in graph.ops}
    assert all(a[0] != b[0] for a, b in g.edges), "bipartite"
    for op in graph.ops:
        taken = {slot: i for (_, i), _, slots in g.in_edges(("op", op.id), data="slots") for slot in slots}
        yielded = {slot: i for _, (_, i), slots in g.out_edges(("op", op.id), data="slots") for slot in slots}
        assert [taken[s] for s in range(len(op.inputs))] == list(op.inputs)
        assert [yielded[s] for s in range(len(op.outputs))] == list(op.outputs)
        assert (len(taken), len(yielded)) == (len(op.inputs), len(op.outputs))


def test_one_tensor_in_two_slots_is_one_edge_with_both():
    def layer(x: "n", y: "n"):
        return x * x - y

    g = sa.account(layer).graph.nx()
    assert g.edges[("tensor", 0), ("op", 0)]["slots"] == (0, 1)
    assert g.edges[("tensor", 1), ("op", 1)]["slots"] == (1,)
    assert g.nodes["tensor", 0] == {"name": "x", "role": "input", "shape": "n", "dtype": ""}
    assert g.nodes["op", 0] == {"kind": "mul", "label": "mul", "scope": ""}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_any_algorithm_runs(graph):
    """The order of creation is topological, and a longest path is as long as by a walk of our own."""
    g = graph.nx()
    assert nx.is_directed_acyclic_graph(g)
    position = {n: at for at, n in enumerate(nx.lexicographical_topological_sort(g, key=lambda n: (n[1], n[0])))}
    assert all(position[a] < position[b] for a, b in g.edges)
    depth = dict.fromkeys(graph.inputs, 0)
    for op in graph.ops:
        depth |= dict.fromkeys(op.outputs, 2 + max((depth[i] for i in op.inputs), default=-1))
    assert nx.dag_longest_path_length(g) == max(depth.values())
    used = {i for op in graph.ops for i in op.inputs} | set(graph.outputs)
    assert nx.ancestors(g, ("tensor", graph.outputs[0])) <= set(g)
    assert {n for n in g if n[0] == "tensor" and g.out_degree(n) == 0} <= {
        ("tensor", t.id) for t in graph.tensors if t.id in graph.outputs or t.id not in used
    }


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_graphml_reads_back(graph):
    again = nx.read_graphml(io.BytesIO(graph.to_text("graphml").encode()))
    g = graph.nx()
    assert isinstance(again, nx.DiGraph)
    assert set(again) == {f"{kind}{i}" for kind, i in g}
    for (kind, i), data in g.nodes(data=True):
        assert again.nodes[f"{kind}{i}"] == {"node": kind, **data}
    slots = {
        ((a, i), (b, j)): tuple(map(int, again.edges[f"{a}{i}", f"{b}{j}"]["slots"].split()))
        for (a, i), (b, j) in g.edges
    }
    assert slots == {(a, b): s for a, b, s in g.edges(data="slots")}
    assert again.number_of_edges() == g.number_of_edges()


def dot_links(text: str) -> list[tuple[str, str, str]]:
    return re.findall(r'^  (\w+) -> (\w+) \[label="(.*)"\];$', text, flags=re.MULTILINE)


def mermaid_links(text: str) -> list[tuple[str, str, str]]:
    return [(a, b, label) for a, label, b in re.findall(r'^  (\w+) -->\|"(.*)"\| (\w+)$', text, flags=re.MULTILINE)]


def expected_links(graph: Graph) -> list[tuple[str, str, str]]:
    maker = made_by(graph)

    def start(i: int) -> str:
        return f"o{maker[i]}" if i in maker else f"t{i}"

    def shape(i: int) -> str:
        return " ".join(map(str, graph.tensors[i].shape)) or "scalar"

    taken = [(start(i), f"o{op.id}", shape(i)) for op in graph.ops for i in op.inputs]
    return taken + [(start(i), f"out{i}", shape(i)) for i in graph.outputs]


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize(("form", "links"), [("dot", dot_links), ("mermaid", mermaid_links)])
def test_dot_and_mermaid_have_every_link_and_label(form, links, graph):
    text = graph.to_text(form)
    assert links(text) == expected_links(graph)
    nodes = {f"o{op.id}" for op in graph.ops} | {f"t{i}" for i in graph.inputs} | {f"out{i}" for i in graph.outputs}
    declared = re.findall(r"^  ((?:o|t|out)\d+) ?[\[(]", text, flags=re.MULTILINE)
    assert sorted(declared) == sorted(nodes)
    for op in graph.ops:
        assert f'"{op.label.strip()}"' in text


def walked(graph: Graph) -> list[Graph]:
    return [graph, *(g for op in graph.ops for part in op.parts for g in walked(part))]


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize(
    ("form", "opened", "closed"),
    [("dot", r"^ *subgraph cluster_(\w+) \{$", "}"), ("mermaid", r"^ +subgraph (\w+)\[", "end")],
)
def test_bodies_and_branches_stand_inside_once(form, opened, closed, graph):
    """Every operation at any depth is declared under a name of its own, and each part is opened and closed."""
    text, graphs = graph.to_text(form), walked(graph)
    names = re.findall(r"^ +(\w*?(?:o|t|out)\d+) ?[\[(]", text, flags=re.MULTILINE)
    assert len(set(names)) == len(names)
    assert len([n for n in names if re.search(r"(?:^|_)o\d+$", n)]) == sum(len(g.ops) for g in graphs)
    parts = re.findall(opened, text, flags=re.MULTILINE)
    assert len(set(parts)) == len(parts) == len(graphs) - 1
    assert [line.strip() for line in text.splitlines()].count(closed) == len(parts) + (form == "dot")


def test_what_would_break_a_label_is_replaced():
    def layer(x: "n"):
        return sa.opaque('a "b" \\ c\n-->', [x], [(3,)])

    graph = sa.account(layer).graph
    for form in ("dot", "mermaid"):
        (line,) = [row for row in graph.to_text(form).splitlines() if row.startswith(("  o0 [", "  o0["))]
        assert line.count('"') == 2
        assert "\\" not in line
        assert "a 'b' / c -->" in line
    again = nx.read_graphml(io.BytesIO(graph.to_text("graphml").encode()))
    assert again.nodes["op0"]["label"] == 'a "b" \\ c\n-->'


def test_labels_say_what_is_inside():
    labels = {op.label for g in ("nested", "choosing", "unknown") for op in GRAPHS[g].ops}
    assert labels == {"repeat L times", "gt", "cond", "my kernel"}


def test_another_form_is_refused():
    with pytest.raises(GraphError, match="unknown form 'svg'; known: dot, mermaid, graphml"):
        GRAPHS["square"].to_text("svg")
