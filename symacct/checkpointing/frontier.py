"""The fewest operations executed again within a budget: exact, over every way to cut, recompute and keep.

A cut remembers every pair of (held, executed again) that no other pair beats in both. Their number is small where
stages are alike, and may grow without bound where they are not (to choose which stages to keep is a knapsack problem).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from symacct.checkpointing.least import State, with_tail
from symacct.checkpointing.numbers import Cut, Numbers
from symacct.expr import Number

MOST = 50_000
"""How many ways to go on are looked at before giving up."""


class Label(NamedTuple):
    """What a plan holds at a cut and has executed again, and how it came there."""

    held: Number
    again: Number
    cut: Cut | None = None
    before: Label | None = None


def fewest(chain: Numbers, budget: Number, most: int = MOST) -> tuple[list[Cut], bool]:
    """Return the plan with the fewest operations executed again, and whether that is sure.

    What a plan with a tail that is kept executes again is the most that is looked at; it is the answer where there are
    too many others.

    Raises
    ------
    SizeError
        If no plan fits.

    """
    known = with_tail(chain, budget)
    limit = again_of(chain, known)
    labels: dict[State, list[Label]] = {(0, False): [Label(chain.outside, 0)]}
    for first in range(chain.count):
        for counted in (False, True):
            for label in undominated(labels.pop((first, counted), [])):
                for state, more in _next(chain, budget, label, counted=counted):
                    most -= 1
                    if more.again <= limit:
                        labels.setdefault(state, []).append(more)
        if most < 0:
            return known, False
    ends = [label for counted in (False, True) for label in labels.get((chain.count, counted), ())]
    return _cuts(min(ends, key=lambda e: (e.again, e.held))), True


def again_of(chain: Numbers, cuts: list[Cut]) -> Number:
    """Return the operations that a plan executes again."""
    return sum(chain.rerun(c.first, c.last) for c in cuts if c.recomputed)


def undominated(labels: list[Label]) -> list[Label]:
    """Return the labels that no other beats in both, by rising memory."""
    out: list[Label] = []
    for label in sorted(labels, key=lambda e: (e.held, e.again)):
        if not out or label.again < out[-1].again:
            out.append(label)
    return out


def _next(chain: Numbers, budget: Number, label: Label, *, counted: bool) -> Iterator[tuple[State, Label]]:
    """Yield every part that may come next: the stage kept, then segments by their length."""
    first = 0 if label.cut is None else label.cut.last
    held = label.held + chain.takes(first, counted=counted) + chain.transient(first, first + 1)
    if held <= budget:
        cut = Cut(first, first + 1, recomputed=False)
        yield (first + 1, chain.keeps_output[first]), Label(held, label.again, cut, label)
    held = label.held if counted else label.held + chain.boundary[first]
    for last in range(first + 1, chain.reach(first, budget - held) + 1):
        cut = Cut(first, last, recomputed=True)
        yield (last, False), Label(held, label.again + chain.rerun(first, last), cut, label)


def _cuts(label: Label | None) -> list[Cut]:
    cuts: list[Cut] = []
    while label is not None and label.cut is not None:
        cuts.append(label.cut)
        label = label.before
    return cuts[::-1]
