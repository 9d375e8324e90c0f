"""What is asked for, as chains; and under what the answers hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from symacct.accounting import Account
from symacct.accounting.numbers import check_condition
from symacct.accounting.walk import conditionals
from symacct.checkpointing.chain import Chain, Run, Stage, as_times
from symacct.checkpointing.derive import chain_of
from symacct.errors import ConventionError, SizeError, one_of
from symacct.expr import Size, as_size, collect_sizes, names_in, numbers_for, substitute
from symacct.graph import Condition
from symacct.training.kept import DEVICES

QUANTITIES = ("flops", "matmul_flops")
BYTES = (
    "bytes that autograd keeps as torch does, storages merged; no parameters, gradients, optimizer state or workspace"
)
GIVEN = "bytes and operations are those that the stages were given"
FREED = "boundaries are freed as the backward pass proceeds"
DEAREST = "of a conditional the branch runs that executes most"
EARLY = {
    True: "recomputation ends at the last tensor that a segment saves (torch's early stop)",
    False: "a segment is recomputed whole (no early stop)",
}


class Asked(NamedTuple):
    """What is checkpointed: its chain by quantity of work, in what unit, and what is said of its cuts."""

    title: str
    chains: Mapping[str, Chain]
    units: Mapping[str, str]
    cuts: tuple[str, ...]
    exact: bool
    conditions: tuple[Condition, ...] = ()

    def notes(self, *, early_stop: bool) -> tuple[str, ...]:
        """Return under what the answers hold."""
        return (BYTES if self.cuts else GIVEN, FREED, EARLY[early_stop], *self.cuts)

    def optimality(self, *, sure: bool) -> str:
        """Say how good a plan within a budget is."""
        family = "no plan" if self.exact else "no plan with such cuts (others are not tried)"
        if sure:
            return f"{family} within these bytes executes fewer operations again"
        return (
            "too many plans to try all: this one keeps as long a tail of the chain as fits and recomputes before it "
            "the segments that hold least; another choice of what to keep may execute fewer operations again"
        )


def asked_of(
    what: Account | Stage | Sequence[Stage],
    layers: Any = None,
    wrt: Sequence[str] | None = None,
    sizes: Mapping[str, Any] | None = None,
    axes: Mapping[str, Any] | None = None,
    *,
    device: str = "cpu",
    drop_scores: bool = False,
    in_numbers: bool = False,
) -> Asked:
    """Return the chain of an account, of equal layers, or of a list of stages, with sizes put in.

    In numbers the turns of a repeat are cut too, inside; every size must be given.

    Raises
    ------
    SizeError
        For something else, and for layers of what has its own.
    UndefinedSizeError
        Names the sizes that are missing for numbers.
    ConventionError
        For an unknown device; for a device or `wrt` of stages.

    """
    if device not in DEVICES:
        msg = f"unknown device {device!r} of what is kept; known: {one_of(DEVICES)}"
        raise ConventionError(msg)
    count = None if layers is None else as_size(layers, "layers")
    if isinstance(what, Account):
        known = tuple(dict.fromkeys([*what.names, *names_in(1 if count is None else count)]))
        given = collect_sizes(sizes, axes or {}, known)
        if in_numbers:
            numbers_for(known, given)
        count = None if count is None else as_times(substitute(count, given))
        return _of_account(what, wrt, count, given, device=device, drop_scores=drop_scores, inside=in_numbers)
    if drop_scores:
        raise SizeError("only of an account it is known where attention scores are made; give stages without them")
    if wrt is not None or device != "cpu":
        raise ConventionError("wrt= and device= are of an account; stages say themselves what they keep")
    title, chain = _chain_of_stages(what, count)
    known = tuple(sorted(chain.names))
    given = collect_sizes(sizes, axes or {}, known)
    if in_numbers:
        numbers_for(known, given)
    return Asked(title, {"flops": chain.at(given)}, {"flops": "FLOP"}, (), exact=True)


def _of_account(
    account: Account, wrt: Sequence[str] | None, layers: Size | None, sizes: Mapping[str, Size], **how: Any
) -> Asked:
    found = {q: chain_of(account, q, wrt, layers=layers, sizes=sizes, **how) for q in QUANTITIES}
    blocks = "the turns of a repeat" if layers is None else f"{layers} blocks like this one"
    device, where = how["device"], f"between {blocks}{' and inside them' if how['inside'] else ''}"
    title = account.title.partition("(")[0] or account.title
    branch = [DEAREST] if any(conditionals(account.graph)) else []
    return Asked(
        title if layers is None else f"{layers} x {title}",
        {q: d.chain.at(sizes) for q, d in found.items()},
        {q: account.unit(q) for q in QUANTITIES},
        (f"on {device}: {DEVICES[device]}", f"cuts lie where a single tensor crosses, {where}", *branch),
        found["flops"].every_cut,
        _open((*account.conditions, *found["flops"].conditions), sizes),
    )


def _open(conditions: Sequence[Condition], sizes: Mapping[str, Size]) -> tuple[Condition, ...]:
    """Return conditions with sizes put in, those that numbers do not decide; one that they break is refused."""
    put_in = [c.with_sizes(lambda x: substitute(x, sizes)) for c in conditions]
    for c in put_in:
        if c.holds is False:
            check_condition(c, {})
    return tuple(c for c in put_in if c.holds is None)


def _chain_of_stages(what: Any, layers: Size | None) -> tuple[str, Chain]:
    if isinstance(what, Stage):
        times = 1 if layers is None else layers
        return f"{times} x {what.name or 'stage'}", Chain((Run(what, times),))
    stages = list(what) if isinstance(what, Sequence) and not isinstance(what, str) else []
    if not stages or not all(isinstance(s, Stage) for s in stages):
        msg = f"{type(what).__name__} is no chain; give an account, a Stage with layers=, or a list of Stages"
        raise SizeError(msg)
    if layers is not None:
        raise SizeError("a list of stages has as many layers as it has stages; layers= is for one stage")
    return f"{len(stages)} stages", Chain(tuple(Run(stage) for stage in stages))
