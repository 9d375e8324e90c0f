"""`symacct.checkpoint`: what is asked for, as a chain and a plan of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from symacct.accounting import Account
from symacct.checkpointing.answer import Checkpointing, Recomputed
from symacct.checkpointing.asked import Asked, asked_of
from symacct.checkpointing.chain import Chain, Stage, unrolled
from symacct.checkpointing.frontier import fewest
from symacct.checkpointing.least import least_budget
from symacct.checkpointing.numbers import Cut, Numbers, follow
from symacct.checkpointing.plan import Builder, again
from symacct.checkpointing.spaced import Told
from symacct.checkpointing.strategies import Strategy, every_k, laid_out, none, strategy_of
from symacct.errors import ConventionError, SizeError
from symacct.expr import Number, Poly, as_size
from symacct.memory.amounts import amount
from symacct.units import Quantity


def checkpoint(
    what: Account | Stage | Sequence[Stage],
    strategy: str | None = None,
    *,
    every: Any = None,
    stages: Sequence[int | tuple[int, int]] | None = None,
    budget: Any = None,
    layers: Any = None,
    early_stop: bool = True,
    device: str = "cpu",
    wrt: Sequence[str] | None = None,
    sizes: Mapping[str, Any] | None = None,
    **axes: Any,
) -> Checkpointing:
    """Activation checkpointing: the peak ``max over segments s of (boundaries up to s + residuals of s)``.

    Parameters
    ----------
    what
        An account, of which the turns of a repeat are the blocks (without one, what lies between cuts at single
        tensors); the account of one block, or one `Stage`, with `layers`; or a list of stages.
    strategy
        ``"none"``; ``"block"``: every block is recomputed by itself; ``"sqrt"``: segments of sqrt(n) of n blocks, the
        default; ``"even"``: of as many as hold least; ``"recursive"``: halves of halves; ``"input"``: every block from
        the first input; ``"selective"``: only attention scores; ``"least"``: the cuts that hold least, in numbers,
        stages between them kept or recomputed.
    every
        Instead of a strategy: segments of so many blocks, a number or a name.
    stages
        Instead of a strategy: which blocks are recomputed, by number from 0, each by itself; a pair is a segment from
        its first to its last. The others keep what they keep.
    budget
        Instead of a strategy: bytes, as a number or as text (``"80 GB"``); the plan that executes the fewest operations
        again and never holds more.
    layers
        How many equal blocks there are, a number or a name; the account of a block takes and returns one shape.
    early_stop
        Whether recomputation ends at the last tensor that a segment saves, as torch's does; else it runs all of it.
    device
        Of an account: ``"cpu"`` or ``"cuda"``, which says what masks and statistics take, as in `Account.residuals`.
    wrt
        Of an account: which inputs need a gradient, by name; by default the parameters.
    sizes, **axes
        Sizes to put in first. `least` and `budget` need numbers for all.

    Returns
    -------
    Checkpointing
        ``.memory``, ``.held``, ``.recomputed`` and ``.forward`` are sympy expressions; ``.at(...)`` gives numbers.

    Raises
    ------
    ConventionError
        For an unknown strategy, two things asked for at once, or a device or `wrt` of stages.
    SizeError
        For stages that there are not, or a budget that no plan fits in.
    GraphError
        Where an account has no attention scores to recompute, or turns of a repeat pass on what they are given.

    Notes
    -----
    With boundary b and residual r of each of n equal stages, segments of k hold ``n/k*b + k*r``: n/k tensors to start
    from, and the residuals of one segment at a time. The derivative by k is zero at ``k = sqrt(n*b/r)``, where both
    terms are ``sqrt(n*b*r)``: 2*sqrt(n) for b = r = 1. Unequal segments hold less, since those that go backward first
    find most boundaries held: lengths m - 1, m - 2, ... need m of ``m*(m - 1)/2 >= n``, about sqrt(2*n).

    Examples
    --------
    >>> import symacct as sa
    >>> layer = sa.Stage(boundary=1, residual=1)
    >>> sa.checkpoint(layer, every="k", layers="L").memory, sa.checkpoint(layer, "sqrt", layers="L").memory
    ((L + k**2)/k, 2*sqrt(L))
    >>> sa.checkpoint(layer, "sqrt", layers=1000).memory, sa.checkpoint(layer, "least", layers=1000).memory
    (63, 46)

    """
    _check_one(strategy, every, stages, budget)
    best = strategy == "least" or budget is not None
    scores = strategy == "selective"
    asked = asked_of(what, layers, wrt, sizes, axes, device=device, drop_scores=scores, in_numbers=best)
    if best or stages is not None:
        return _by_cuts(asked, stages, budget, early_stop=early_stop)
    plan: Strategy
    if scores:
        plan = none
    elif every is not None:
        plan = every_k(as_size(every, "every"))
    else:
        plan = strategy_of("sqrt" if strategy is None else strategy)
    laid = {q: laid_out(c, plan, early_stop=early_stop) for q, c in asked.chains.items()}
    told = laid["flops"][1]
    if scores:
        told = Told("attention scores are recomputed, the rest is kept", [])
    return _answer(asked, {q: build for q, (build, _) in laid.items()}, told)


def _check_one(strategy: str | None, *others: object) -> None:
    if (strategy is not None) + sum(other is not None for other in others) > 1:
        raise ConventionError("a strategy, every=, stages= and budget= are ways to say one thing; give one of them")


def _by_cuts(asked: Asked, stages: Any, budget: Any, *, early_stop: bool) -> Checkpointing:
    """Return the plan with the best cuts, or with given ones."""
    chain = asked.chains["flops"]
    if stages is not None:
        stages = stages if isinstance(stages, Sequence) and not isinstance(stages, str) else [stages]
        cuts, sure = _listed(chain, stages), True
        told = f"stages that are recomputed: {', '.join(map(str, stages)) or 'none'}"
    else:
        numbers = Numbers(chain, early_stop=early_stop)
        most = least_budget(numbers) if budget is None else bytes_of_budget(budget)
        cuts, sure = fewest(numbers, most)
        least = ", the least that cuts can hold" if budget is None else ""
        told = f"the fewest operations again within {Quantity(most, 'B')}{least}"
    plans = {q: Builder(early_stop=early_stop) for q in asked.chains}
    for q, build in plans.items():
        follow(build, unrolled(asked.chains[q].runs), cuts)
    notes = () if stages is not None else (asked.optimality(sure=sure),)
    return replace(_answer(asked, plans, Told(told, [], notes)), segments=tuple(cuts))


def bytes_of_budget(budget: Any) -> Number:
    """Read a budget in bytes.

    Raises
    ------
    SizeError
        For what is no number of bytes.

    """
    most = amount("budget", budget, "B")
    if isinstance(most, Poly):
        raise SizeError(f"a budget is a number of bytes, such as '16 GB', not {budget!r}")
    return most


def _segment(named: Any) -> tuple[int, int]:
    """Return the first and the last block of a segment."""
    pair = tuple(named) if isinstance(named, Sequence) and not isinstance(named, str) else (named, named)
    if len(pair) != 2 or not all(type(i) is int for i in pair):
        msg = f"{named!r} names no stages; a list has numbers from 0, and pairs of the first and last of a segment"
        raise SizeError(msg)
    return pair


def _listed(chain: Chain, stages: Sequence[int | tuple[int, int]]) -> list[Cut]:
    """Return the cuts of a list of blocks."""
    blocks = [run.block for run in chain.runs for _ in unrolled([run])]
    places = [place for place, is_block in enumerate(blocks) if is_block]
    segments = sorted(map(_segment, stages))
    cuts: list[Cut] = []
    at = 0
    for first, last in segments:
        if not 0 <= first <= last < len(places) or places[first] < at:
            msg = f"stages {first} to {last}: there are blocks 0 to {len(places) - 1}, and each is in one segment"
            raise SizeError(msg)
        cuts += [Cut(i, i + 1, recomputed=False) for i in range(at, places[first])]
        at = places[last] + 1
        cuts.append(Cut(places[first], at, recomputed=True))
    return cuts + [Cut(i, i + 1, recomputed=False) for i in range(at, len(blocks))]


def _answer(asked: Asked, plans: Mapping[str, Builder], told: Told) -> Checkpointing:
    work = {q: Recomputed(again(build.parts), asked.chains[q].flops, asked.units[q]) for q, build in plans.items()}
    conditions = tuple(dict.fromkeys((*asked.conditions, *told.conditions)))
    chain, build = asked.chains["flops"], plans["flops"]
    assumptions = (*asked.notes(early_stop=build.early_stop), *told.notes)
    outside = chain.held(recomputing=build.recomputes)
    return Checkpointing(asked.title, told.text, tuple(build.parts), outside, work, conditions, assumptions)
