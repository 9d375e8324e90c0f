"""Whether the tensors of a graph are those that rules announce: for graphs that were not built here, as from JSON."""

from __future__ import annotations

from collections.abc import Mapping

from symacct.errors import GraphError
from symacct.graph import Graph, Op
from symacct.rules.rule import Out, Rule


def check_against(rules: Mapping[str, Rule], graph: Graph) -> None:
    """See `symacct.rules.check_shapes`."""
    for op in graph.ops:
        if op.kind not in rules:
            msg = f"operation {op.id}: no rule for the operation {op.kind!r}"
            raise GraphError(msg)
        for part in op.parts:
            check_against(rules, part)
        if op.einsum is not None and "einsum" not in op.attrs:
            continue  # of a pattern, whose axes may be merged in its tensors: checked with the graph
        outs = _asked(rules[op.kind], op, graph)
        if len(outs) != len(op.outputs):
            msg = f"operation {op.id} ({op.kind}) has {len(op.outputs)} outputs; its rule announces {len(outs)}"
            raise GraphError(msg)
        for i, out in zip(op.outputs, outs, strict=True):
            made = graph.tensors[i]
            storage = None if out.view_of is None else graph.tensors[op.inputs[out.view_of]].owner
            rule_says = (out.shape, out.dtype, out.strides, storage)
            if rule_says != (made.shape, made.dtype, made.strides, made.storage):
                msg = (
                    f"operation {op.id} ({op.kind}) makes tensor {i} with (shape, dtype, strides, storage) "
                    f"{(made.shape, made.dtype, made.strides, made.storage)}; its rule announces {rule_says}"
                )
                raise GraphError(msg)


def _asked(rule: Rule, op: Op, graph: Graph) -> tuple[Out, ...]:
    """Ask a rule everything, since its answers rest on attributes; return the outputs that it announces."""
    try:
        outs = rule.shape([graph.tensors[i] for i in op.inputs], op.attrs)
        for question in (rule.work, rule.reads, rule.writes, rule.copies, rule.conditions):
            question(op, graph)
        rule.residuals(op, graph, (True,) * len(op.inputs))
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        msg = f"operation {op.id} ({op.kind}): {str(error) or type(error).__name__}"
        raise GraphError(msg) from None
    return outs
