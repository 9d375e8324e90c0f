"""What an attention moves: as a flash kernel its operands and outputs once, as three kernels its scores besides.

flash      queries, keys, values and outputs once; the logsumexp where it is used. Through a window, the rows alone
           that are in a pair; a causal mask by itself hides pairs by convention, and all rows are read
unfused    as three kernels (product, softmax with scale and mask, product): all rows, and S*T scores a head,
           whatever is masked: scores written and read, probabilities written and read; backward probabilities
           read twice, their gradients written and read, gradients of scores written once and read twice
"""

from __future__ import annotations

from dataclasses import replace

from symacct.expr import Size, add
from symacct.graph import Graph, Op
from symacct.rules.pairs import reached
from symacct.rules.rule import Read, read_all, whole
from symacct.rules.spills import Spill

ROWS = {
    "sdpa": {"queries": -2, "keys": -2, "values": -2},
    "sdpa_backward": {"gradients": -2, "queries": -2, "keys": -2, "values": -2, "outputs": -2, "logsumexp": -1},
}
"""The operands of an attention without a mask of its own, and which of their axes are its rows."""


def reads(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read the operands; through a window the rows alone that are in a pair."""
    if op.attrs["window"] is None:
        return read_all(op, graph)
    return tuple(_part(op, graph, name, seen) for name, (seen, _) in _rows(op, graph).items())


def _rows(op: Op, graph: Graph) -> dict[str, tuple[Size, Size]]:
    """Return how many rows of each operand are in a pair that a window lets through, and how many there are."""
    at = dict(zip(ROWS[op.kind], op.inputs, strict=True))
    s, t = (graph.tensors[at[name]].shape[-2] for name in ("queries", "keys"))
    queries, keys = reached(s, t, op.attrs["align"], op.attrs["window"])
    return {name: (keys, t) if name in ("keys", "values") else (queries, s) for name in at}  # type: ignore[misc]


def _part(op: Op, graph: Graph, name: str, rows: Size) -> Read:
    """Return a touch of some rows of an operand."""
    place = list(ROWS[op.kind]).index(name)
    everything, axis = whole(graph, op.inputs[place]), ROWS[op.kind][name]
    shape = list(everything.shape)
    shape[axis] = rows
    return replace(everything, shape=tuple(shape))


def _unseen(op: Op, graph: Graph) -> tuple[Spill, ...]:
    """Return the rows that are in no pair, which kernels read that compute all scores."""
    if op.attrs["window"] is None:
        return ()
    out = []
    for name, (seen, size) in _rows(op, graph).items():
        rest = add((size, -seen))
        if rest != 0:
            read = _part(op, graph, name, rest)  # type: ignore[arg-type] # a difference of sizes
            out.append(Spill(f"{name} that no window sees", read.tensor, read.shape, 0, 1))
    return tuple(out)


def writes_of_attention(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Write the output, and the logsumexp where something reads it or the graph yields it: a gradient does."""
    out, lse = op.outputs
    used = lse in graph.outputs or any(lse in other.inputs for other in graph.ops)
    return (whole(graph, out), whole(graph, lse)) if used else (whole(graph, out),)


def spills_of_attention(op: Op, graph: Graph) -> tuple[Spill, ...]:
    """Return scores and probabilities: each written by one kernel and read by the next."""
    q, k = op.inputs[:2]
    shape = (*graph.tensors[q].shape[:-1], graph.tensors[k].shape[-2])
    return (Spill("scores", q, shape, 1, 1), Spill("probabilities", q, shape, 1, 1), *_unseen(op, graph))


def spills_of_attention_gradient(op: Op, graph: Graph) -> tuple[Spill, ...]:
    """Return the probabilities, their gradients and those of the scores."""
    q, k = op.inputs[1:3]
    shape = (*graph.tensors[q].shape[:-1], graph.tensors[k].shape[-2])
    return (
        Spill("probabilities", q, shape, 0, 2),
        Spill("gradients of probabilities", q, shape, 1, 1),
        Spill("gradients of scores", q, shape, 1, 2),
        *_unseen(op, graph),
    )
