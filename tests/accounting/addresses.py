"""Fusion by brute force: groups merged while networkx finds no cycle, and bytes as addresses that kernels touch."""

from __future__ import annotations

import networkx as nx
import pytest

import symacct as sa
from symacct.accounting.fusion import MERGED, groups
from symacct.expr import evaluate
from symacct.graph import Graph, Op
from symacct.rules import rule_of

torch = pytest.importorskip("torch")

from symacct.eager import KINDS  # noqa: E402
from symacct.eager.run import _numbers  # noqa: E402

SIZES = {"b": 4, "d": 6, "s": 4, "h": 2, "k": 3, "f": 5, "n": 8}


def quotient(graph: Graph, home: dict[int, int]) -> nx.DiGraph:
    maker = {i: op.id for op in graph.ops for i in op.outputs}
    links = [(home[maker[i]], home[op.id]) for op in graph.ops for i in op.inputs if i in maker]
    out = nx.DiGraph([(a, b) for a, b in links if a != b])
    out.add_nodes_from(home.values())
    return out


def greedy(graph: Graph) -> list[list[int]]:
    """Merge each operation with the makers of its inputs, in order, wherever the graph of groups stays acyclic."""
    maker = {i: op.id for op in graph.ops for i in op.outputs}
    fits = {op.id: rule_of(op).family in MERGED for op in graph.ops}
    home = {op.id: op.id for op in graph.ops}
    for op in graph.ops:
        for i in op.inputs:
            feed = maker.get(i)
            if feed is None or not (fits[op.id] and fits[feed]):
                continue
            merged = {x: home[feed] if at == home[op.id] else at for x, at in home.items()}
            if nx.is_directed_acyclic_graph(quotient(graph, merged)):
                home = merged
    found: dict[int, list[int]] = {}
    for op in graph.ops:
        found.setdefault(home[op.id], []).append(op.id)
    return sorted(found.values())


class Memory:
    """Every tensor as the addresses of its elements: views are made by torch itself, of addresses."""

    def __init__(self, graph: Graph, *, free_copies: bool) -> None:
        self.used = 0
        self.of: dict[int, torch.Tensor] = {}
        self.owner: dict[int, int] = {}
        self.free_copies = free_copies
        for i in graph.inputs:
            self.fresh(graph, i)
        for op in graph.ops:
            if self.is_view(op, graph):
                attrs = {n: _numbers(v, SIZES) for n, v in op.attrs.items()}
                self.of[op.outputs[0]] = KINDS[op.kind](self.of[op.inputs[0]], **attrs)
                self.owner[op.outputs[0]] = self.owner[op.inputs[0]]
            else:
                for i in op.outputs:
                    self.fresh(graph, i)

    def is_view(self, op: Op, graph: Graph) -> bool:
        return rule_of(op).family == "views" and (self.free_copies or graph.tensors[op.outputs[0]].storage is not None)

    def fresh(self, graph: Graph, i: int) -> None:
        shape = [int(evaluate(s, SIZES)) for s in graph.tensors[i].shape]
        count = int(torch.tensor(shape).prod()) if shape else 1
        self.of[i] = torch.arange(self.used, self.used + count).reshape(shape)
        self.owner[i] = i
        self.used += count

    def addresses(self, i: int) -> set[int]:
        return set(self.of[i].flatten().tolist())


def bytes_by_addresses(graph: Graph, *, free_copies: bool) -> int:
    """Two bytes an address: what a kernel reads from outside once each, and all of a memory that others use."""
    memory = Memory(graph, free_copies=free_copies)
    moved = 0
    for group in greedy(graph):
        ops = [graph.ops[i] for i in group]
        made = {i for op in ops for i in op.outputs}
        real = [op for op in ops if not memory.is_view(op, graph)]
        outside = [i for op in real for i in op.inputs if memory.owner[i] not in made]
        taken = [memory.addresses(i) for i in outside]
        wanted = {*graph.outputs, *(i for op in graph.ops if op.id not in group for i in op.inputs)} & made
        owners = {memory.owner[i] for i in wanted} & made
        if len(ops) == 1:  # by itself an operation reads every input, also one that it takes twice
            moved += sum(map(len, taken)) + sum(len(memory.addresses(i)) for i in made if memory.owner[i] == i)
            continue
        moved += len(set().union(*taken)) + sum(len(memory.addresses(i)) for i in owners)
    return 2 * moved


def check(graph: Graph, layout: str = "ideal") -> None:
    assert sorted([op.id for op in group] for group in groups(graph)) == greedy(graph)
    made = sa.account(graph, fuse="pointwise", layout=layout)
    assert evaluate(made.total("bytes"), SIZES) == bytes_by_addresses(graph, free_copies=layout == "ideal")
    plain = sa.account(graph, layout=layout)
    assert made.total("flops") == plain.total("flops")
    assert evaluate(made.total("bytes"), SIZES) <= evaluate(plain.total("bytes"), SIZES)
