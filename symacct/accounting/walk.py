"""Every operation of a graph with how often it runs: bodies of repeats once each, of branches the dearest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from symacct.conventions import Convention, holds
from symacct.errors import InconclusiveError
from symacct.expr import Expr, Poly, at_most, names_in
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
            for body, turns in op.bodies:
                yield from visits(body, cost, times * turns, here)
            if op.collected:
                yield Visit(op, graph, times, here)  # what it collects may have to be copied together
        elif op.kind == "cond":
            yield from visits(dearest(op.attrs["branches"], cost), cost, times, here)
        else:
            yield Visit(op, graph, times, here)


def dearest(branches: tuple[Graph, ...], cost: Cost) -> Graph:
    """Return the branch that costs most at all sizes >= 1."""
    costs = [cost(b) for b in branches]
    for branch, mine in zip(branches, costs, strict=True):
        if all(at_most(other, mine) for other in costs):
            return branch
    listed = "; ".join(f"branch {i}: {c}" for i, c in enumerate(costs, 1))
    msg = f"which branch of a conditional costs most depends on the sizes ({listed}); give sizes that decide"
    raise InconclusiveError(msg)


def conditionals(graph: Graph, times: Expr = 1) -> Iterator[tuple[Op, Expr]]:
    """Yield the conditionals of a graph and how often they run, those inside bodies and branches too."""
    for op in graph.ops:
        if op.kind == "cond":
            yield op, times
        inside = op.bodies if op.kind == "repeat" else [(part, 1) for part in op.parts]
        for part, turns in inside:
            yield from conditionals(part, times * turns)


def graphs(graph: Graph) -> Iterator[Graph]:
    """Yield a graph and every body and branch inside it."""
    yield graph
    for op in graph.ops:
        for part in op.parts:
            yield from graphs(part)


def names_of(graph: Graph) -> tuple[str, ...]:
    """Return the sizes that are still names, in alphabetical order: of shapes, and of attributes such as a window."""
    found = {n for g in graphs(graph) for t in g.tensors for size in t.shape for n in names_in(size)}
    given = {n for g in graphs(graph) for op in g.ops for value in op.attrs.values() for n in _names(value)}
    stated = [side for g in graphs(graph) if g.stated for c in g.conditions for side in (c.left, c.right)]
    return tuple(sorted(found | given | {n for side in stated for n in _names(side)}))


def _names(value: Any) -> Iterator[str]:
    """Yield the names in an attribute."""
    if isinstance(value, Poly):
        yield from names_in(value)
    elif type(value) in (tuple, list):
        for part in value:
            yield from _names(part)


def conditions_of(graph: Graph, convention: Convention | None = None) -> tuple[Condition, ...]:
    """Return what was stated, what follows from the shapes, and what operations ask for, each once.

    What only a switch of conventions asks for is left out unless the given one has it.
    """
    asked = [c for g in graphs(graph) for op in g.ops for c in rule_of(op).conditions(op, g)]
    kept = [replace(c, under="") for c in asked if not c.under or (convention and holds(c.under, convention))]
    return tuple(dict.fromkeys([c for g in graphs(graph) for c in g.conditions] + kept))
