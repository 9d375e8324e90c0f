"""Where a graph is cut, and its stages in a row: those between cuts, and the turns of its repeats.

What crosses a cut is what was made before and is used after, by its memory. It counts if it needs a gradient: masks
and tables, and what the graph is given, are there anyway. A repeat takes and gives its carries, in order. A tensor that
passes a whole repeat by, as the output of an encoder that every block of a decoder reads, is none's own: it is kept
whatever is recomputed if autograd keeps it, else, as everything that all turns read, as soon as anything is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import NamedTuple

from symacct.backward import Saving
from symacct.backward.loops import bodies_of
from symacct.backward.needs import by_turn, needing, wants
from symacct.checkpointing.chain import Chain, Run, Stage, as_times, unrolled
from symacct.checkpointing.saved import Key, Terms
from symacct.checkpointing.stages import Piece, flags, stage_of
from symacct.errors import GraphError, SizeError
from symacct.expr import Expr, Poly, Size, add, multiply, substitute
from symacct.graph import Condition, Op
from symacct.rules.control import enough_turns

Kept = dict[Key, Expr]


class Ends(NamedTuple):
    """The memory that crosses before a block that is repeated, and that which it leaves in its place."""

    takes: Sequence[int]
    gives: Sequence[int]


def ends_of(saving: Saving, taken: Sequence[int], given: Sequence[int], what: str) -> Ends:
    """Return what a block takes and gives, by its memory.

    Raises
    ------
    GraphError
        Where it gives what it was given.

    """
    takes, gives = ([saving.owners[i] for i in ids] for ids in (taken, given))
    if passed := [i for i in gives if i not in saving.makers]:
        name = saving.graph.tensors[passed[0]].name
        msg = f"{what} passes {name!r} on as it was given, so that turns share it; give what does not change as consts"
        raise GraphError(msg)
    return Ends(takes, gives)


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


class Cutting:
    """A graph on its way to a chain; `inside` also the turns of its repeats are cut, and `whole` not even the graph."""

    def __init__(
        self,
        saving: Saving,
        terms: Terms,
        sizes: Mapping[str, Expr],
        *,
        inside: bool,
        ends: Ends | None = None,
        whole: bool = False,
    ) -> None:
        """Find the cuts; `sizes` say how many turns there are where they are cut."""
        self.saving, self.graph, self.owners = saving, saving.graph, saving.owners
        self.terms, self.sizes, self.inside, self.ends = terms, sizes, inside, ends
        self.crossings = Crossings(saving)
        count = len(self.graph.ops)
        self.repeats = [] if whole else [place for place, op in enumerate(self.graph.ops) if op.kind == "repeat"]
        self.shared = self._passing_by()
        forced = {0, count, *self.repeats, *(place + 1 for place in self.repeats)}
        single = {p for p in range(1, count) if not whole and len(self.crossings.at(p) - self.shared) == 1}
        self.cuts = sorted(forced | single)
        for first, last in self._spans():
            if first not in self.repeats:  # what passes a stage by, too
                self.shared |= set(self._crossing(first, last)) & set(self._crossing(last, last))
        self.every_cut = True
        self.conditions: list[Condition] = []

    def _passing_by(self) -> set[Key]:
        """Return what passes a repeat by."""
        out: set[Key] = set()
        for place in self.repeats:
            op = self.graph.ops[place]
            before, after = ({self.owners[i] for i in ids} for ids in (op.inputs[: op.attrs["carry"]], op.outputs))
            out |= (self.crossings.at(place) - before) | (self.crossings.at(place + 1) - after)
        return out

    def derived(self) -> Chain:
        """Return the chain. What several stages keep, such as a mask, is none's own."""
        runs, outside = self.runs()
        if not self.shared.issuperset(outside):
            self.shared |= set(outside)
            runs, outside = self.runs()
        repeats = [self.graph.ops[place] for place in self.repeats]
        read = {self.owners[i] for op in repeats for i in op.inputs[op.attrs["carry"] :]}
        read |= {self.owners[i] for op in repeats for i in op.inputs} & self.shared
        more = (read | {i for i in self.shared if self.inside and isinstance(i, int)}) - outside.keys()
        there = [i for i in more if self.graph.tensors[i].role != "param"]
        return Chain(tuple(runs), add(outside.values()), add(self.terms.memory(i, self.saving) for i in there))

    def repeated(self, layers: Size) -> Chain:
        """Return the chain of a block that is repeated."""
        runs, outside = self.runs()
        if len(runs) == 1:
            runs = [runs[0]._replace(times=layers)]
        else:
            runs = runs * len(unrolled([runs[0]._replace(times=layers)]))
        return Chain(tuple(runs), add(outside.values()))

    def runs(self) -> tuple[list[Run], Kept]:
        """Return the stages in order, and what they keep that is none's own."""
        runs: list[Run] = []
        outside: Kept = {}
        spans = self._spans()
        self.every_cut = len(spans) == len(self.graph.ops) and (self.inside or not self.repeats)
        for first, last in spans:
            takes, gives = self._crossing(first, last), self._crossing(last, last)
            if first in self.repeats:
                own, elsewhere, start = self._repeat(self.graph.ops[first], gives)
            else:
                piece = Piece(self.saving, self.graph.ops[first:last], takes, gives, self.shared)
                run, elsewhere = stage_of(piece, self.terms)
                own, start = [run._replace(block=run.block and not self.repeats)], run.stage
            stage, more = self._taken(start, takes)
            own = _edge(own, 0, stage)
            runs += own
            outside |= elsewhere | more
            if any(isinstance(run.times, Poly) for run in own):
                alone = sum(run.times for run in own if isinstance(run.times, int))
                self.conditions += enough_turns(add(run.times for run in own), alone)  # type: ignore[arg-type]
        return runs, outside

    def _repeat(self, op: Op, gives: Sequence[int]) -> tuple[list[Run], Kept, Stage]:
        """Return the turns of a repeat, of which the last gives these; what of that is shared is none's own.

        The stage is the first as it takes what the graph gives it, not what a turn before it would.
        """
        runs, elsewhere, start = self._turns(op)
        last, made = runs[-1].stage, [self.owners[i] for i in op.outputs]
        kept = {i for i, there in zip(made, last.keeps_output, strict=False) if there}  # type: ignore[arg-type]
        shared: Kept = {i: self.terms.memory(i, self.saving) for i in kept if i in self.shared}
        rest = add((last.residual, *(multiply(-1, size) for size in shared.values())))
        runs = _edge(runs, -1, replace(last, residual=rest, keeps_output=flags(gives, kept)))
        first = replace(runs[0].stage, boundary=start.boundary, keeps_input=start.keeps_input)
        return runs, elsewhere | shared, first

    def _crossing(self, place: int, last: int) -> Sequence[int]:
        """Return the memory that crosses before an operation; `last` is the end of the stage there."""
        ops = self.graph.ops
        if self.ends is not None and place in (0, len(ops)):
            return self.ends.gives if place else self.ends.takes
        if place in self.repeats:
            return [self.owners[i] for i in ops[place].inputs[: ops[place].attrs["carry"]]]
        if place == 0:
            return self._entering(last)
        made = ops[place - 1].outputs[: ops[place - 1].attrs["carry"]] if place - 1 in self.repeats else ()
        carries = [self.owners[i] for i in made]
        return [*carries, *sorted(self.crossings.at(place) - self.shared - set(carries))]

    def _entering(self, last: int) -> list[int]:
        """Return the first input that is no parameter and that the first stage alone uses."""
        used = [self.owners[i] for op in self.graph.ops[:last] for i in op.inputs]
        given = [i for i in used if i in self.graph.inputs and self.graph.tensors[i].role != "param"]
        return [i for i in given if self.crossings.used[i] < last and i not in self.shared][:1]

    def _taken(self, stage: Stage, memories: Sequence[int]) -> tuple[Stage, Kept]:
        """Return a stage that takes these, each once and not what is there anyway; and what it keeps of that."""
        params = {i for i in memories if self.graph.tensors[i].role == "param"}
        stage, kept = _once(stage, memories, self.shared | params)
        return stage, {i: self.terms.memory(i, self.saving) for i in memories if i in kept & self.shared}

    def _spans(self) -> list[tuple[int, int]]:
        """Return stretches between cuts; one that saves nothing belongs to the one before, or else to the next."""
        spans: list[tuple[int, int]] = []
        start = 0
        for cut in self.cuts[1:]:
            if start in self.repeats or any(self.saving.keeps(op) for op in self.graph.ops[start:cut]):
                spans.append((start, cut))
            elif spans and spans[-1][0] not in self.repeats:
                spans[-1] = (spans[-1][0], cut)
            elif cut not in self.repeats and cut < len(self.graph.ops):
                continue
            else:
                spans.append((start, cut))
            start = cut
        return spans

    def _turns(self, op: Op) -> tuple[list[Run], Kept, Stage]:
        """Return the turns of a repeat, of which the first ones may differ; and the first stage, as it is by itself."""
        bodies, carry, wanted = bodies_of(op), op.attrs["carry"], wants(op, self.saving.needs)
        by = by_turn(op, wanted)
        differing = max(len(by), len(bodies)) - 1
        self.conditions += enough_turns(op.attrs["n"], differing)
        n = substitute(op.attrs["n"], self.sizes)
        if type(n) is int and n < differing:
            msg = f"{n} turns of a repeat whose first {differing} differ; account for so few by themselves"
            raise SizeError(msg)
        runs: list[Run] = []
        outside: Kept = {}
        around = dict(zip(bodies[-1].inputs, op.inputs, strict=True))
        for number in range(differing + 1):
            body, needed = bodies[min(number, len(bodies) - 1)], by[min(number, len(by) - 1)]
            times: Size = 1 if number < differing else as_times(add((n, -differing)))
            if times == 0:
                break
            saving = self.terms.saving(body, needing(body, (*needed, *wanted[carry:])))
            ends = ends_of(saving, body.inputs[:carry], body.outputs[:carry], op.label)
            turn = Cutting(saving, self.terms, self.sizes, inside=False, ends=ends, whole=not self.inside)
            stages, elsewhere = turn.runs()
            self.every_cut &= turn.every_cut or not self.inside
            self.conditions += turn.conditions
            if number == 0:
                start = stages[0].stage
            stages[0] = stages[0]._replace(stage=_once(stages[0].stage, ends.gives, set())[0])
            runs += _times(stages, times)
            outside |= {(op.id, number, key): multiply(times, elsewhere.pop(key)) for key in elsewhere.keys() - around}
            owners = [self.owners[around[key]] for key in elsewhere]  # type: ignore[index]
            outside |= {i: self.terms.memory(i, self.saving) for i in owners if self.graph.tensors[i].role != "param"}
        return _merged(runs), outside, start


def _once(stage: Stage, memories: Sequence[int], there: AbstractSet[Key]) -> tuple[Stage, AbstractSet[Key]]:
    """Return a stage that takes these memories, each once and not what is there; and which of them it keeps."""
    kept = {i for i, keeps in zip(memories, stage.keeps_input, strict=True) if keeps}  # type: ignore[arg-type]
    before = [{*there, *memories[:place]} for place in range(len(memories))]
    sizes = tuple([0 if i in before[place] else stage.takes[place] for place, i in enumerate(memories)])
    return replace(stage, boundary=sizes, keeps_input=tuple([i in kept for i in memories])), kept


def _times(stages: list[Run], times: Size) -> list[Run]:
    """Return the stages of a turn so many times."""
    if len(stages) == 1:
        return [stages[0]._replace(times=times)] if times != 0 else []
    return stages * len(unrolled([stages[0]._replace(times=times)]))


def _merged(runs: Sequence[Run]) -> list[Run]:
    """Return runs with equal stages that follow each other as one."""
    out: list[Run] = []
    for run in runs:
        if out and out[-1]._replace(times=run.times) == run:
            out[-1] = run._replace(times=as_times(add((out[-1].times, run.times))))
        else:
            out.append(run)
    return out


def _edge(runs: list[Run], at: int, stage: Stage) -> list[Run]:
    """Return runs whose first or last stage is another one."""
    if runs[at].stage == stage:
        return runs
    one, rest = runs[at]._replace(stage=stage, times=1), _times([runs[at]], as_times(add((runs[at].times, -1))))
    return [one, *rest, *runs[1:]] if at == 0 else [*runs[:-1], *rest, one]
