"""What each operation of a graph executes and moves, and their sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from symacct.conventions import Convention, Unit, Work, tally
from symacct.dtypes import AnyFormat, storage_bytes
from symacct.errors import MixedUnitsError
from symacct.expr import Expr, add
from symacct.graph import Graph, Op
from symacct.rules import FORMULAS, Read, rule_of

Traffic: TypeAlias = Literal["unfused", "compulsory"]
Term: TypeAlias = tuple[str, Expr]


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of an account: what it computes, its work, and the bytes it moves by tensor."""

    label: str
    work: Work
    reads: tuple[Term, ...]
    writes: tuple[Term, ...]

    @property
    def bytes(self) -> Expr:
        """Everything read and written by this operation alone."""
        return add(amount for _, amount in self.reads + self.writes)


def step_of(op: Op, graph: Graph, formats: tuple[AnyFormat, ...]) -> Step:
    """Return what one operation executes and moves."""

    def term(touched: Read) -> Term:
        amount = storage_bytes(formats[touched.tensor], touched.shape, touched.row or -1)
        return graph.tensors[touched.tensor].name, amount

    rule = rule_of(op)
    reads = tuple([term(r) for r in rule.reads(op, graph)])
    writes = tuple([term(w) for w in rule.writes(op, graph)])
    return Step(op.label, rule.work(op, graph), reads, writes)


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
        msg = f"under the convention {convention.label} this is {both}: two units, not one number; see .counts"
        raise MixedUnitsError(msg)
    return next(iter(counts.values()), 0)


def traffic_terms(steps: Iterable[Step], graph: Graph, traffic: Traffic) -> list[Term]:
    """Return bytes by tensor and direction: all of every step, or inputs and outputs of the graph once."""
    terms = [(f"{name} read", amount) for s in steps for name, amount in s.reads]
    terms += [(f"{name} written", amount) for s in steps for name, amount in s.writes]
    if traffic == "unfused":
        return terms
    wanted = {f"{graph.tensors[i].name} read" for i in graph.inputs}
    wanted |= {f"{graph.tensors[i].name} written" for i in graph.outputs}
    once: dict[str, Expr] = {}
    for label, amount in terms:
        if label in wanted:
            once.setdefault(label, amount)
    return list(once.items())
