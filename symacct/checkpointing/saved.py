"""What autograd saves of operations of a graph, as torch does: storages merged, parameters left out.

A tensor is known by the one that owns its memory, of which all is kept. What is copied to be multiplied is saved as the
copy. An input is saved before its operation runs; an output, or a tensor made for the purpose, after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeAlias

from symacct.accounting import Formats
from symacct.accounting.steps import counts_of, dearest_branch, one_unit, runs_of, works_of
from symacct.backward import Kept, Saving
from symacct.backward.held import Found, Search
from symacct.backward.needs import by_turn, needing, wants
from symacct.conventions import Convention, matmul_work
from symacct.dtypes import storage_bytes
from symacct.errors import UnknownOpError
from symacct.expr import Expr, add, multiply
from symacct.graph import Graph, Op
from symacct.training.kept import format_on, running_on

Key: TypeAlias = Hashable
"""Names memory: the id of the tensor that owns it, or the place where a tensor was made to be kept."""


class Terms(NamedTuple):
    """How one counts: formats, the convention, whether matrix products alone, whether scores are kept, and where."""

    formats: Formats
    convention: Convention
    matmuls: bool
    drop_scores: bool = False
    device: str = "cpu"

    def flops(self, ops: Sequence[Op], graph: Graph) -> Expr:
        """Return the operations that operations of a graph execute, all turns together."""
        works = works_of(runs_of(graph._replace(ops=tuple(ops)), self.convention))
        counted = [matmul_work(work) for work in works] if self.matmuls else works
        return one_unit(counts_of(counted, self.convention), self.convention)

    def saving(self, graph: Graph, needs: set[int]) -> Saving:
        """Return what the operations of a graph keep here, where these tensors need a gradient."""
        return Saving(graph, needs, "torch", running_on(self.device, self.formats))

    def memory(self, tensor: int, saving: Saving) -> Expr:
        """Return the bytes of the memory that a tensor lies in."""
        return self._bytes(saving.memory(saving.owners[tensor]))

    def saved(self, ops: Sequence[Op], saving: Saving) -> dict[Key, Expr]:
        """Return the bytes that operations of a graph keep, each memory once.

        Raises
        ------
        UnknownOpError
            For an opaque operation of something that needs a gradient.

        """
        for op in ops:
            if op.kind == "opaque" and op.id in saving.useful:
                what = f"what the opaque operation {op.label!r} keeps for its gradient is unknown"
                raise UnknownOpError(f"{what}; detach its inputs, or write it out")
        found = Found(saving, {}, {}, {})
        Search("torch", lambda op: dearest_branch(op, self.convention), saving.running, []).over(ops, found)
        kept: dict[Key, Expr] = {i: self.memory(i, saving) for i in (*found.memories, *found.inside)}
        inside = Counter(found.inside.values())
        kept |= {p: self._bytes(k._replace(times=add((k.times, -inside[p])))) for p, k in found.others.items()}
        return {key: size for key, size in kept.items() if not _is_param(key, saving)}

    def _bytes(self, kept: Kept) -> Expr:
        """Return the bytes of a tensor as it is kept on this device."""
        return multiply(kept.times, storage_bytes(format_on(self.device, kept, self.formats), kept.tensor.shape))

    def tail(self, ops: Sequence[Op], saving: Saving) -> Expr:
        """Return the operations after the last tensor that is saved, a parameter too; all of them where none is."""
        found = self._tail(ops, saving)
        return self.flops(ops, saving.graph) if found is None else found

    def _tail(self, ops: Sequence[Op], saving: Saving) -> Expr | None:
        after: list[Expr] = []
        for op in reversed(ops):
            if op.id in saving.useful:
                last = self._tail_inside(op, saving) if op.parts else self._tail_of(op, saving)
                if last is not None:
                    return add((*after, last))
            after.append(self.flops([op], saving.graph))
        return None

    def _tail_of(self, op: Op, saving: Saving) -> Expr | None:
        saved = saving.of(op)
        return None if not saved else self.flops([op], saving.graph) if all(s.before for s in saved) else 0

    def _tail_inside(self, op: Op, saving: Saving) -> Expr | None:
        """Return the same of the turn that runs last, or of the branch that runs."""
        wanted = wants(op, saving.needs)
        if op.kind == "cond":
            inside, needed = dearest_branch(op, self.convention), wanted[1:]
        else:
            inside, needed = op.attrs["body"], (*by_turn(op, wanted)[-1], *wanted[op.attrs["carry"] :])
        return self._tail(inside.ops, self.saving(inside, needing(inside, needed)))


def _is_param(key: Key, saving: Saving) -> bool:
    return isinstance(key, int) and saving.graph.tensors[key].role == "param"
