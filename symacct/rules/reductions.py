"""Reductions over axes: sum, mean, max, min, product.

A reduction of n is n operations under ``2n``, n - 1 under ``exact``; a mean adds a division an output.
"""

from __future__ import annotations

from collections.abc import Sequence

from symacct.conventions import Work
from symacct.graph import Graph, Op, Tensor
from symacct.rules.rule import Attrs, Out, Read, Rule, axis_of, out_of, write_all


def shape(inputs: Sequence[Tensor], attrs: Attrs) -> tuple[Out, ...]:
    """Return the input without the reduced axes, or with them at size 1."""
    (x,) = inputs
    axes = {axis_of(a, len(x.shape)) for a in attrs["axes"]}
    kept = tuple(1 if i in axes else s for i, s in enumerate(x.shape) if attrs["keepdims"] or i not in axes)
    return (Out(kept, x.dtype),)


def work(op: Op, graph: Graph) -> Work:
    """Return a reduction of every input element to the outputs."""
    x, out = graph.tensors[op.inputs[0]], out_of(op, graph)
    return {("reduce", "points"): x.numel, ("reduce", "outputs"): out.numel}


def work_of_mean(op: Op, graph: Graph) -> Work:
    """Return a sum, and a division an output."""
    return {**work(op, graph), ("div", "points"): out_of(op, graph).numel}


def reads(op: Op, graph: Graph) -> tuple[Read, ...]:
    """Read the input once; a row is what is reduced."""
    x = graph.tensors[op.inputs[0]]
    return (Read(x.id, x.shape, tuple(axis_of(a, len(x.shape)) for a in op.attrs["axes"])),)


RULES = {
    **{kind: Rule("reductions", shape, work, reads, write_all) for kind in ("sum", "max", "min", "prod")},
    "mean": Rule("reductions", shape, work_of_mean, reads, write_all),
}
