"""``traffic="compulsory"``: what of the graph's inputs is used is read once, and its outputs are written once.

Of a table that rows are looked up in, as many rows are read as are looked up, yet never more than all where the sizes
tell; of what is sliced, the slices. An input that nothing uses is not read; an output that is a view of an input is not
written. What a body of a repeat takes is read in every iteration where it is stacked, and once where it is shared.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import TypeAlias

from symacct.accounting.costs import Formats
from symacct.accounting.parts import Memories, Part, together
from symacct.expr import Expr, add, at_most, product
from symacct.graph import Graph, Op
from symacct.rules import Read, rule_of
from symacct.rules.rule import whole

Term: TypeAlias = tuple[str, Expr]


def compulsory_terms(graph: Graph, formats: Formats) -> list[Term]:
    """Return the bytes of what is used of the graph's inputs, and of its outputs, once each."""
    memories = Memories(graph, free_copies=True)
    used = _used(memories)
    terms = [(f"{graph.tensors[i].name} read", _bytes(used[i], graph, formats)) for i in graph.inputs if i in used]
    yielded: dict[int, list[Part]] = {}
    for i in graph.outputs:
        yielded.setdefault(memories.owners[i], []).append(memories.part(whole(graph, i)))
    for owner, parts in yielded.items():
        if owner not in graph.inputs:
            name = graph.tensors[parts[0].read.tensor].name
            terms.append((f"{name} written", _bytes(together(parts, graph, owner), graph, formats)))
    return terms


def _bytes(reads: list[Read], graph: Graph, formats: Formats) -> Expr:
    return add([formats.bytes_of(read, graph) for read in reads])


def _used(memories: Memories) -> dict[int, list[Read]]:
    """Return what is read of each input of a graph; what of several parts is known to be read together, once."""
    graph, owners = memories.graph, memories.owners
    parts: dict[int, list[Part]] = {i: [] for i in graph.inputs}
    for op in graph.ops:
        for read, picked in () if memories.is_free(op) else _reads(op, graph):
            owner = owners[read.tensor] if read.tensor in op.inputs else None
            if owner in parts:
                parts[owner].append(memories.part(read, picked))
    return {i: together(found, graph, i) for i, found in parts.items() if found}


def _reads(op: Op, graph: Graph) -> Iterator[tuple[Read, Hashable]]:
    """Yield what an operation reads of its inputs, each with what picks from it: None where it reads all."""
    if op.kind == "repeat":
        yield from _reads_of_repeat(op, graph)
    elif op.kind == "cond":
        yield from _reads_of_branches(op, graph)
    else:
        for read in rule_of(op).reads(op, graph):
            everything = product(read.shape) == product(whole(graph, read.tensor).shape)
            picks = read.places or (op.kind, op.einsum and op.einsum.operands, op.inputs)
            yield read, None if everything else picks


def _inside(part: Graph) -> dict[int, list[Read]]:
    """Return what a body or a branch reads of each of its inputs; what it yields as it came, it reads."""
    memories = Memories(part, free_copies=True)
    passed = {memories.owners[i] for i in part.outputs} & set(part.inputs)
    return _used(memories) | {i: [whole(part, i)] for i in passed}


def _reads_of_repeat(op: Op, graph: Graph) -> Iterator[tuple[Read, Hashable]]:
    body, first, n = op.attrs["body"], op.attrs["carry"], op.attrs["n"]
    used = _inside(body)
    for place, (i, inner) in enumerate(zip(op.inputs, body.inputs, strict=True)):
        stacked = first <= place < first + op.attrs["xs"]
        for read in used.get(inner, ()):
            if read == whole(body, inner):
                yield whole(graph, i), None
            else:
                shape = (n, *read.shape) if stacked else read.shape
                yield Read(i, shape, tuple(a + stacked for a in read.row)), (op.id, read)


def _reads_of_branches(op: Op, graph: Graph) -> Iterator[tuple[Read, Hashable]]:
    """Yield the predicate, and of each operand what the branch reads that reads more of it; all where that depends."""
    predicate, *operands = op.inputs
    yield whole(graph, predicate), None
    branches = op.attrs["branches"]
    used = [_inside(b) for b in branches]
    for place, i in enumerate(operands):
        both = [inside.get(b.inputs[place], []) for inside, b in zip(used, branches, strict=True)]
        amounts = [add([product(r.shape) for r in reads]) for reads in both]
        ordered = [at_most(amounts[0], amounts[1]), at_most(amounts[1], amounts[0])]
        larger = both[1] if ordered[0] else both[0]
        for read in larger if any(ordered) else [whole(graph, i)]:
            everything = product(read.shape) == product(whole(graph, i).shape)
            yield replace(read, tensor=i), None if everything else (op.id, read)
