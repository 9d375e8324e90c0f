"""What each operation of a graph executes and moves, and their sums."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from symacct.accounting.costs import Ask, Formats, Fuse, Layout, Moved, asker, cost, gathered
from symacct.accounting.fusion import Kernel, kernels
from symacct.accounting.walk import NESTED, Visit, dearest, visits
from symacct.conventions import Convention, Key, Unit, Work, tally
from symacct.errors import MixedUnitsError
from symacct.expr import Expr, add, multiply
from symacct.graph import Graph, Op, Phase
from symacct.rules import FORMULAS, rule_of

Traffic: TypeAlias = Literal["unfused", "compulsory"]
Term: TypeAlias = tuple[str, Expr]


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of an account, all its runs together: what it computes, its work, and the bytes it moves.

    Under the layout ``"torch"`` the copies that lay a tensor out are read and written besides, and so is what stays
    inside a logical operation that no flash kernel runs. `parts` are the operations that run as this one: several where
    kernels are fused.
    """

    label: str
    kind: str
    family: str
    scope: str
    times: Expr
    work: Work
    reads: tuple[Term, ...]
    writes: tuple[Term, ...]
    parts: tuple[Visit, ...] = field(default=(), compare=False, repr=False)
    phase: Phase = "fwd"

    @property
    def bytes(self) -> Expr:
        """Everything read and written by this operation alone."""
        return add(amount for _, amount in self.reads + self.writes)


def runs_of(graph: Graph, convention: Convention) -> list[Visit]:
    """Return the operations with how often they run; of the branches of a conditional, those of the dearest."""
    if not [op for op in graph.ops if op.kind in NESTED]:
        return [Visit(op, graph, 1, op.scope) for op in graph.ops]
    return list(visits(graph, lambda g: flops_of(g, convention)))


def steps_of(runs: Sequence[Visit], formats: Formats, layout: Layout, fuse: Fuse) -> tuple[Step, ...]:
    """Return the steps of a graph, in order; the body of a repeat is worked out once."""
    ask = asker(formats, layout, fuse, len(runs))
    if "pointwise" in fuse:
        return tuple(_fused(runs, ask, formats, layout))
    return tuple([_step(visit, ask) for visit in runs])


def bytes_of(runs: Iterable[Visit], formats: Formats, layout: Layout, fuse: Fuse) -> Expr:
    """Return the unfused traffic of operations."""
    return add([_scaled(cost(v.op, v.graph, formats, layout, fuse).bytes, v.times) for v in runs])


def _step(visit: Visit, ask: Ask) -> Step:
    op, graph, times, scope = visit
    work, reads, writes, copies, spills = ask(op, graph)
    ids = op.inputs + op.outputs

    def terms(moved: Iterable[Moved], told: str = "{}") -> tuple[Term, ...]:
        return tuple([(told.format(graph.tensors[ids[place]].name), _scaled(n, times)) for place, n in moved])

    return Step(
        op.label,
        op.kind,
        rule_of(op).family,
        scope,
        times,
        _repeated(work, times),
        terms(reads) + terms(copies, "{}, to copy it") + tuple([(s.name, _scaled(s.read, times)) for s in spills]),
        terms(writes)
        + terms(copies, "copy of {}")
        + tuple([(s.name, _scaled(s.written, times)) for s in spills if s.written != 0]),
        (visit,),
        op.phase,
    )


def _fused(found: Sequence[Visit], ask: Ask, formats: Formats, layout: Layout) -> Iterator[Step]:
    """Yield one step a kernel, where its first operation stands; kernels do not cross the border of a body."""
    shared: dict[int, dict[int, Kernel]] = {}
    for visit in found:
        op, graph, times, scope = visit
        if id(graph) not in shared:
            several = kernels(graph, free_copies=layout == "ideal")
            shared[id(graph)] = {part.id: kernel for kernel in several for part in kernel.ops}
        kernel = shared[id(graph)].get(op.id)
        if kernel is None:
            yield _step(visit, ask)
        elif op is kernel.ops[0]:
            work = summed([ask(part, graph).work for part in kernel.ops])
            reads, writes = (
                tuple([(graph.tensors[r.tensor].name, _scaled(formats.bytes_of(r, graph), times)) for r in touched])
                for touched in (kernel.reads, kernel.writes)
            )
            label, parts = _label(kernel, ask, graph), tuple([visit._replace(op=part) for part in kernel.ops])
            yield Step(label, "fused", "fused", scope, times, _repeated(work, times), reads, writes, parts, op.phase)


def _label(kernel: Kernel, ask: Ask, graph: Graph) -> str:
    """Name a kernel by what it computes; views are named where there is nothing else."""
    told = [op.label for op in kernel.ops if ask(op, graph).work] or [op.label for op in kernel.ops]
    runs = [(label, len(list(same))) for label, same in itertools.groupby(told)]
    return " + ".join(label if count == 1 else f"{count} {label}" for label, count in runs)


def _repeated(work: Work, times: Expr) -> Work:
    return work if times == 1 else {key: multiply(times, amount) for key, amount in work.items()}


def summed(works: Iterable[Work]) -> Work:
    """Add work vectors up."""
    out: dict[Key, list[Expr]] = {}
    for work in works:
        for key, amount in work.items():
            out.setdefault(key, []).append(amount)
    return {key: add(amounts) for key, amounts in out.items()}


def _scaled(amount: Expr, times: Expr) -> Expr:
    return amount if times == 1 else multiply(times, amount)


def works_of(runs: Iterable[Visit]) -> list[Work]:
    """Return the work of operations, times how often they run."""
    return [_repeated(rule_of(v.op).work(v.op, v.graph), v.times) for v in runs]


def flops_of(graph: Graph, convention: Convention) -> Expr:
    """Return all units of a graph's work added up: only to tell which branch is dearer."""
    return add(counts_of(works_of(gathered(runs_of(graph, convention))), convention).values())


def dearest_branch(op: Op, convention: Convention) -> Graph:
    """Return the branch of a conditional that executes most; see `symacct.accounting.walk.dearest`."""
    return dearest(op.attrs["branches"], lambda g: flops_of(g, convention))


def counts_of(works: Sequence[Work], convention: Convention) -> dict[Unit, Expr]:
    """Sum work vectors under a convention, unit by unit."""
    if len(works) == 1:
        return tally(works[0], convention, FORMULAS)
    parts: dict[Unit, list[Expr]] = {}
    for work in works:
        for unit, amount in tally(work, convention, FORMULAS).items():
            parts.setdefault(unit, []).append(amount)
    return {unit: add(amounts) for unit, amounts in parts.items()}


def one_unit(counts: dict[Unit, Expr], convention: Convention) -> Expr:
    """Return work as one number.

    Raises
    ------
    MixedUnitsError
        Where it is in two units, as under ``mac``.

    """
    if len(counts) > 1:
        both = " and ".join(f"{amount} {unit}" for unit, amount in counts.items())
        msg = f"under {convention.label} this is {both}: two units, not one number; the account shows each (.counts)"
        raise MixedUnitsError(msg)
    return next(iter(counts.values()), 0)


def unfused_terms(steps: Iterable[Step]) -> list[Term]:
    """Return bytes by tensor and direction, every step by itself."""
    terms = [(f"{name} read", amount) for s in steps for name, amount in s.reads]
    return terms + [(f"{name} written", amount) for s in steps for name, amount in s.writes]
