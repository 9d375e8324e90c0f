"""Element-wise operations: one call of a function an output element, whatever the operands broadcast from."""

from __future__ import annotations

from symacct.conventions import Work
from symacct.graph import Graph, Op
from symacct.rules.rule import Read, Rule

PRIMITIVES = {"relu": "max", "gelu": "gelu", "add": "add", "sub": "sub", "mul": "mul", "div": "div"}
"""Which function each kind calls once an element: relu is max(x, 0)."""


def work(op: Op, graph: Graph) -> Work:
    """Return one call an output element."""
    return {(PRIMITIVES[op.kind], "points"): graph.tensors[op.outputs[0]].numel}


def reads(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Return each operand once."""
    return tuple(_whole(graph, i) for i in op.inputs)


def writes(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Return the output once."""
    return tuple(_whole(graph, i) for i in op.outputs)


def _whole(graph: Graph, tensor: int) -> Read:
    shape = graph.tensors[tensor].shape
    return Read(tensor, shape, (len(shape) - 1,) if shape else ())


RULES = {kind: Rule(work, reads, writes) for kind in PRIMITIVES}
