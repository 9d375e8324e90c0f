"""Stages from operations of a graph: what they keep, compute, and save last; a repeat as equal stages in a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeAlias

from symacct.backward import Saving
from symacct.backward.needs import by_turn, needing, wants
from symacct.checkpointing.chain import Run, Stage, as_times, joined, repeated, unrolled
from symacct.checkpointing.plan import larger
from symacct.checkpointing.saved import Key, Saved, Terms
from symacct.checkpointing.scores import score_regions
from symacct.errors import GraphError
from symacct.expr import Expr, Size, add, multiply
from symacct.graph import Graph, Op


class Piece(NamedTuple):
    """Operations of a graph between two cuts, the memory that crosses these, and what several stages share."""

    saving: Saving
    ops: Sequence[Op]
    takes: AbstractSet[int]
    gives: AbstractSet[int]
    shared: AbstractSet[Key] = frozenset()


class Found(NamedTuple):
    """A stage, what it keeps that was made elsewhere, and whether it saves anything at all.

    `transient` and `again` are those of `symacct.checkpointing.chain.Run`: of scores that are not kept.
    """

    stage: Stage
    outside: dict[Key, Expr]
    saves: bool
    transient: Expr = 0
    again: tuple[Expr, Expr] = (0, 0)


class Gathered:
    """What operations save, in the order in which they run, and the operations after the last of it."""

    def __init__(self, piece: Piece, terms: Terms, places: Iterable[int]) -> None:
        """Go through some operations of a piece."""
        self.bytes: dict[Key, Expr] = {}
        self.saves = False
        self.flops: list[Expr] = []
        self.tail: Expr = 0
        for place in places:
            op = piece.ops[place]
            self.flops.append(terms.flops(op, piece.saving.graph))
            self.tail = add((self.tail, self.flops[-1]))
            saved = list(_saved(op, piece, terms))
            if saved:
                self.saves = True
                self.tail = 0 if any(s.skipped == 0 for s in saved) else saved[-1].skipped
            self.bytes |= {s.key: s.bytes for s in saved if not s.is_param}


def stage_of(piece: Piece, terms: Terms) -> Found:
    """Work out a stage."""
    made = {i for op in piece.ops for i in op.outputs} - piece.shared
    everything = Gathered(piece, terms, range(len(piece.ops)))
    kept, dropped = everything.bytes, Dropped({}, 0, (0, 0))
    if terms.drop_scores:
        dropped = _without_scores(piece, terms)
        kept = dropped.kept
    own = {key: size for key, size in kept.items() if key in made or not isinstance(key, int)}
    stage = Stage(
        boundary=add(terms.memory(i, piece.saving) for i in piece.takes),
        residual=add(own.values()),
        flops=add(everything.flops),
        tail=everything.tail,
        keeps_input=_all_or_none([i in kept for i in piece.takes], "taken"),
        keeps_output=_all_or_none([i in own for i in piece.gives], "returned"),
        name=_named(piece.ops),
    )
    elsewhere = {key: size for key, size in kept.items() if key not in own and key not in piece.takes}
    return Found(stage, elsewhere, everything.saves, dropped.transient, dropped.again)


def _all_or_none(kept: Sequence[bool], what: str) -> bool:
    """Return whether tensors are kept.

    Raises
    ------
    GraphError
        If some are and some are not: a cut holds them together.

    """
    if any(kept) and not all(kept):
        msg = f"of {len(kept)} tensors that are {what} together, {sum(kept)} are kept and the others not; cuts know one"
        raise GraphError(msg)
    return any(kept)


class Dropped(NamedTuple):
    """What is kept without scores, the bytes of these, and what bringing them back executes: whole, and until saved."""

    kept: dict[Key, Expr]
    transient: Expr
    again: tuple[Expr, Expr]


def _without_scores(piece: Piece, terms: Terms) -> Dropped:
    """Keep what makes the scores instead of them; what later operations alone keep is gone when these come back."""
    saving, graph = piece.saving, piece.saving.graph
    regions = score_regions(graph, piece.ops)
    kept: dict[Key, Expr] = {}
    first: dict[Key, int] = {}
    for place in range(len(piece.ops)):
        if not any(place in region for region in regions):
            own = Gathered(piece, terms, [place]).bytes
            kept |= own
            first |= {key: place for key in own if key not in first}
    for region in regions:
        made = {i for place in region for i in piece.ops[place].outputs}
        taken = {saving.owners[i] for place in region for i in piece.ops[place].inputs if i not in made}
        arguments = {i for i in taken if graph.tensors[i].role != "param"}
        kept |= {i: terms.memory(i, saving) for i in arguments}
        first |= {i: min(region.start, first.get(i, region.start)) for i in arguments}
    transient: Expr = 0
    work: list[tuple[Expr, Expr]] = []
    for region in regions:
        inside = Gathered(piece, terms, region)
        gone = {key for key, place in first.items() if place >= region.stop}
        back = [size for key, size in inside.bytes.items() if key in gone or key not in kept]
        change = add((*back, *(multiply(-1, kept[key]) for key in gone)))
        transient = change if region is regions[0] else larger(transient, change)
        work.append((add(inside.flops), add((*inside.flops, multiply(-1, inside.tail)))))
    return Dropped(kept, transient, (add(whole for whole, _ in work), add(until for _, until in work)))


def _saved(op: Op, piece: Piece, terms: Terms) -> Iterator[Saved]:
    """Yield what is saved by an operation; of a repeat what its turns save, together."""
    saving = piece.saving
    if op.id not in saving.useful:
        return
    if op.kind != "repeat":
        yield from terms.saved_by(op, saving)
        return
    found = turns(op, saving, terms)
    whole, carry = joined([repeated(run.stage, run.times) for run in found.runs]), op.attrs["carry"]
    result = {saving.owners[i]: terms.memory(i, saving) for i in op.outputs[:carry] if whole.keeps_output}
    taken = {saving.owners[i]: terms.memory(i, saving) for i in op.inputs[:carry] if whole.keeps_input}
    inside = {("inside", op.id): add((whole.residual, *(multiply(-1, size) for size in result.values())))}
    for key, size in (inside | taken | result | found.outside).items():
        yield Saved(key, size, skipped=whole.tail)


def run_of(found: Found, times: Size, *, block: bool) -> Run:
    """Return equal stages in a row; where scores are not kept, a plan keeps the rest of each."""
    whole, until = found.again
    return Run(found.stage, times, block, found.transient, whole, until)


class Turns(NamedTuple):
    """A repeat as runs of equal stages, and what they keep that was made elsewhere, as the graph around knows it."""

    runs: list[Run]
    outside: dict[Key, Expr]


OneTurn: TypeAlias = Callable[[Graph, set[int]], tuple[list[Run], dict[Key, Expr]]]
"""Gives the stages of one turn, from its body and what needs a gradient in it; and what they keep from elsewhere."""


def turns(op: Op, saving: Saving, terms: Terms, one_turn: OneTurn | None = None) -> Turns:
    """Work out the turns of a repeat; the first ones may differ in what needs a gradient.

    A turn is one stage, or those that `one_turn` gives; then the number of turns must be one.
    """
    body, carry = op.attrs["body"], op.attrs["carry"]
    wanted = wants(op, saving.needs)
    by = by_turn(op, wanted)
    runs: list[Run] = []
    outside: dict[Key, Expr] = {}
    around = dict(zip(body.inputs, op.inputs, strict=True))
    for number, carried in enumerate(by):
        inside = needing(body, (*carried, *wanted[carry:]))
        times: Size = 1 if number < len(by) - 1 else as_times(add((op.attrs["n"], 1 - len(by))))
        if one_turn is None:
            stages, elsewhere = _whole_turn(body, inside, carry, terms)
        else:
            stages, elsewhere = one_turn(body, inside)
        if len(stages) == 1:
            run = stages[0]._replace(times=times)
            before = runs.pop() if runs and runs[-1]._replace(times=times) == run else run._replace(times=0)
            runs += [run._replace(times=as_times(add((before.times, times))))]
        else:
            runs += stages * len(unrolled([stages[0]._replace(times=times)]))
        for key in elsewhere:
            owner = saving.owners[around[key]]
            if saving.graph.tensors[owner].role != "param":
                outside[owner] = terms.memory(owner, saving)
    return Turns(runs, outside)


def _whole_turn(body: Graph, inside: set[int], carry: int, terms: Terms) -> tuple[list[Run], dict[Key, Expr]]:
    saving = Saving(body, inside, "torch")
    takes, gives = ({saving.owners[i] for i in ids[:carry]} for ids in (body.inputs, body.outputs))
    found = stage_of(Piece(saving, body.ops, takes, gives), terms)
    return [run_of(found, 1, block=True)], found.outside


def _named(ops: Sequence[Op]) -> str:
    """Name a stage by the scope that its operations share, else by its first and last operation."""
    scopes = [op.scope.split("/") for op in ops]
    shared = [parts[0] for parts in zip(*scopes, strict=False) if len(set(parts)) == 1 and parts[0]]
    if shared:
        return "/".join(shared)
    told = ["product" if op.kind == "einsum" else op.kind for op in ops]
    return told[0] if len(told) == 1 else f"{told[0]} to {told[-1]}"
