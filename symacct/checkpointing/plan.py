"""What a plan holds at its fullest, and what it executes again.

    peak = max over parts s of (held by the parts up to s + transient of s)

A recomputed segment holds the tensor it takes from forward on; its residuals come back for its own backward pass, and
then both are freed. What is kept is held from forward on, and freed as backward proceeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from symacct.checkpointing.chain import Run, Stage, between, missing, repeated
from symacct.errors import InconclusiveError
from symacct.expr import Expr, Size, add, at_most, multiply


class Part(NamedTuple):
    """A stretch of a plan: bytes held from forward on, more of them during its own backward pass, FLOPs done again."""

    name: str
    held: Expr
    transient: Expr = 0
    again: Expr = 0


class Peak(NamedTuple):
    """What is held during the backward pass of one part."""

    where: str
    bytes: Expr


class Builder:
    """Puts parts in a row; what the part before holds of the tensor between them is not counted twice."""

    def __init__(self, *, early_stop: bool) -> None:
        """Start before the first stage."""
        self.early_stop = early_stop
        self.parts: list[Part] = []
        self.recomputes = False
        self._before: Stage | None = None

    def rerun(self, stage: Stage) -> Expr:
        """Return the operations that recomputing a segment executes: to its last saved tensor, or all."""
        return stage.rerun if self.early_stop else stage.flops

    def keep(self, run: Run) -> None:
        """Keep what autograd keeps of equal stages."""
        stage = repeated(run.stage, run.times)
        name = _named(run.stage, run.times, "kept")
        self.parts.append(Part(name, add((between(self._before, stage), stage.residual))))
        if run.again != 0:
            work = multiply(run.times, run.until if self.early_stop else run.again)
            self.parts.append(Part(f"{name}, scores recomputed", 0, run.transient, work))
        self._before = stage

    def recompute(self, segment: Stage, times: Size | Expr = 1) -> None:
        """Hold what each of equal segments takes; run each once more when its turn comes."""
        self.nest(segment, times, segment.residual, self.rerun(segment))

    def nest(self, segment: Stage, times: Size | Expr, transient: Expr, again: Expr) -> None:
        """Hold what each segment takes; what comes back for its backward pass, and what that executes, is given."""
        others = multiply(add((times, -1)), segment.taken)
        held = add((missing(self._before, segment), others))
        self.parts.append(Part(_named(segment, times, "recomputed"), held, transient, multiply(times, again)))
        self._before = None
        self.recomputes = True


def _named(stage: Stage, times: Size | Expr, what: str) -> str:
    name = stage.name or "stage"
    return f"{name}, {what}" if times == 1 else f"{times} x {name}, {what}"


def peaks(parts: Sequence[Part], outside: Expr) -> list[Peak]:
    """Return where the most can be held, the latest part first; what is never more than another is left out."""
    found: list[Peak] = []
    held = add((outside, *(p.held for p in parts)))
    for part in reversed(parts):
        full = Peak(part.name, add((held, part.transient)))
        if not any(at_most(full.bytes, other.bytes) for other in found):
            found = [p for p in found if not at_most(p.bytes, full.bytes)] + [full]
        held = add((held, multiply(-1, part.held)))
    return found


def larger(a: Expr, b: Expr) -> Expr:
    """Return the larger of two amounts.

    Raises
    ------
    InconclusiveError
        Where the sizes do not decide.

    """
    if at_most(a, b):
        return b
    if at_most(b, a):
        return a
    msg = f"which is larger, {a} or {b}, depends on the sizes; give sizes that decide"
    raise InconclusiveError(msg)


def again(parts: Iterable[Part]) -> Expr:
    """Return the operations executed again."""
    return add(p.again for p in parts)
