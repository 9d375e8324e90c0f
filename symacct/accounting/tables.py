"""The parts of an account: by operation, scope or family, with their shares; what is free and what is not counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.accounting.numbers import concrete
from symacct.accounting.steps import Step, counts_of, dearest_branch, one_unit
from symacct.accounting.totals import check_counted, check_parted, is_parted
from symacct.accounting.walk import conditionals
from symacct.conventions import matmul_work
from symacct.errors import ConventionError, InconclusiveError, one_of
from symacct.expr import Expr, add, collect_sizes, evaluate, to_text
from symacct.show import table

if TYPE_CHECKING:
    from symacct.accounting.core import Account

COSTS = ("flops", "matmul_flops", "bytes")
"""What terms, shares and comparisons are of."""

GROUPS: Mapping[str, Callable[[Step], str]] = {
    "op": lambda s: s.label,
    "kind": lambda s: s.kind,
    "scope": lambda s: s.scope or "(top)",
    "family": lambda s: s.family,
    "phase": lambda s: s.phase,
}
"""What parts can be grouped by: an operation as computed, its kind, scope, family of rules, and the pass it is of."""


@dataclass(frozen=True, slots=True)
class Part:
    """One row of a breakdown: flops and bytes of all its operations together; `unfused` are what each moves itself."""

    name: str
    flops: Expr
    matmul_flops: Expr
    unfused: Expr
    account: Account = field(repr=False)
    partial: bool = False
    """Whether some of its work is not counted."""

    @property
    def bytes(self) -> Expr:
        """What the operations move.

        Raises
        ------
        ConventionError
            Under compulsory traffic, which is of the whole and of no part of it.

        """
        check_parted(self.account)
        return self.unfused


@dataclass(frozen=True, slots=True)
class Breakdown:
    """An account in parts, in the order in which they first run."""

    by: str
    parts: tuple[Part, ...]
    account: Account

    def shares(self, of: str = "flops", *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> dict[str, Fraction]:
        """Return each part's share of flops, matmul_flops or bytes at given sizes, largest first.

        Raises
        ------
        ConventionError
            For another quantity, and for compulsory bytes, which are of the whole and of no part of it.
        InconclusiveError
            For work of which some is not counted.

        Examples
        --------
        >>> import symacct as sa
        >>> def layer(x: "b d", w: "d k"):
        ...     return sa.relu(x @ w)
        >>> sa.account(layer).by("kind").shares(b=2, d=7, k=3)
        {'einsum': Fraction(14, 15), 'relu': Fraction(1, 15)}

        """
        if of not in COSTS:
            msg = f"{of!r} has no shares; known: {one_of(COSTS)}"
            raise ConventionError(msg)
        check_counted(self.account, of)
        given = concrete(self.account, collect_sizes(sizes, axes, self.account.names))
        amounts = {p.name: Fraction(evaluate(getattr(p, of), given)) for p in self.parts}
        total = sum(amounts.values()) or 1
        return {name: a / total for name, a in sorted(amounts.items(), key=lambda item: -item[1])}

    def top(self, count: int, of: str = "flops", **sizes: Any) -> list[str]:
        """Return the names of the largest parts at given sizes."""
        return list(self.shares(of, sizes=sizes))[:count]

    def __str__(self) -> str:
        """Print the parts as a table."""
        told = COSTS[::2] if is_parted(self.account) else COSTS[:1]
        return table([self.by, *told], [[p.name, *(_amount(p, of) for of in told)] for p in self.parts])

    __repr__ = __str__


def _amount(part: Part, of: str) -> str:
    """Write an amount of a part; of work without a rule that it is not known, or that it is partial."""
    amount = getattr(part, of)
    if of == "bytes" or not part.partial:
        return to_text(amount)
    return "?" if amount == 0 else f"{to_text(amount)} + ?"


def _partial(steps: Iterable[Step]) -> bool:
    return any(step.kind == "opaque" for step in steps)


def group_of(by: str | Callable[[Step], str]) -> Callable[[Step], str]:
    """Return how to name the group of a step: by one of the known words, or by a function of one's own.

    Raises
    ------
    ConventionError
        Lists what parts can be grouped by.

    """
    if callable(by):
        return by
    if by not in GROUPS:
        msg = f"cannot group by {by!r}; known: {one_of(GROUPS)}"
        raise ConventionError(msg)
    return GROUPS[by]


def breakdown(account: Account, by: str | Callable[[Step], str]) -> Breakdown:
    """Group the steps of an account; see `Account.by`."""
    label = group_of(by)
    groups: dict[str, list[Step]] = {}
    for step in account.steps:
        groups.setdefault(label(step), []).append(step)
    parts = []
    for name, steps in groups.items():
        works = [s.work for s in steps]
        counted, multiplied = (
            one_unit(counts_of(some, account.convention), account.convention)
            for some in (works, [matmul_work(w) for w in works])
        )
        parts.append(Part(name, counted, multiplied, add(s.bytes for s in steps), account, _partial(steps)))
    return Breakdown(by if isinstance(by, str) else "part", tuple(parts), account)


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of a conditional: what it costs by itself, how often its conditional runs, and whether it counts.

    `counted` is None where the sizes do not decide which branch costs most.
    """

    conditional: int
    branch: int
    times: Expr
    counted: bool | None
    account: Account


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches of all conditionals, those inside bodies and branches too."""

    parts: tuple[Branch, ...]

    def __str__(self) -> str:
        """Print what each branch costs in one run."""
        rows = [
            [f"{b.conditional}.{b.branch}", str(b.times), *_costs(b.account), _COUNTED[b.counted]] for b in self.parts
        ]
        return table(["branch", "runs", "flops", "bytes", "counted"], rows)

    __repr__ = __str__


_COUNTED = {True: "yes", False: "no", None: "depends"}


def _costs(account: Account) -> list[str]:
    """Return flops and bytes as text; what depends on branches inside is said so."""
    try:
        counted = " and ".join(f"{to_text(v)} {u}" for u, v in account.counts.items()) or "0"
        counted = counted.removesuffix(" FLOP") + (" + ?" if account.uncounted else "")
        return [counted, to_text(account.total("bytes"))]
    except InconclusiveError:
        return ["depends", "depends"]


def branches(account: Account) -> Branches:
    """Return every branch of every conditional; see `Account.branches`."""
    found = []
    for number, (op, times) in enumerate(conditionals(account.graph), 1):
        try:
            chosen = dearest_branch(op, account.convention)
        except InconclusiveError:
            chosen = None
        for i, part in enumerate(op.attrs["branches"], 1):
            own = replace(account, source=part, title=f"branch {i} of conditional {number}")
            found.append(Branch(number, i, times, None if chosen is None else part is chosen, own))
    return Branches(tuple(found))


def free_kinds(account: Account) -> dict[str, Expr]:
    """Return the kinds that execute no operation (views, casts, lookups), and how often each runs."""
    out: dict[str, list[Expr]] = {}
    for step in account.steps:
        if step.kind != "opaque" and not _executes(step, account):
            out.setdefault(step.kind, []).append(step.times)
    return {kind: add(times) for kind, times in out.items()}


def _executes(step: Step, account: Account) -> bool:
    """Whether a step executes anything under the convention: what a switch adds may not be counted."""
    if any("@" not in primitive for primitive, _ in step.work):
        return True
    return bool(step.work) and bool(counts_of([step.work], account.convention))


def uncounted_names(account: Account) -> dict[str, Expr]:
    """Return the operations without a rule that the account passes over, and how often each runs."""
    out: dict[str, list[Expr]] = {}
    for step in account.steps:
        if step.kind == "opaque":
            out.setdefault(step.label, []).append(step.times)
    return {name: add(times) for name, times in out.items()}
