"""A chain of stages, each taking one tensor from the stage before: what it keeps, what it computes, stages joined.

What autograd keeps of a stage is its `residual`; where the tensor between two stages is kept too, by either of them, a
segment of both keeps it once more. A segment is itself a stage, so joining is all that cuts need:

    residual of k equal stages    k * residual + (k - 1) * between,  between = boundary where kept and not yet counted

Where several tensors cross together, as the carries of a repeat, each is kept or not by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import zip_longest
from typing import Any, NamedTuple

from symacct.errors import ExpressionError, SizeError
from symacct.expr import Expr, Poly, Size, add, from_sympy, multiply, names_in, read, sign, substitute

AMOUNTS = ("residual", "flops", "tail")


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a chain: a layer, a block, or a few operations between two tensors.

    Parameters
    ----------
    boundary
        Bytes of the tensor that it takes, which is kept if recomputation starts here; of several, of each in order.
    residual
        Bytes that autograd keeps of it besides what it takes; its own result included where that is kept.
    flops
        Operations of its forward pass.
    tail
        Operations after the last tensor that it saves: recomputation that stops early skips them.
    keeps_input, keeps_output
        Whether autograd keeps what it takes, and what it returns; of several tensors, for each in order.
    name
        What to print.

    Raises
    ------
    SizeError
        For an amount that is negative or no exact number or formula; for a tail of more operations than the stage has;
        for flags that are none, or not as many as tensors.

    Examples
    --------
    >>> relu = Stage("B*D", "B*D", "2*B*D^2 + B*D", keeps_input=True, keeps_output=True, name="Linear+ReLU")
    >>> relu.boundary, joined([relu, relu]).residual
    (B*D, 2*B*D)

    """

    boundary: Expr | tuple[Expr, ...]
    residual: Expr
    flops: Expr = 1
    tail: Expr = 0
    keeps_input: bool | tuple[bool, ...] = False
    keeps_output: bool | tuple[bool, ...] = False
    name: str = ""

    def __post_init__(self) -> None:
        """Read amounts that are text or sympy's."""
        several = type(self.boundary) in (tuple, list)
        taken = tuple([_amount(size, "boundary") for size in (self.boundary if several else [self.boundary])])  # type: ignore[union-attr]
        object.__setattr__(self, "boundary", taken if several else taken[0])
        for field in ("keeps_input", "keeps_output"):
            object.__setattr__(self, field, _flags(getattr(self, field), field, len(taken)))
        for field in AMOUNTS:
            object.__setattr__(self, field, _amount(getattr(self, field), field))
        if sign(add((self.flops, multiply(-1, self.tail)))) == -1:
            msg = f"the tail of a stage, {self.tail} operations, is more than its {self.flops} operations"
            raise SizeError(msg)

    @property
    def takes(self) -> tuple[Expr, ...]:
        """Bytes of each tensor that it takes."""
        return self.boundary if isinstance(self.boundary, tuple) else (self.boundary,)

    @property
    def taken(self) -> Expr:
        """Bytes of all that it takes."""
        return add(self.takes)

    @property
    def rerun(self) -> Expr:
        """Operations until its last tensor is saved."""
        return add((self.flops, multiply(-1, self.tail)))

    def at(self, sizes: Mapping[str, Expr]) -> Stage:
        """Return the stage with sizes put in for names."""
        amounts: dict[str, Any] = {field: substitute(getattr(self, field), sizes) for field in AMOUNTS}
        takes = tuple([substitute(size, sizes) for size in self.takes])
        return replace(self, boundary=takes if isinstance(self.boundary, tuple) else takes[0], **amounts)

    @property
    def names(self) -> set[str]:
        """The sizes that are still names."""
        return {n for x in (*self.takes, *(getattr(self, field) for field in AMOUNTS)) for n in names_in(x)}


def _flags(value: Any, field: str, tensors: int) -> bool | tuple[bool, ...]:
    """Return whether tensors are kept, all alike or each by itself."""
    several = type(value) in (tuple, list)
    each = tuple(value) if several else (value,)
    if not all(type(flag) is bool for flag in each):
        msg = f"the {field} of a stage is {value!r}; it is True or False, or one of these for each of several tensors"
        raise SizeError(msg)
    if several and field == "keeps_input" and len(each) != tensors:
        msg = f"a stage takes {tensors} tensors, and keeps_input tells of {len(each)}"
        raise SizeError(msg)
    return each if several else each[0]


def _amount(value: Any, field: str) -> Expr:
    """Return a number or formula that is not negative."""
    if isinstance(value, bool | float) or value is None:
        msg = f"the {field} of a stage is {value!r}; it is a whole number, or a formula such as '2*B*D^2'"
        raise SizeError(msg)
    try:
        amount: Expr = read(value) if isinstance(value, str) else value if type(value) is Poly else from_sympy(value)
    except ExpressionError as error:
        msg = f"the {field} of a stage: {error}"
        raise SizeError(msg) from None
    if sign(amount) == -1:
        msg = f"the {field} of a stage is {amount}, which is negative"
        raise SizeError(msg)
    return amount


def missing(before: Stage | None, stage: Stage) -> Expr:
    """Return the bytes of what a stage takes that the stage before does not keep; of None nothing is kept."""
    counted = () if before is None else before.keeps_output
    return add(size for size, there in _each(stage, counted) if not there)


def between(before: Stage | None, stage: Stage) -> Expr:
    """Return the bytes that a stage keeps of what it takes and that the stage before does not count."""
    counted = () if before is None else before.keeps_output
    flags = zip(_each(stage, stage.keeps_input), _each(stage, counted), strict=True)
    return add(size for (size, kept), (_, there) in flags if kept and not there)


def _each(stage: Stage, flags: bool | tuple[bool, ...]) -> list[tuple[Expr, bool]]:  # noqa: FBT001
    """Return the bytes of each tensor that a stage takes with its flag; without one it is False."""
    every = flags if isinstance(flags, tuple) else (flags,) * len(stage.takes)
    return list(zip_longest(stage.takes, every[: len(stage.takes)], fillvalue=False))


def joined(stages: Sequence[Stage]) -> Stage:
    """Return stages in a row as one."""
    return reduce(_join, stages)


def _join(first: Stage, second: Stage) -> Stage:
    name = first.name if first.name == second.name else f"{first.name} to {second.name}"
    return replace(
        first,
        residual=add((first.residual, second.residual, between(first, second))),
        flops=add((first.flops, second.flops)),
        tail=second.tail,
        keeps_output=second.keeps_output,
        name=name,
    )


def repeated(stage: Stage, times: Size | Expr) -> Stage:
    """Return equal stages in a row as one."""
    inner = multiply(between(stage, stage), add((times, -1)))
    return replace(
        stage,
        residual=add((multiply(times, stage.residual), inner)),
        flops=multiply(times, stage.flops),
    )


class Run(NamedTuple):
    """Equal stages in a row; `block` where strategies recompute them, else they keep what they keep.

    Where a part inside each stage is recomputed, `transient` more bytes are held when its turn comes than between the
    passes (less, where what is freed before is larger); for that `again` operations are executed again, `until` of them
    to the last tensor that is saved.
    """

    stage: Stage
    times: Size = 1
    block: bool = True
    transient: Expr = 0
    again: Expr = 0
    until: Expr = 0


@dataclass(frozen=True, slots=True)
class Chain:
    """Runs of stages in order, and the bytes that are kept whatever is recomputed (masks and tables they share).

    `reread` more bytes are held, from the forward pass on, as soon as anything is recomputed: what many stages read and
    autograd does not keep.
    """

    runs: tuple[Run, ...]
    outside: Expr = 0
    reread: Expr = 0

    @property
    def names(self) -> set[str]:
        """The sizes that are still names."""
        amounts = [x for r in self.runs for x in (r.times, r.transient, r.again, r.until)]
        inside = {n for run in self.runs for n in run.stage.names}
        return inside | {n for x in (*amounts, self.outside, self.reread) for n in names_in(x)}

    def held(self, *, recomputing: bool) -> Expr:
        """Return the bytes that are held beside the stages."""
        return add((self.outside, self.reread)) if recomputing else self.outside

    @property
    def flops(self) -> Expr:
        """The operations of the forward pass."""
        return add(multiply(run.times, run.stage.flops) for run in self.runs)

    def at(self, sizes: Mapping[str, Expr]) -> Chain:
        """Return the chain with sizes put in for names."""

        def put(x: Expr) -> Expr:
            return substitute(x, sizes)

        runs = [
            Run(r.stage.at(sizes), as_times(put(r.times)), r.block, put(r.transient), put(r.again), put(r.until))
            for r in self.runs
        ]
        return Chain(tuple(run for run in runs if run.times != 0), put(self.outside), put(self.reread))


def as_times(times: Expr) -> Size:
    """Return how many stages there are.

    Raises
    ------
    SizeError
        If that is no whole number.

    """
    if isinstance(times, Fraction) or (isinstance(times, int) and times < 0):
        msg = f"{times} stages in a row; their number is a whole number"
        raise SizeError(msg)
    return times


MOST_STAGES = 100_000


def unrolled(runs: Iterable[Run]) -> list[Stage]:
    """Return every stage by itself.

    Raises
    ------
    SizeError
        While a number of stages is a name.

    """
    stages: list[Stage] = []
    for run in runs:
        if isinstance(run.times, int) and run.times > MOST_STAGES:
            msg = f"{run.times} stages to go through, more than {MOST_STAGES}; give a name instead"
            raise SizeError(msg)
        if not isinstance(run.times, int):
            msg = f"there are {run.times} stages; their number is needed here: give {', '.join(names_in(run.times))}"
            raise SizeError(msg)
        stages += [run.stage] * run.times
    return stages
