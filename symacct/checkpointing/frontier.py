"""The fewest operations executed again within a budget: exact, over every way to cut, recompute and keep.

A cut remembers every pair of (held, executed again) that no other pair beats in both, in arrays. Their number is small
where stages are alike, and may grow without bound where they are not (which stages to keep is a knapsack problem).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from symacct.checkpointing.least import State, with_tail
from symacct.checkpointing.numbers import Cut, Numbers
from symacct.expr import Number

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST = 1_000_000
"""How many ways to go on are looked at before giving up: some tenths of a second."""
CALL = 100
"""What is done for each part takes as long as looking at so many ways."""
LIMIT = 2**62


class Batch(NamedTuple):
    """Plans that go on from those at one cut by one part, by rising memory: held, executed again, and from which."""

    held: NDArray[Any]
    again: NDArray[Any]
    parent: NDArray[Any]
    part: Part


class Part(NamedTuple):
    """The last part of plans, from the state before it; None for the start."""

    before: State
    recomputed: bool


class Labels(NamedTuple):
    """The plans at a cut that no other beats in both, by rising memory; `part` is a place in `parts`."""

    held: NDArray[Any]
    again: NDArray[Any]
    parent: NDArray[Any]
    part: NDArray[Any]
    parts: list[Part]


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
    if limit == 0:
        return known, True
    search = Search(chain, budget)
    found = search.run(limit, most) if search.is_whole else {}
    ends = [
        (int(found[state].again[-1]), state) for state in ((chain.count, False), (chain.count, True)) if state in found
    ]
    return (path(found, min(ends)[1]), True) if ends else (known, False)


def again_of(chain: Numbers, cuts: list[Cut]) -> Number:
    """Return the operations that a plan executes again."""
    return sum(chain.rerun(c.first, c.last) for c in cuts if c.recomputed)


def path(found: dict[State, Labels], state: State) -> list[Cut]:
    """Return the parts of the plan that executes least again up to a state."""
    cuts: list[Cut] = []
    place = -1
    while state != (0, False):
        labels = found[state]
        part = labels.parts[int(labels.part[place])]
        cuts.append(Cut(part.before[0], state[0], part.recomputed))
        place, state = int(labels.parent[place]), part.before
    return cuts[::-1]


class Search:
    """A chain in whole numbers, amounts divided by their common factor, and the plans that are found."""

    def __init__(self, chain: Numbers, budget: Number) -> None:
        """Divide."""
        import numpy as np

        self.chain = chain
        self.unit = _common([chain.outside, *chain.boundary, *chain.missing, *chain.kept, *chain.inner, *chain.alone])
        self.work_unit = _common([*chain.work, *chain.tail])
        self.budget = int(budget // self.unit)
        largest = max(chain.outside + sum(chain.boundary) + chain.kept[-1], budget) / self.unit
        self.is_whole = max(largest, chain.work[-1] / self.work_unit) < LIMIT
        self.nothing = np.zeros(1, dtype=np.int64)
        self.batches: dict[State, list[Batch]] = {}

    def run(self, limit: Number, most: int) -> dict[State, Labels]:
        """Return the plans at each state that execute no more than a limit again; nothing if there are too many."""
        start = Labels(self.nothing + self._bytes(self.chain.outside), self.nothing, self.nothing, self.nothing, [])
        found: dict[State, Labels] = {(0, False): start}
        at_most = int(limit / self.work_unit)
        for first in range(self.chain.count + 1):
            for state in ((first, False), (first, True)):
                if state in self.batches:
                    found[state] = _undominated(self.batches.pop(state))
                if state in found and first < self.chain.count:
                    most -= self._go_on(state, found[state], at_most)
            if most < 0:
                return {}
        return found

    def _go_on(self, state: State, labels: Labels, limit: int) -> int:
        """Add every part that may come next; return how many plans were looked at."""
        first, counted = state
        takes, own = self.chain.takes(first, counted=counted), self.chain.transient(first, first + 1)
        kept = labels._replace(held=labels.held + self._bytes(takes + own))
        after = (first + 1, self.chain.counts(first + 1))
        looked_at = self._add(after, kept, self.budget, limit, Part(state, recomputed=False))
        held = labels.held + self._bytes(self.chain.starts(first, counted=counted))
        for last in range(first + 1, self.chain.count + 1):
            room = self.budget - self._bytes(self.chain.transient(first, last))
            if held[0] > room:
                break
            again = int(self.chain.rerun(first, last) / self.work_unit)
            looked_at += 1
            if labels.again[-1] + again <= limit:
                more = labels._replace(held=held, again=labels.again + again)
                looked_at += self._add((last, False), more, room, limit, Part(state, recomputed=True))
        return looked_at

    def _add(self, state: State, labels: Labels, room: int, limit: int, part: Part) -> int:
        """Add the plans that fit: along a row memory rises and operations fall."""
        import numpy as np

        low = int(np.searchsorted(-labels.again, -limit))
        high = int(np.searchsorted(labels.held, room, side="right"))
        if low < high:
            batch = Batch(labels.held[low:high], labels.again[low:high], np.arange(low, high), part)
            self.batches.setdefault(state, []).append(batch)
        return CALL + high

    def _bytes(self, amount: Number) -> int:
        return int(amount / self.unit)


def _undominated(batches: list[Batch]) -> Labels:
    """Return the plans that no other beats in both, by rising memory."""
    import numpy as np

    held, again, parent = (np.concatenate([b[i] for b in batches]) for i in range(3))
    part = np.repeat(np.arange(len(batches)), [len(b.held) for b in batches])
    order = np.lexsort((again, held))
    least = np.minimum.accumulate(again[order])
    order = order[np.concatenate(([True], least[1:] < least[:-1]))]
    return Labels(held[order], again[order], parent[order], part[order], [b.part for b in batches])


def _common(amounts: list[Number]) -> Fraction:
    """Return the largest number that all amounts are multiples of; 1 where all are 0."""
    above = math.gcd(*(x.numerator for x in amounts))
    return Fraction(above or 1, math.lcm(*(x.denominator for x in amounts)))
