"""What autograd saves of each operation of a graph, as torch does: storages merged, parameters left out.

A tensor is known by the one that owns its memory, of which all is kept. What is copied to be multiplied is saved as the
copy. An input is saved before its operation runs; an output, or a tensor made for the purpose, after it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple, TypeAlias

from symacct.accounting import Formats
from symacct.accounting.steps import counts_of, one_unit, runs_of, works_of
from symacct.backward import Kept, Saving
from symacct.conventions import Convention, matmul_work
from symacct.dtypes import storage_bytes
from symacct.errors import GraphError, UnknownOpError
from symacct.expr import Expr
from symacct.graph import Graph, Op
from symacct.training.kept import format_on

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
        works = works_of(runs_of(graph._replace(ops=(op,)), self.convention))
        counted = [matmul_work(work) for work in works] if self.matmuls else works
        return one_unit(counts_of(counted, self.convention), self.convention)

    def memory(self, tensor: int, saving: Saving) -> Expr:
        """Return the bytes of the memory that a tensor lies in."""
        size = self._bytes(saving.memory(saving.owners[tensor]))
        return 0 if size is None else size

    def saved_by(self, op: Op, saving: Saving) -> Iterator[Saved]:
        """Yield what autograd saves of an operation that has no graph inside.

        Raises
        ------
        GraphError
            For a conditional, of which it is not known which branch runs.
        UnknownOpError
            For an opaque operation of something that needs a gradient.

        """
        if op.kind == "cond":
            where = f" in {op.scope}" if op.scope else ""
            raise GraphError(f"which branch of a conditional runs{where} is not known, nor what it keeps")
        if op.kind == "opaque":
            what = f"what the opaque operation {op.label!r} keeps for its gradient is unknown"
            raise UnknownOpError(f"{what}; detach its inputs, or write it out")
        everything = self.flops(op, saving.graph)
        for place, (tensor, memory, before) in enumerate(saving.of(op)):
            own = Kept(tensor, 1, (op.kind,), op.scope, copy=True)
            kept = own if memory is None else saving.memory(memory)
            size = self._bytes(kept)
            if size is not None:
                key = ("own", op.id, place) if memory is None else memory
                yield Saved(key, size, kept.tensor.role == "param", everything if before else 0)

    def _bytes(self, kept: Kept) -> Expr | None:
        """Return the bytes of a tensor as it is kept on this device; None where it is not kept there."""
        form = format_on(self.device, kept, self.formats)
        return None if form is None else storage_bytes(form, kept.tensor.shape)
