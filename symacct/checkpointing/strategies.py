"""The strategies by name: what each recomputes of the blocks of a chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TypeAlias

from symacct.checkpointing.chain import Chain, Run
from symacct.checkpointing.least import least_spacing
from symacct.checkpointing.numbers import Numbers
from symacct.checkpointing.plan import Builder
from symacct.checkpointing.spaced import Told, best_spacing, every, nested, only_input, square_root
from symacct.errors import ConventionError, SizeError, nearest, one_of
from symacct.expr import Expr, add
from symacct.graph import Condition

Strategy: TypeAlias = Callable[[Builder, Sequence[Run]], Told]


def none(build: Builder, runs: Sequence[Run]) -> Told:
    """Keep everything."""
    for run in runs:
        build.keep(run)
    return Told("nothing is recomputed", [])


def every_k(k: Expr) -> Strategy:
    """Recompute segments of k blocks."""
    return partial(every, k=k)


def root_spaced(build: Builder, runs: Sequence[Run]) -> Told:
    """Recompute segments of sqrt(n) of n blocks."""
    n = add(r.times for r in runs)
    k = square_root(n)
    told = every(build, runs, k)
    if not (isinstance(n, int) and isinstance(k, int)):
        return told
    most = f"of {n} blocks in segments of {k}, ceil({n}/{k}) + {k} = {-(-n // k) + k} tensors are held at most, where a"
    fewer = "; the last segment is shorter, so that fewer may be" if n % k else ""
    return told._replace(notes=(f"{most} block takes one and keeps one{fewer}",))


def even(build: Builder, runs: Sequence[Run]) -> Told:
    """Recompute segments of as many blocks as hold least: ``sqrt(n * b / r)`` of n."""
    names = {n for run in runs for n in run.stage.names}
    if not names and all(type(r.times) is int for r in runs):
        numbers = Numbers(Chain(tuple(runs)), early_stop=build.early_stop)
        return every(build, runs, least_spacing(numbers))
    if len(runs) > 1:
        msg = f"the best spacing of unequal blocks needs numbers: give a size to each of {one_of(sorted(names))}"
        raise SizeError(msg)
    k = best_spacing(runs[0])
    told = every(build, runs, k)
    return told if isinstance(k, int) else told._replace(conditions=[*told.conditions, Condition("at_least", k, 1)])


STRATEGIES: Mapping[str, Strategy] = {
    "none": none,
    "block": every_k(1),
    "sqrt": root_spaced,
    "even": even,
    "recursive": nested,
    "input": only_input,
}


def strategy_of(name: str) -> Strategy:
    """Return a strategy by name.

    Raises
    ------
    ConventionError
        Lists the names.

    """
    if not isinstance(name, str) or name not in STRATEGIES:
        known = [*STRATEGIES, "selective", "least"]
        msg = f"unknown strategy {name!r}; known: {one_of(known)}, or give every=k, stages=[...] or budget=BYTES."
        raise ConventionError(msg + nearest(str(name), known))
    return STRATEGIES[name]


def laid_out(chain: Chain, strategy: Strategy, *, early_stop: bool) -> tuple[Builder, Told]:
    """Return a plan: blocks as the strategy has it, the rest kept."""
    build = Builder(early_stop=early_stop)
    told = [Told("nothing is recomputed: there are no blocks", [])]
    for is_block, runs in groupby(chain.runs, key=lambda run: run.block):
        if is_block:
            told.append(strategy(build, list(runs)))
        else:
            none(build, list(runs))
    text = "; ".join(dict.fromkeys(t.text for t in told[1:] or told))
    conditions = dict.fromkeys(c for t in told for c in t.conditions)
    return build, Told(text, list(conditions), tuple(dict.fromkeys(note for t in told for note in t.notes)))
