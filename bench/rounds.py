"""Timing on a machine that is not quiet: contenders take turns, and are compared within a round."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

Turn = tuple[Callable[[Any], object], Sequence[Any]]
"""What one contender does in one round: a function, and what to call it with, one call an item."""


class Comparison(NamedTuple):
    """Samples of us and of a peer, round by round, in seconds or in bytes, and what is aimed at."""

    group: str
    title: str
    ours: list[float]
    peer: list[float]
    at_most: float | None = None
    """The largest ratio of ours to the peer's, if there is a target for it."""
    seconds: float | None = None
    """The longest time of ours, if there is a target for it."""
    unit: str = "s"


class Count(NamedTuple):
    """What somebody counts of a computation, beside what is executed; None, and why, where there is no answer."""

    title: str
    executed: int
    by: str
    flops: int | None
    why: str = ""


def interleave(
    rounds: Iterable[Mapping[str, Turn]], before: Callable[[], object] = lambda: None
) -> dict[str, list[float]]:
    """Return the seconds a call of each contender, one sample a round.

    Every other round runs in reverse order; the first only warms up. `before` runs ahead of each turn, off the clock.
    The garbage collector rests while the clock runs, as in timeit.
    """
    samples: dict[str, list[float]] = {}
    gc.collect()
    gc.freeze()  # or each collection below would walk all of torch
    for number, turns in enumerate(rounds):
        for name in list(turns) if number % 2 else reversed(turns):
            call, items = turns[name]
            before()
            gc.collect()
            gc.disable()
            start = time.perf_counter()
            for item in items:
                call(item)
            seconds = time.perf_counter() - start
            gc.enable()
            if number:
                samples.setdefault(name, []).append(seconds / len(items))
    return samples


def hand_back(comparisons: Iterable[Comparison], counts: Iterable[Count] = ()) -> None:
    """Print what was found as JSON for `bench.__main__`, which runs each measure in a process of its own."""
    print(json.dumps({"comparisons": [c._asdict() for c in comparisons], "counts": [c._asdict() for c in counts]}))
