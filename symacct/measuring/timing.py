"""The verb `measure`: warm up, synchronise, empty the caches, take turns, tell the spread."""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any

from symacct.errors import ConventionError, SizeError
from symacct.measuring.clock import Clock, clock_of
from symacct.measuring.pool import changed, constants, copies, device_of, tensors, versions
from symacct.measuring.samples import Measurement

FEWEST = 5
"""Samples that are taken whatever the time."""

SHORT = 1e-3
"""With warm caches a sample is as many calls as take so many seconds."""


def measure(
    fn: Callable[..., Any],
    /,
    *inputs: Any,
    dtype: str = "fp32",
    device: str | None = None,
    cold: bool = True,
    samples: int = 30,
    seconds: float = 2.0,
    seed: int = 0,
) -> Measurement:
    """Return how long a call takes: the median of several samples, and their spread beside it.

    Parameters
    ----------
    fn
        What to call with the inputs.
    *inputs
        Tensors, or shapes such as ``(1024, 1024)`` for which random tensors are made. Several copies take turns, with
        the same strides; what `fn` does to them leaves the tensors given as they were.
    dtype
        Of the random tensors.
    device
        ``"cpu"``, ``"cuda"`` or ``"cuda:1"``; by default where the inputs, or else the result of `fn`, are.
    cold
        Whether the caches are emptied before each sample, so that operands come from memory as in a model.
    samples, seconds
        How many samples at most, and about how long to take them; five are taken in any case.
    seed
        Of the random tensors.

    Returns
    -------
    `Measurement`: seconds a call, with `median`, `quartiles`, `spread` and `doubts`.

    Raises
    ------
    ShapeError
        For an input that is neither a tensor with strides nor a shape, or is on another device.
    ConventionError
        For what cannot be called, or a device without a clock.
    SizeError
        For fewer than one sample, no time, or a shape that does not fit into memory.
    MissingPackageError
        For shapes without torch, or CUDA where there is none.

    Notes
    -----
    Work on a GPU is only started by a call, so the clock is read on the GPU (CUDA events), after everything before
    has finished, and the call is not over before what it started is. A time that is not synchronised is too short and
    gives a utilisation above 1. The first calls allocate and compile and count for nothing. Whatever makes the last
    samples slower than the first, such as heat, shows as `drift`.

    Examples
    --------
    >>> import symacct as sa
    >>> took = sa.measure(lambda: sum(range(10**5)), samples=7)
    >>> len(took.samples), 0 < took.best <= took.median
    (7, True)

    """
    if not callable(fn):
        msg = f"{fn!r} cannot be called; give a function, and its inputs after it"  # type: ignore[unreachable]
        raise ConventionError(msg)
    if type(samples) is not int or samples < 1 or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        msg = f"{samples!r} samples in {seconds!r} s; a whole number and a number, both positive"
        raise SizeError(msg)
    place = device_of(inputs, device) or ("cpu" if inputs else _where(fn()))
    clock = clock_of(place)
    given = tensors(inputs, dtype, place, seed)
    taken_from = copies(given, clock.cache if cold else 0)
    written, turns = versions(taken_from[0]), cycle(taken_from)
    _warm_up(fn, turns, clock, seconds / 10)
    taken = _samples(fn, turns, clock, samples, seconds, cold=cold)
    doubts = (*constants(given), *changed(written, versions(taken_from[0])), *clock.complaints())
    return Measurement(tuple(taken), clock.device, cold, doubts)


def _where(result: Any) -> str:
    """Return on which device a result is: of a tensor, or the first in a tuple."""
    first = result[0] if isinstance(result, tuple | list) and result else result
    kind = getattr(first, "device", "cpu")
    torch = sys.modules.get("torch")
    idle = torch is None or not torch.cuda.is_initialized()
    return str(kind) if first is not None or idle else "cuda"


def _warm_up(fn: Callable[..., Any], turns: Iterator[list[Any]], clock: Clock, seconds: float) -> None:
    end = time.perf_counter() + seconds
    for call in range(10_000):
        clock.seconds(lambda: fn(*next(turns)))
        if call >= 2 and time.perf_counter() >= end:
            return


def _samples(
    fn: Callable[..., Any], turns: Iterator[list[Any]], clock: Clock, count: int, seconds: float, *, cold: bool
) -> list[float]:
    """Return seconds a call; the garbage collector rests while the clock runs."""
    calls = 1 if cold else max(1, round(SHORT / max(clock.seconds(lambda: fn(*next(turns))), 1e-7)))
    end = time.perf_counter() + seconds
    taken: list[float] = []
    gc.collect()
    gc.disable()
    try:
        while len(taken) < count and (len(taken) < min(FEWEST, count) or time.perf_counter() < end):
            given = next(turns)
            if cold:
                clock.flush()
            taken.append(clock.seconds(partial(_repeat, fn, given, calls)) / calls)
    finally:
        gc.enable()
    return taken


def _repeat(fn: Callable[..., Any], given: list[Any], calls: int) -> None:
    for _ in range(calls):
        fn(*given)
