"""An account as a chain: its graph cut where a single tensor crosses, its repeats as equal stages in a row.

What crosses a cut is what was made before and is used after, by its memory. It counts if it needs a gradient: masks
and tables, and what the graph is given, are there anyway. A tensor that passes a whole repeat by, as the output of an
encoder that every block of a decoder reads, is kept whatever is recomputed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from symacct.accounting import Account
from symacct.accounting.walk import graphs
from symacct.backward import Saving, chosen_inputs, needing
from symacct.checkpointing.chain import Chain, Run, unrolled
from symacct.checkpointing.saved import Key, Terms
from symacct.checkpointing.stages import Found, Piece, run_of, stage_of, turns
from symacct.errors import GraphError
from symacct.expr import Expr, Size, add, substitute, terms_of
from symacct.graph import Graph


class Derived(NamedTuple):
    """A chain, and whether every tensor between two of its operations is a cut: then no cuts are left out."""

    chain: Chain
    every_cut: bool


class Crossings:
    """The memory that crosses each place between operations of a graph, of what needs a gradient."""

    def __init__(self, saving: Saving) -> None:
        """Find when each is made, and used last."""
        graph, needs, owners = saving.graph, saving.needs, saving.owners
        self.made = {owners[i]: 0 for i in graph.inputs if i in needs and graph.tensors[i].role != "param"}
        used: dict[int, int] = {}
        for place, op in enumerate(graph.ops):
            used |= dict.fromkeys((owners[i] for i in op.inputs), place)
            self.made |= {i: place + 1 for i in op.outputs if i in needs and owners[i] == i}
        self.used = used | dict.fromkeys((owners[i] for i in graph.outputs), len(graph.ops))

    def at(self, place: int) -> set[int]:
        """Return what crosses before operation `place`."""
        return {i for i, made in self.made.items() if made <= place <= self.used.get(i, -1)}


def chain_of(
    account: Account,
    quantity: str = "flops",
    wrt: Sequence[str] | None = None,
    *,
    layers: Size | None = None,
    device: str = "cpu",
    drop_scores: bool = False,
    sizes: Mapping[str, Expr] | None = None,
    inside: bool = False,
) -> Derived:
    """Return the chain of an account; amounts of work are its flops or matmul_flops.

    The turns of a repeat are stages, or, `inside`, cut themselves; `sizes` say then how many turns there are. With
    `layers` the account is one block of so many.

    Raises
    ------
    GraphError
        Where nothing computes, for a conditional, where scores are to be dropped and none are kept, and for a block
        that does not return what it takes.
    MixedUnitsError
        Where work is in two units.

    """
    graph = account.graph
    account.total(quantity)
    terms = Terms(account.dtypes, account.convention, quantity == "matmul_flops", drop_scores, device)
    if not graph.ops or any(op.phase != "fwd" for op in graph.ops):
        what = "it has operations of a backward pass already" if graph.ops else "nothing is computed"
        msg = f"{account.title or 'this account'}: {what}; checkpoint the account of a forward pass"
        raise GraphError(msg)
    chosen = chosen_inputs(graph, wrt)
    needs = [graph.tensors[i].name in chosen for i in graph.inputs]
    if layers is None:
        derived = _Cutting(graph, needing(graph, needs), terms, sizes or {}, inside=inside).derived()
    else:
        taken = _taken(graph)
        needed = needing(graph, [need or i == taken for i, need in zip(graph.inputs, needs, strict=True)])
        derived = _Cutting(graph, needed, terms, sizes or {}, inside=inside, carries=[taken]).repeated(layers)
    if drop_scores and not any(terms_of(run.again) for run in derived.chain.runs):
        fused = any(op.kind == "sdpa" for g in graphs(graph) for op in g.ops)
        why = "attention is fused and keeps none" if fused else "there is no softmax between two products"
        msg = f"there are no attention scores to recompute: {why}; other strategies recompute whole blocks"
        raise GraphError(msg)
    return derived


def _taken(graph: Graph) -> int:
    """Return the input of a block that is repeated: the first that is no parameter, as the block returns it."""
    given = [i for i in graph.inputs if graph.tensors[i].role != "param"]
    if given and len(graph.outputs) == 1:
        taken, returned = graph.tensors[given[0]], graph.tensors[graph.outputs[0]]
        if (taken.shape, taken.dtype) == (returned.shape, returned.dtype):
            return taken.id
    msg = "layers= repeats a block that returns one tensor in the shape of its first input; this account does not"
    raise GraphError(msg)


class _Cutting:
    """A graph on its way to a chain."""

    def __init__(
        self,
        graph: Graph,
        needs: set[int],
        terms: Terms,
        sizes: Mapping[str, Expr],
        *,
        inside: bool,
        carries: Sequence[int] = (),
    ) -> None:
        """Find where it is cut, and what is kept whatever is recomputed; `carries` are what the turn before made."""
        self.graph, self.terms, self.sizes, self.inside = graph, terms, sizes, inside
        self.saving = Saving(graph, needs, "torch")
        self.owners = self.saving.owners
        self.carries = {self.owners[i] for i in carries}
        self.every_cut = True
        self.crossings = Crossings(self.saving)
        self.repeats = [place for place, op in enumerate(graph.ops) if op.kind == "repeat"]
        self.shared: set[Key] = set(self._passing_by())
        forced = {0, len(graph.ops), *self.repeats, *(place + 1 for place in self.repeats)}
        single = {p for p in range(1, len(graph.ops)) if len(self.crossings.at(p) - self.shared) == 1}
        self.cuts = sorted(forced | single)

    def _passing_by(self) -> set[int]:
        """Return what passes a repeat by."""
        out: set[int] = set()
        for place in self.repeats:
            op = self.graph.ops[place]
            before, after = ({self.owners[i] for i in ids} for ids in (op.inputs[: op.attrs["carry"]], op.outputs))
            out |= (self.crossings.at(place) - before) | (self.crossings.at(place + 1) - after)
        return out

    def derived(self) -> Derived:
        """Return the chain. What several stages keep, such as a mask, is none's own."""
        runs, outside = self.runs()
        if not self.shared.issuperset(outside):
            self.shared |= set(outside)
            runs, outside = self.runs()
        outside |= {i: self.terms.memory(i, self.saving) for i in self.shared if isinstance(i, int)}
        return Derived(Chain(tuple(runs), add(outside.values())), self.every_cut)

    def repeated(self, layers: Size) -> Derived:
        """Return the chain of a block that is repeated; inside a block it is cut only where that is asked for."""
        if not self.inside:
            self.cuts, self.repeats = [0, len(self.graph.ops)], []
        runs, outside = self.runs()
        if len(runs) == 1:
            runs = [runs[0]._replace(times=layers, block=True)]
        else:
            runs = [run._replace(block=True) for run in runs] * len(unrolled([runs[0]._replace(times=layers)]))
        return Derived(Chain(tuple(runs), add(outside.values())), self.every_cut)

    def _turn(self, carry: int, body: Graph, needs: set[int]) -> tuple[list[Run], dict[Key, Expr]]:
        """Return the stages of one turn of a repeat."""
        cutting = _Cutting(body, needs, self.terms, self.sizes, inside=False, carries=body.inputs[:carry])
        runs, outside = cutting.runs()
        self.every_cut &= cutting.every_cut
        return [run._replace(block=True) for run in runs], outside

    def runs(self) -> tuple[list[Run], dict[Key, Expr]]:
        """Return the stages in order, and what they keep that is none's own."""
        runs: list[Run] = []
        outside: dict[Key, Expr] = {}
        spans = self._spans()
        self.every_cut = len(spans) == len(self.graph.ops) and (self.inside or not self.repeats)
        for first, last in spans:
            if first in self.repeats:
                op = self.graph.ops[first]
                op = op._replace(attrs={**op.attrs, "n": substitute(op.attrs["n"], self.sizes)})
                one_turn = partial(self._turn, op.attrs["carry"]) if self.inside else None
                found = turns(op, self.saving, self.terms, one_turn)
                runs += found.runs
                outside |= found.outside
            else:
                stage = self._stage(first, last)
                runs.append(run_of(stage, 1, block=not self.repeats))
                outside |= stage.outside
        return runs, outside

    def _spans(self) -> list[tuple[int, int]]:
        """Return stretches between cuts; one that saves nothing belongs to the one before, or else to the next."""
        spans: list[tuple[int, int]] = []
        start = 0
        for cut in self.cuts[1:]:
            if start in self.repeats or self._stage(start, cut).saves:
                spans.append((start, cut))
            elif spans and spans[-1][0] not in self.repeats:
                spans[-1] = (spans[-1][0], cut)
            elif cut not in self.repeats and cut < len(self.graph.ops):
                continue
            else:
                spans.append((start, cut))
            start = cut
        return spans

    def _stage(self, first: int, last: int) -> Found:
        ops = self.graph.ops[first:last]
        takes = self.crossings.at(first) - self.shared if first else self.carries or self._entering(last)
        piece = Piece(self.saving, ops, takes, self.crossings.at(last) - self.shared, self.shared)
        return stage_of(piece, self.terms)

    def _entering(self, last: int) -> set[int]:
        """Return the first input that is no parameter and that the first stage alone uses."""
        used = [self.owners[i] for op in self.graph.ops[:last] for i in op.inputs]
        given = [i for i in used if i in self.graph.inputs and self.graph.tensors[i].role != "param"]
        alone = [i for i in given if self.crossings.used[i] < last and i not in self.shared]
        return set(alone[:1])
