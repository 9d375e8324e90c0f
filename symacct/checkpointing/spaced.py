"""Segments of k equal stages: every k, k = sqrt(n), the best k; nested halves; and nothing kept but the first input.

With boundary b, residual r of one stage and `between` of two, segments of k of n stages hold

    peak(k) = n/k * b + k * (r + between) - between
    d/dk = 0  at  k = sqrt(n * b / (r + between)),  where the first two terms are equal: 2 * sqrt(n * b * (r + between))

which for b = r = 1 and between = 0 is n/k + k, sqrt(n) and 2 * sqrt(n).

Nested halves hold one boundary a level. With early stop the second half of a region needs no second forward: it stops
at the tensor which the second half takes. A region of n = 2**m stages of F operations, R of them until the last saved:

    transient(n) = b + transient(n/2), transient(1) = r                       log2(n) * b + r
    again(n) = n/2 * F + 2 * again(n/2), again(1) = R                         n/2 * log2(n) * F + n * R
    without early stop: again(n) = n * F + 2 * again(n/2), again(1) = F       n * log2(n) * F + n * F
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import NamedTuple

from symacct.checkpointing.chain import Run, Stage, between, joined, repeated, unrolled
from symacct.checkpointing.plan import Builder, larger
from symacct.errors import SizeError
from symacct.expr import Expr, Poly, add, at_most, divide, log2, multiply, sqrt
from symacct.graph import Condition


class Told(NamedTuple):
    """What a strategy did, in words, what must hold, and what there is to say of it."""

    text: str
    conditions: list[Condition]
    notes: tuple[str, ...] = ()


Segment = tuple[Stage, Expr]
"""A segment as one stage, and how many such follow each other."""


def segments(runs: Sequence[Run], k: Expr) -> Iterator[Segment]:
    """Yield segments of k stages; in numbers the last one has what is left, else k divides.

    Raises
    ------
    SizeError
        Where unequal stages are to be counted off and their number, or k, is a name.

    """
    counted = all(type(r.times) is int for r in runs)
    if not counted or not isinstance(k, int):
        yield from ((run.stage, run.times) for run in runs) if k == 1 else _divided(runs, k)
    elif len(runs) == 1:
        stage, times = runs[0].stage, runs[0].times
        whole, left = divmod(times, k)  # type: ignore[operator]
        yield from ((repeated(stage, size), count) for size, count in ((k, whole), (left, 1)) if size and count)
    else:
        stages = unrolled(runs)
        yield from ((joined(stages[i : i + k]), 1) for i in range(0, len(stages), k))


def _divided(runs: Sequence[Run], k: Expr) -> Iterator[Segment]:
    """Yield segments of k of a number of stages that is a name; a first one may differ."""
    first, rest = runs[0], runs[-1]
    if len(runs) > 2 or (len(runs) == 2 and first.times != 1):
        msg = f"segments of {k} of unequal stages: give numbers for how many stages there are, and for {k}"
        raise SizeError(msg)
    total = add(r.times for r in runs)
    if len(runs) == 1:
        yield repeated(rest.stage, k), divide(total, k)
        return
    others = add((k, -1))
    yield first.stage if others == 0 else joined([first.stage, repeated(rest.stage, others)]), 1
    yield repeated(rest.stage, k), add((divide(total, k), -1))


def every(build: Builder, runs: Sequence[Run], k: Expr) -> Told:
    """Recompute segments of k stages."""
    total = add(r.times for r in runs)
    if isinstance(k, int) and isinstance(total, int) and k > total:
        msg = f"segments of {k} of {total} blocks; k is at most {total}"
        raise SizeError(msg)
    for segment, times in segments(runs, k):
        build.recompute(segment, times)
    if k == 1:
        return Told("every block is recomputed", [])
    whole = isinstance(k, int) and isinstance(total, int)
    return Told(f"segments of {k} blocks", [] if whole else [Condition("divides", k, total)])


def square_root(total: Expr) -> Expr:
    """Return sqrt(n); of a number the k next to it with the least ``ceil(n/k) + k``, which is ``ceil(2*sqrt(n))``.

    With m = floor(sqrt(n)) and n = m*m + r: k = m gives 2m for r = 0; k = m + 1 gives 2m + 1 for r <= m, else 2m + 2.

    Examples
    --------
    >>> square_root(1000), square_root(16)
    (32, 4)

    """
    if isinstance(total, Poly):
        return sqrt(total)
    n = int(total)
    below = math.isqrt(n)
    return min((below, below + 1), key=lambda k: (-(-n // k) + k, abs(k * k - n)))


def best_spacing(run: Run) -> Expr:
    """Return the k that holds least, ``sqrt(n * b / (r + between))``; 1 where that is below 1.

    Raises
    ------
    SizeError
        For stages that keep nothing: then one segment is best, and there is no optimum inside.

    """
    each = add((run.stage.residual, between(run.stage, run.stage)))
    if each == 0:
        msg = "these stages keep nothing, so there is nothing to recompute"
        raise SizeError(msg)
    ratio = divide(multiply(run.times, run.stage.taken), each)
    if at_most(ratio, 1):
        return 1
    return sqrt(ratio)


def nested(build: Builder, runs: Sequence[Run]) -> Told:
    """Recompute halves, and in each the halves of it."""
    told = "halves of halves of the blocks, down to one block"
    total = add(r.times for r in runs)
    if isinstance(total, int):
        stages = unrolled(runs)
        halves = [stages] if total == 1 else [stages[: total // 2], stages[total // 2 :]]
        for half in halves:
            build.nest(joined(half), 1, *_region(build, half))
        return Told(told, [])
    if len(runs) > 1:
        msg = "halves of unequal stages: give a number for how many stages there are"
        raise SizeError(msg)
    stage, size = runs[0].stage, divide(total, 2)
    levels = log2(size)
    forward = multiply(stage.flops, multiply(size, levels))
    if build.early_stop:
        forward = divide(forward, 2)
    transient = add((multiply(levels, stage.taken), stage.residual))
    build.nest(repeated(stage, size), 2, transient, add((forward, multiply(size, build.rerun(stage)))))
    return Told(told, [Condition("divides", 1, log2(total))])


def _region(build: Builder, stages: Sequence[Stage]) -> tuple[Expr, Expr]:
    """Return what comes back for the backward pass of a region whose first tensor is held, and what that executes."""
    if len(stages) == 1:
        return stages[0].residual, build.rerun(stages[0])
    middle = len(stages) // 2
    (first, again_first), (second, again_second) = (_region(build, s) for s in (stages[:middle], stages[middle:]))
    rerun = stages[:middle] if build.early_stop else stages
    forward = add(s.flops for s in rerun)
    later = add((stages[middle].taken, second))
    return larger(first, later), add((forward, again_first, again_second))


def only_input(build: Builder, runs: Sequence[Run]) -> Told:
    """Hold the first tensor alone and run from it to every stage: n*(n - 1)/2 stages, and each once to its last tensor.

    Raises
    ------
    SizeError
        For unequal stages of which there is a number that is a name.

    """
    total = add(r.times for r in runs)
    if len(runs) == 1:
        stage = runs[0].stage
        before = multiply(stage.flops, divide(multiply(total, add((total, -1))), 2))
        work = add((before, multiply(total, build.rerun(stage))))
        back = stage.residual if total == 1 else add((stage.taken, stage.residual))
        whole = repeated(stage, total)
    else:
        stages = unrolled(runs)
        work = add(add((multiply(len(stages) - 1 - i, s.flops), build.rerun(s))) for i, s in enumerate(stages))
        back = reduce(larger, (add((s.taken, s.residual)) for s in stages[1:]), stages[0].residual)
        whole = joined(stages)
    build.nest(whole, 1, back, work)
    return Told("every block is recomputed from the input of the first", [])
