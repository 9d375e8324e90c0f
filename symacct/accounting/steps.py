"""What each operation of a graph executes and moves, and their sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from symacct.accounting.fusion import groups, touched
from symacct.accounting.walk import NESTED, Visit, visits
from symacct.conventions import Convention, Key, Unit, Work, tally
from symacct.dtypes import AnyFormat, as_format, storage_bytes
from symacct.errors import MixedUnitsError
from symacct.expr import Expr, add, multiply
from symacct.graph import Graph, Op, Tensor
from symacct.rules import FORMULAS, Read, rule_of

Traffic: TypeAlias = Literal["unfused", "compulsory"]
Layout: TypeAlias = Literal["ideal", "torch"]
Fuse: TypeAlias = Literal["none", "pointwise"]
Term: TypeAlias = tuple[str, Expr]


class Formats(NamedTuple):
    """Which storage format a tensor has: the one it is pinned to, else its role's, else the usual one."""

    usual: AnyFormat
    roles: tuple[tuple[str, AnyFormat], ...] = ()

    def of(self, tensor: Tensor) -> AnyFormat:
        """Return the format of a tensor."""
        return as_format(tensor.dtype) if tensor.dtype else dict(self.roles).get(tensor.role, self.usual)


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of an account, all its runs together: what it computes, its work, and the bytes it moves.

    `copies` are bytes that a better layout would not move: counted under the layout ``"torch"``.
    """

    label: str
    kind: str
    family: str
    scope: str
    times: Expr
    work: Work
    reads: tuple[Term, ...]
    writes: tuple[Term, ...]

    @property
    def bytes(self) -> Expr:
        """Everything read and written by this operation alone."""
        return add(amount for _, amount in self.reads + self.writes)


def steps_of(graph: Graph, formats: Formats, convention: Convention, layout: Layout, fuse: Fuse) -> tuple[Step, ...]:
    """Return the steps of a graph, in order; the body of a repeat is worked out once."""
    found = list(visits(graph, lambda g: flops_of(g, convention)))
    if fuse == "pointwise":
        return tuple(_fused(found, formats, layout))
    return tuple(_step(v, formats, layout) for v in found)


def _fused(found: Sequence[Visit], formats: Formats, layout: Layout) -> Iterator[Step]:
    """Yield one step a kernel; kernels do not cross the border of a body."""
    kernels: dict[int, dict[int, list[Op]]] = {}
    for visit in found:
        op, graph, times, scope = visit
        if id(graph) not in kernels:
            kernels[id(graph)] = {group[0].id: group for group in groups(graph)}
        group = kernels[id(graph)].get(op.id)
        if group is None:
            continue
        if len(group) == 1:
            yield _step(visit, formats, layout)
            continue
        steps = [_step(Visit(o, graph, times, scope), formats, layout) for o in group]
        reads, writes = touched(group, graph)
        counted = [_terms(part, visit, formats) for part in (reads, writes)]
        label = " + ".join(s.label for s in steps if s.work or len(steps) < 3) or " + ".join(s.label for s in steps)
        yield Step(label, "fused", "fused", scope, times, summed([s.work for s in steps]), *counted)


def _terms(touched: Iterable[Read], visit: Visit, formats: Formats) -> tuple[Term, ...]:
    graph = visit.graph
    return tuple((graph.tensors[t.tensor].name, _scaled(_bytes(t, graph, formats), visit.times)) for t in touched)


def _step(visit: Visit, formats: Formats, layout: Layout) -> Step:
    op, graph, times, scope = visit
    rule = rule_of(op)
    reads, writes = rule.reads(op, graph), rule.writes(op, graph)
    if layout == "ideal" and rule.implicit_copy:
        reads = writes = ()
    copied = _terms(rule.copies(op, graph), visit, formats) if layout == "torch" else ()
    return Step(
        op.label,
        op.kind,
        rule.family,
        scope,
        times,
        {key: _scaled(amount, times) for key, amount in rule.work(op, graph).items()},
        _terms(reads, visit, formats) + tuple((f"{name}, to copy it", amount) for name, amount in copied),
        _terms(writes, visit, formats) + tuple((f"copy of {name}", amount) for name, amount in copied),
    )


def summed(works: Iterable[Work]) -> Work:
    """Add work vectors up."""
    out: dict[Key, list[Expr]] = {}
    for work in works:
        for key, amount in work.items():
            out.setdefault(key, []).append(amount)
    return {key: add(amounts) for key, amounts in out.items()}


def _scaled(amount: Expr, times: Expr) -> Expr:
    return amount if times == 1 else multiply(times, amount)


def _bytes(touched: Read, graph: Graph, formats: Formats) -> Expr:
    return storage_bytes(formats.of(graph.tensors[touched.tensor]), touched.shape, touched.row or -1)


def works_of(graph: Graph, convention: Convention) -> list[Work]:
    """Return the work of every operation, times how often it runs."""
    if not [op for op in graph.ops if op.kind in NESTED]:
        return [rule_of(op).work(op, graph) for op in graph.ops]
    out = []
    for op, inside, times, _ in visits(graph, lambda g: flops_of(g, convention)):
        work = rule_of(op).work(op, inside)
        out.append(work if times == 1 else {key: multiply(times, amount) for key, amount in work.items()})
    return out


def flops_of(graph: Graph, convention: Convention) -> Expr:
    """Return all units of a graph's work added up: only to tell which branch is dearer."""
    return add(counts_of(works_of(graph, convention), convention).values())


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


def compulsory_terms(graph: Graph, formats: Formats) -> list[Term]:
    """Return the bytes of the graph's inputs and outputs, once each; of an input only what is visited."""
    visited = {r.tensor: r for op in reversed(graph.ops) if op.einsum for r in rule_of(op).reads(op, graph)}
    elsewhere = {i for op in graph.ops if not op.einsum for i in op.inputs}
    terms = []
    for i in graph.inputs:
        tensor = graph.tensors[i]
        touched = Read(i, tensor.shape, ()) if i in elsewhere or i not in visited else visited[i]
        terms.append((f"{tensor.name} read", _bytes(touched, graph, formats)))
    outputs = [graph.tensors[i] for i in graph.outputs]
    terms += [(f"{t.name} written", _bytes(Read(t.id, t.shape, ()), graph, formats)) for t in outputs]
    return terms
