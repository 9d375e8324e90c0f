"""What autograd saves of each operation of a graph, as torch does: storages merged, parameters left out.

A tensor is known by the one that owns its memory, of which all is kept. What is copied to be multiplied is saved as the
copy. An input is saved before its operation runs; an output, or a tensor made for the purpose, after it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple, TypeAlias

from symacct.accounting import Formats
from symacct.accounting.steps import counts_of, flops_of, one_unit
from symacct.accounting.walk import dearest
from symacct.backward.needs import is_float, wants
from symacct.conventions import Convention, Work, matmul_work
from symacct.dtypes import as_format, storage_bytes
from symacct.errors import GraphError, UnknownOpError
from symacct.expr import Expr, add, multiply
from symacct.graph import Graph, Op
from symacct.rules import Read, rule_of
from symacct.symbolic.builder import storage_of
from symacct.training.kept import NORMALISED

Key: TypeAlias = Hashable
"""Names memory: the id of the tensor that owns it, or the operation that made it for its gradient."""


class Saved(NamedTuple):
    """Memory that is kept, whether it is a parameter's, and the operations of its operation that come after."""

    key: Key
    bytes: Expr
    is_param: bool = False
    skipped: Expr = 0


class Terms(NamedTuple):
    """How one counts: formats, the convention, whether matrix products alone, whether scores are kept, and where."""

    formats: Formats
    convention: Convention
    matmuls: bool
    drop_scores: bool = False
    device: str = "cpu"

    def flops(self, op: Op, graph: Graph) -> Expr:
        """Return the operations of one operation, all its turns together."""
        if op.kind == "repeat":
            body = op.attrs["body"]
            return multiply(op.attrs["n"], add(self.flops(o, body) for o in body.ops))
        if op.kind == "cond":
            branch = dearest(op.attrs["branches"], lambda g: flops_of(g, self.convention))
            return add(self.flops(o, branch) for o in branch.ops)
        work: Work = rule_of(op).work(op, graph)
        return one_unit(counts_of([matmul_work(work) if self.matmuls else work], self.convention), self.convention)


def root(graph: Graph, tensor: int) -> int:
    """Return the tensor that owns the memory of a tensor."""
    return storage_of(graph.tensors[tensor])


def bytes_of(graph: Graph, tensor: int, formats: Formats) -> Expr:
    """Return the bytes of the memory that a tensor lies in."""
    owner = graph.tensors[root(graph, tensor)]
    return formats.bytes_of(Read(owner.id, owner.shape, (len(owner.shape) - 1,) if owner.shape else ()), graph)


def useful(graph: Graph, needs: set[int]) -> frozenset[int]:
    """Return the operations through which gradients come back from what a graph yields; others keep nothing for it.

    Raises
    ------
    UnknownOpError
        For an opaque operation of something that needs a gradient.

    """
    reached = {i for i in graph.outputs if i in needs}
    found: set[int] = set()
    for op in reversed(graph.ops):
        wanted = wants(op, needs)
        if op.kind == "opaque" and any(wanted):
            what = f"what the opaque operation {op.label!r} keeps for its gradient is unknown"
            raise UnknownOpError(f"{what}; detach its inputs, or write it out")
        if any(wanted) and not reached.isdisjoint(op.outputs):
            found.add(op.id)
            reached.update(i for i, want in zip(op.inputs, wanted, strict=True) if want)
    return frozenset(found)


def saved_by(op: Op, graph: Graph, needs: set[int], terms: Terms) -> Iterator[Saved]:
    """Yield what autograd saves of an operation that has no graph inside.

    Raises
    ------
    GraphError
        For a conditional, of which it is not known which branch runs.

    """
    if op.kind == "cond":
        msg = (
            f"which branch of a conditional runs{f' in {op.scope}' if op.scope else ''} is not known, nor what it keeps"
        )
        raise GraphError(msg)
    formats, rule, all_of_it = terms.formats, rule_of(op), terms.flops(op, graph)
    copied = {r.tensor: r for r in rule.copies(op, graph)}
    for place, kept in enumerate(rule.residuals(op, graph, wants(op, needs))):
        if kept.kind == "extra":
            if terms.device == "cuda" and kept.name == NORMALISED:
                continue
            form = as_format(kept.dtype) if kept.dtype else formats.usual
            yield Saved(("extra", op.id, place), storage_bytes(form, kept.shape))
            continue
        before = kept.kind == "input"
        tensor = (op.inputs if before else op.outputs)[kept.which]
        if before and tensor in copied:
            yield Saved(("copy", op.id, tensor), formats.bytes_of(copied[tensor], graph), skipped=all_of_it)
            continue
        owner = root(graph, tensor)
        is_param = graph.tensors[owner].role == "param"
        size = bytes_of(graph, tensor, formats)
        if terms.device == "cuda" and not before and kept.which:
            size = _on_cuda(op, graph, tensor, formats)
        yield Saved(owner, size, is_param, all_of_it if before else 0)


def _on_cuda(op: Op, graph: Graph, tensor: int, formats: Formats) -> Expr:
    """Return the bytes of what an operation makes besides its result: masks of a byte, statistics in fp32."""
    made = graph.tensors[tensor]
    form = formats.of(made)
    if op.kind == "dropout":
        form = as_format("bool")
    elif is_float(made) and form.name != "fp64":
        form = as_format("fp32")
    return storage_bytes(form, made.shape)
