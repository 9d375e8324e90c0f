"""The cuts that hold least: exact for any chain, by one scan at each budget in a search over budgets.

At one budget the scan finds, for every cut, the least that can be held when the forward pass gets there, such that no
part so far exceeds the budget in its backward pass. Holding less is never worse for what follows, so the least is all
that a cut must remember. A segment holds the same wherever it ends, so the open ones are a heap: n * log(n) a scan.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

from symacct.checkpointing.numbers import Cut, Numbers
from symacct.errors import SizeError
from symacct.expr import Number

State = tuple[int, bool]
"""A cut, and whether the part before it is kept and holds something of what crosses there."""


class Reached(NamedTuple):
    """The least that is held at a cut, and the part that got there, from which state."""

    held: Number
    cut: Cut | None = None
    before: State = (0, False)


def scan(chain: Numbers, budget: Number) -> dict[State, Reached]:
    """Return the least that can be held at each cut within a budget; nothing for what cannot be reached."""
    best: dict[State, Reached] = {(0, False): Reached(chain.outside)}
    open_segments: list[tuple[Number, int, State]] = []
    """Segments that recomputation may start: what is then held, how far they may reach, and from where; a heap."""
    for here in range(chain.count + 1):
        while open_segments and open_segments[0][1] < here:
            heappop(open_segments)
        if open_segments:
            held, _, before = open_segments[0]
            _offer(best, (here, False), Reached(held, Cut(before[0], here, recomputed=True), before))
        for state in ((here, False), (here, True)) if here < chain.count else ():
            if state in best:
                _keep(chain, budget, best, state)
                held = best[state].held + chain.starts(here, counted=state[1])
                heappush(open_segments, (held, chain.reach(here, budget - held), state))
    return best


def _offer(best: dict[State, Reached], state: State, reached: Reached) -> None:
    if state not in best or reached.held < best[state].held:
        best[state] = reached


def _keep(chain: Numbers, budget: Number, best: dict[State, Reached], state: State) -> None:
    here, counted = state
    held = best[state].held + chain.takes(here, counted=counted) + chain.transient(here, here + 1)
    if held <= budget:
        after = (here + 1, chain.counts(here + 1))
        _offer(best, after, Reached(held, Cut(here, here + 1, recomputed=False), state))


def path(best: dict[State, Reached], state: State) -> list[Cut]:
    """Return the parts that lead to a state."""
    cuts: list[Cut] = []
    while (cut := best[state].cut) is not None:
        cuts.append(cut)
        state = best[state].before
    return cuts[::-1]


def fits(chain: Numbers, budget: Number) -> bool:
    """Whether any plan stays within a budget."""
    best = scan(chain, budget)
    return chain.everything <= budget or any((chain.count, counted) in best for counted in (False, True))


def least_budget(chain: Numbers) -> Number:
    """Return the smallest budget that any plan fits in: its peak is the least."""
    unit = chain.unit
    low, high = -1, 1
    while not fits(chain, high * unit):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(chain, middle * unit) else (middle, high)
    return high * unit


def with_tail(chain: Numbers, budget: Number) -> list[Cut]:
    """Return a plan that keeps as long a tail of the chain as fits, and recomputes segments before it.

    Raises
    ------
    SizeError
        If no plan fits.

    """
    if chain.everything <= budget:
        return [Cut(0, chain.count, recomputed=False)]
    best = scan(chain, budget)
    for first in range(chain.count + 1):
        for counted in (False, True):
            if (first, counted) not in best:
                continue
            held = best[first, counted].held
            tail: Number = 0
            if first < chain.count:
                tail = chain.takes(first, counted=counted) + chain.transient(first, chain.count)
            if held + tail <= budget:
                kept = [Cut(first, chain.count, recomputed=False)] if first < chain.count else []
                return path(best, (first, counted)) + kept
    msg = f"no cuts fit in {budget} bytes; the least that cuts at these tensors can hold is {least_budget(chain)}"
    raise SizeError(msg)


def least_spacing(chain: Numbers) -> int:
    """Return the k whose segments of k stages hold least at their fullest, the fewest operations again among equals."""

    def fullest(k: int) -> tuple[Number, Number]:
        most: Number = 0
        held: Number = chain.outside
        again: Number = 0
        for first in range(0, chain.count, k):
            last = min(first + k, chain.count)
            held += chain.boundary[first]
            most = max(most, held + chain.transient(first, last))
            again += chain.rerun(first, last)
        return most, again

    return min(range(1, chain.count + 1), key=fullest)
