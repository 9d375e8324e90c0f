"""A chain in numbers, summed up so that the amounts of any segment are a difference; and plans as cuts."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple

from symacct.checkpointing.chain import Chain, Run, Stage, between, joined, missing, unrolled
from symacct.checkpointing.plan import Builder
from symacct.errors import UndefinedSizeError, one_of
from symacct.expr import Expr, Number, Poly, names_in


class Cut(NamedTuple):
    """Stages from `first` up to, not including, `last`: recomputed together, or kept."""

    first: int
    last: int
    recomputed: bool


class Numbers:
    """The amounts of n stages; `kept[i]` is what stages before i keep, with the tensors between them."""

    def __init__(self, chain: Chain, *, early_stop: bool) -> None:
        """Sum up.

        Raises
        ------
        UndefinedSizeError
            While an amount has names.

        """
        self.stages = stages = unrolled(chain.runs)
        pairs = [(None, stages[0]), *pairwise(stages)]
        self.inner = [as_number(between(before, stage)) for before, stage in pairs]
        """Bytes that a stage keeps of what it takes, after a kept stage; and `alone` after a recomputed one."""
        self.alone = [as_number(between(None, stage)) for stage in stages]
        self.missing = [as_number(missing(before, stage)) for before, stage in pairs]
        """Bytes of what a stage takes that are not there yet, after a kept stage; `boundary` are all of them."""
        self.count = len(stages)
        self.outside = as_number(chain.held(recomputing=True))
        self.boundary = [as_number(s.taken) for s in stages]
        self.kept = [0, *accumulate(as_number(s.residual) + i for s, i in zip(stages, self.inner, strict=True))]
        self.work = [0, *accumulate(as_number(s.flops) for s in stages)]
        self.tail = [as_number(s.tail) if early_stop else 0 for s in stages]
        self.everything = as_number(chain.outside) + self.kept[-1]
        """What is held where nothing is recomputed; `outside` is beside the stages where anything is."""

    @property
    def unit(self) -> Number:
        """The bytes that all amounts are a multiple of, 1 or a fraction."""
        amounts = (self.outside, self.everything, *self.boundary, *self.missing, *self.alone, *self.kept)
        denominator = math.lcm(*(x.denominator for x in amounts))
        return Fraction(1, denominator) if denominator > 1 else 1

    def transient(self, first: int, last: int) -> Number:
        """Return the bytes that come back for the backward pass of a segment."""
        return self.kept[last] - self.kept[first] - self.inner[first]

    def reach(self, first: int, room: Number) -> int:
        """Return how far a segment may go with so many bytes for its backward pass."""
        return bisect_right(self.kept, room + self.kept[first] + self.inner[first], lo=first) - 1

    def takes(self, stage: int, *, counted: bool) -> Number:
        """Return the bytes of what a kept stage takes that nothing else holds; `counted` after a kept stage."""
        return self.inner[stage] if counted else self.alone[stage]

    def starts(self, stage: int, *, counted: bool) -> Number:
        """Return the bytes that are held more where recomputation starts from a stage."""
        return self.missing[stage] if counted else self.boundary[stage]

    def counts(self, stage: int) -> bool:
        """Whether it matters to a stage that the one before is kept."""
        return stage < self.count and self.missing[stage] != self.boundary[stage]

    def rerun(self, first: int, last: int) -> Number:
        """Return the operations that recomputing a segment executes."""
        return self.work[last] - self.work[first] - self.tail[last - 1]


def as_number(x: Expr) -> Number:
    """Return an amount that has no names.

    Raises
    ------
    UndefinedSizeError
        Names those that it has.

    """
    if isinstance(x, Poly):
        names = one_of(sorted(set(names_in(x))))
        msg = f"{x} has names, and the best cuts need numbers: give a size to each of {names}"
        raise UndefinedSizeError(msg)
    return x


def follow(build: Builder, stages: Sequence[Stage], cuts: Sequence[Cut]) -> None:
    """Put the parts of a plan in a row."""
    for first, last, recomputed in cuts:
        if recomputed:
            build.recompute(joined(stages[first:last]))
        else:
            build.keep(Run(joined(stages[first:last])))
