"""Every operation of a graph with how often it runs: bodies of repeats once each, of branches the dearest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from symacct.errors import InconclusiveError
from symacct.expr import Expr, Poly, add, names_in, sign
from symacct.graph import Condition, Graph, Op
from symacct.rules import rule_of

NESTED = ("repeat", "cond")


class Visit(NamedTuple):
    """One operation where it stands, and how many times it runs."""

    op: Op
    graph: Graph
    times: Expr
    scope: str


Cost = Callable[[Graph], Expr]


def visits(graph: Graph, cost: Cost, times: Expr = 1, scope: str = "") -> Iterator[Visit]:
    """Yield the operations of a graph; `cost` decides which branch of a conditional is the dearest.

    Raises
    ------
    InconclusiveError
        Where the sizes do not decide which branch costs most; lists the branches.

    """
    for op in graph.ops:
        here = f"{scope}/{op.scope}" if scope and op.scope else scope or op.scope
        if op.kind == "repeat":
            yield from visits(op.attrs["body"], cost, times * op.attrs["n"], here)
        elif op.kind == "cond":
            yield from visits(dearest(op.attrs["branches"], cost), cost, times, here)
        else:
            yield Visit(op, graph, times, here)


def dearest(branches: tuple[Graph, ...], cost: Cost) -> Graph:
    """Return the branch that costs most at all sizes >= 1."""
    costs = [cost(b) for b in branches]
    for branch, mine in zip(branches, costs, strict=True):
        if all((sign(add((mine, -other))) or 0) > 0 or mine == other for other in costs):
            return branch
    listed = "; ".join(f"branch {i}: {c}" for i, c in enumerate(costs, 1))
    msg = f"which branch of a conditional costs most depends on the sizes ({listed}); give sizes that decide"
    raise InconclusiveError(msg)


def conditionals(graph: Graph) -> Iterator[Op]:
    """Yield the conditionals of a graph, those inside repeats and branches too."""
    for op in graph.ops:
        inner = (op.attrs["body"],) if op.kind == "repeat" else op.attrs["branches"] if op.kind == "cond" else ()
        if op.kind == "cond":
            yield op
        for body in inner:
            yield from conditionals(body)


def graphs(graph: Graph) -> Iterator[Graph]:
    """Yield a graph and every body and branch inside it."""
    yield graph
    for op in graph.ops:
        inner = (op.attrs["body"],) if op.kind == "repeat" else op.attrs["branches"] if op.kind == "cond" else ()
        for body in inner:
            yield from graphs(body)


def names_of(graph: Graph) -> tuple[str, ...]:
    """Return the sizes that are still names, in alphabetical order: of shapes, and of attributes such as a window."""
    found = {n for g in graphs(graph) for t in g.tensors for size in t.shape for n in names_in(size)}
    given = [v for g in graphs(graph) for op in g.ops for v in op.attrs.values() if isinstance(v, Poly)]
    return tuple(sorted(found.union(*(names_in(v) for v in given))))


def conditions_of(graph: Graph) -> tuple[Condition, ...]:
    """Return what was stated, what follows from the shapes, and what operations ask for, each once."""
    asked = [c for g in graphs(graph) for op in g.ops for c in rule_of(op).conditions(op, g)]
    return tuple(dict.fromkeys([c for g in graphs(graph) for c in g.conditions] + asked))
