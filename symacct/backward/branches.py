"""Back through a conditional: a conditional of the gradients of its branches.

The branch that runs yields what its gradient reads, and what the other would yield is absent. An operand that a branch
does not use has, where that branch ran, a gradient that is absent too.
"""

from __future__ import annotations

from collections.abc import Sequence

from symacct.backward.needs import Needs
from symacct.backward.parts import Part, Propagate, absent, taken_back
from symacct.graph import Graph, Op
from symacct.symbolic import Builder, Symbolic, record


def through_cond(
    builder: Builder, op: Op, wanted: Needs, coming: Sequence[Symbolic | None], propagate: Propagate
) -> tuple[Symbolic | None, ...]:
    """Return the gradients of what a conditional is given; see `symacct.backward.passes.propagate`."""
    results = op.attrs.get("results", len(op.outputs))
    comes = [grad is not None for grad in coming[:results]]
    parts = [taken_back(g, wanted[1:], comes, propagate) for g in op.attrs["branches"]]
    operands = [at for at in range(len(wanted) - 1) if any(p.grads[at] is not None for p in parts)]
    found: list[Symbolic | None] = [None] * len(wanted)
    if not operands:
        return tuple(found)
    kept = _kept(builder, op, parts, results)
    back = tuple(_back(part, parts, comes, operands) for part in parts)
    seeds = [grad for grad in coming if grad is not None]
    tensors = [Symbolic(builder, op.inputs[0]), *seeds, *(Symbolic(builder, i) for i in kept)]
    made = record("cond", tensors, {"branches": back})
    for at, grad in zip(operands, made if isinstance(made, tuple) else (made,), strict=True):
        found[at + 1] = grad
    return tuple(found)


def _back(part: Part, parts: Sequence[Part], comes: Sequence[bool], operands: Sequence[int]) -> Graph:
    """Return a branch back: it takes the gradients of what was yielded, and what any branch reads."""
    builder = part.builder
    seeds = [seed for seed, there in zip(part.seeds, comes, strict=True) if there]
    given = [part.local[i] if p is part else builder.given(p.forward.tensors[i]) for p in parts for i in p.reads]
    return part.graph([*seeds, *given], [part.yielded(at) for at in operands])


def _kept(builder: Builder, op: Op, parts: Sequence[Part], results: int) -> list[int]:
    """Return where the tensors are that branches read, outside; let the conditional yield what they make."""
    more = [
        (p, i) for p in parts for i in p.reads if i not in p.forward.inputs and i not in p.forward.outputs[results:]
    ]
    branches = tuple(_yielding(part, more) for part in parts)
    added = [p.forward.tensors[i]._replace(strides=None) for p, i in more]
    builder.yields_more(op, added, {**op.attrs, "branches": branches, "results": results})
    outputs = builder.ops[op.id].outputs
    out = []
    for part, branch in zip(parts, branches, strict=True):
        operands = dict(zip(branch.inputs, op.inputs[1:], strict=True))
        yielded = dict(zip(branch.outputs[results:], outputs[results:], strict=True))
        out += [operands[i] if i in operands else yielded[i] for i in part.reads]
    return out


def _yielding(part: Part, more: Sequence[tuple[Part, int]]) -> Graph:
    """Return a branch that yields more: what it makes itself, and for what others make nothing."""
    forward = part.forward
    builder = Builder.resumed(forward)
    extra = [i if p is part else absent(builder, p.forward.tensors[i]).id for p, i in more]
    return builder.graph([*forward.outputs, *extra], forward.stated)
