"""Activation checkpointing of 1,000 unequal layers at one budget, against the plain scan over all pairs of cuts.

The peer finds the least that any cuts hold when the forward pass ends, such that none exceeds the budget on the way:
for each cut the least over all segments that may end there. Ours gives a whole plan; both must find the same least.
"""

from __future__ import annotations

import random
from itertools import accumulate

import symacct as sa
from bench.rounds import Comparison, Turn, hand_back, interleave
from symacct.checkpointing import Chain, Run, Stage
from symacct.checkpointing.least import least_budget, scan
from symacct.checkpointing.numbers import Numbers

ROUNDS = 8
LAYERS = 1000
draw = random.Random(0)  # noqa: S311
STAGES = [Stage(draw.randint(1, 10**8), draw.randint(10**8, 10**9), draw.randint(1, 10**9)) for _ in range(LAYERS)]
NUMBERS = Numbers(Chain(tuple(map(Run, STAGES))), early_stop=True)
LEAST = int(least_budget(NUMBERS))


def all_pairs(budget: int) -> int | None:
    """Return the least that is held after the forward pass."""
    boundary = [int(s.boundary) for s in STAGES]
    kept = [0, *accumulate(int(s.residual) for s in STAGES)]
    least: list[int | None] = [0] + [None] * LAYERS
    for last in range(1, LAYERS + 1):
        for first in range(last):
            before = least[first]
            if before is None:
                continue
            held = before + boundary[first]
            best = least[last]
            if held + kept[last] - kept[first] <= budget and (best is None or held < best):
                least[last] = held
    return least[LAYERS]


def plan(budget: int):
    return sa.checkpoint(STAGES, budget=budget)


def compare(title: str, budget: int) -> Comparison:
    found = scan(NUMBERS, budget)
    ours = min(found[LAYERS, counted].held for counted in (False, True) if (LAYERS, counted) in found)
    if ours != all_pairs(budget) or plan(budget).at().memory.value > budget:
        raise SystemExit(f"{title}: the two disagree")
    turns: dict[str, Turn] = {"ours": (plan, [budget]), "peer": (all_pairs, [budget])}
    samples = interleave([turns] * (1 + ROUNDS))
    return Comparison("1,000 layers, one budget; peer: all pairs", title, samples["ours"], samples["peer"], seconds=1)


if __name__ == "__main__":
    hand_back([compare(title, budget) for title, budget in (("the least", LEAST), ("twice that", 2 * LEAST))])
