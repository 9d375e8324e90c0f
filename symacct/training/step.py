"""A step of training: the forward and the backward pass, together and each by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from symacct.accounting import Account
from symacct.accounting.gradients import passes
from symacct.accounting.numbers import together
from symacct.accounting.render import formats, notes
from symacct.errors import ConventionError, InconclusiveError, MixedUnitsError, UnknownOpError
from symacct.expr import Expr, Sympy, add, evaluate, multiply, to_json, to_latex, to_text
from symacct.memory import Ledger
from symacct.memory.formats import in_formats
from symacct.memory.largest import Accumulation
from symacct.show import aligned, table
from symacct.training.figures import TOTALS, StepFigures
from symacct.training.products import Contraction, contractions
from symacct.training.thumb import RuleOfThumb, rule_of_thumb
from symacct.training.update import Update, updated
from symacct.units import Quantity


@dataclass(frozen=True, repr=False)
class Training:
    """What a step of training costs, as closed forms; made by `Account.training`.

    Attributes
    ----------
    forward
        The account of the forward pass, which writes also what the backward pass reads.
    backward
        The account of the operations that make the gradients.
    total
        The account of both as one graph.
    update
        What the optimizer does, and the memory of the step.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b d", w: "d k"):
    ...     return sa.relu(x @ w)
    >>> print(sa.account(layer, params=["w"]).training())
    forward and backward of layer(x (b, d), w (d, k))
     phase      flops             matmul_flops   bytes
     forward    b*k*(2*d + 1)     2*b*d*k        2*(b*d + 3*b*k + d*k)
     backward   b*k*(2*d + 1)     2*b*d*k        2*(b*d + 4*b*k + d*k)
     total      2*b*k*(2*d + 1)   4*b*d*k        2*(2*b*d + 7*b*k + 2*d*k)
    <BLANKLINE>
     under
     convention   2n: a sum of n products is 2n operations; a sum of n terms is n
     dtype        bf16
     traffic      unfused
     gradients    of w (the parameters)

    """

    account: Account
    gradients: tuple[int, ...]
    """The inputs of the account's graph that have a gradient."""
    forward: Account
    backward: Account
    total: Account
    update: Update

    @property
    def memory(self) -> Ledger:
        """What is alive in a step: what lasts, what the passes make, and when most is."""
        return self.update.memory

    @property
    def phases(self) -> dict[str, Account]:
        """The accounts by phase, the total last."""
        return {"forward": self.forward, "backward": self.backward, "total": self.total}

    @property
    def flops(self) -> Sympy:
        """Everything executed in both passes."""
        return self.total.flops

    @property
    def matmul_flops(self) -> Sympy:
        """The contractions of both passes: what 6PT speaks of."""
        return self.total.matmul_flops

    @property
    def bytes(self) -> Sympy:
        """The bytes that both passes move."""
        return self.total.bytes

    @property
    def contractions(self) -> tuple[Contraction, ...]:
        """The products of both passes as patterns, with the axes that each sums over.

        Examples
        --------
        >>> import symacct as sa
        >>> for c in sa.account("batch in, in out -> batch out").training().contractions:
        ...     print(c.phase, c.pattern, "sums over", *c.sums)
        fwd batch in, in out -> batch out sums over in
        bwd batch out, in out -> batch in sums over out
        bwd batch in, batch out -> in out sums over batch

        """
        return contractions(self.total)

    def rule_of_thumb(self, tokens: Any = None, *, without: Sequence[str] | str = ()) -> RuleOfThumb:
        """Return 6PT beside the exact count of products, and what the rule leaves out, by name.

        Parameters
        ----------
        tokens
            T, a size; by default how often products use each element of their weights.
        without
            Names of parameters that P leaves out, as the rule does with embeddings.

        Raises
        ------
        InconclusiveError
            Where products do not agree on T.
        ConventionError
            Where a product and sum is not counted as two operations.
        UnknownAxisError
            For a name of no parameter.

        Examples
        --------
        >>> import symacct as sa
        >>> def network(x: "b d", w: "L d d"):
        ...     return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
        >>> print(sa.account(network, params=["w"]).training().rule_of_thumb())
         training step                  FLOP
         P, the parameters              L*d**2
         T, the tokens                  b
         6PT (also called 6ND)          6*L*b*d**2
         inputs that need no gradient   -2*b*d**2
         exact, of all products         2*b*d**2*(3*L - 1)
         beside it, in no product       2*L*b*d

        """
        return rule_of_thumb(self, tokens, without)

    def step_total(self, quantity: str, sizes: Mapping[str, int] | None = None) -> Expr:
        """Return a total of the whole step: both passes for every micro-batch, and the update.

        Raises
        ------
        MixedUnitsError
            Under ``mac``, where passes are multiply-accumulates and the update is operations.
        UnknownOpError
            For an optimizer that was read from code: what it executes is not known.

        """
        passes = multiply(self.update.step.micro_batches, self.total.total(quantity))
        update = self.update.total(quantity, sizes)
        if update != 0 and self.total.unit(quantity) == "MAC":
            msg = f"the passes are {passes} MAC and the update is {update} FLOP: two units, not one number"
            raise MixedUnitsError(msg)
        return add((passes, update))

    def _known(self, total: Callable[[str], Expr], quantity: str, write: Callable[[Expr], Any]) -> Any:
        """Write a total, or nothing where it is not known."""
        try:
            return write(total(quantity))
        except (InconclusiveError, MixedUnitsError, UnknownOpError):
            return None

    def _told(self, total: Callable[[str], Expr], quantity: str) -> str:
        return self._known(total, quantity, to_text) or "not known"

    def accumulation(
        self, axis: str, batch: int, memory: Any, *, sizes: Mapping[str, Any] | None = None, **axes: Any
    ) -> Accumulation:
        """Return into how many equal micro-batches a batch must be taken apart for a step to fit into memory.

        Parameters
        ----------
        axis
            The size that counts the batch.
        batch
            How many there are in all.
        memory
            Bytes, or text such as ``"80 GB"``.
        sizes, **axes
            A number for every other size.

        Raises
        ------
        InconclusiveError
            Where not even one at a time fits.

        Examples
        --------
        >>> import symacct as sa
        >>> def network(x: "b d", w: "L d d"):
        ...     return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
        >>> step = sa.account(network, params=["w"]).training(optimizer="adamw", policy="bf16")
        >>> print(step.accumulation("b", 4096, "4 MB", d=64, L=16))
        4 micro-batches of b = 1024 for b = 4096; each mean loss times 1/4, gradients added up

        """
        return self.update.accumulation(axis, batch, memory, together(sizes, axes))

    def at(self, *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> StepFigures:
        """Return the numbers of a step at given sizes: operations and bytes by phase, and the memory with its peak.

        Examples
        --------
        >>> import symacct as sa
        >>> def network(x: "b d", w: "L d d"):
        ...     return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
        >>> step = sa.account(network, params=["w"]).training(optimizer="adamw", policy="bf16")
        >>> at = step.at(b=64, d=1024, L=16)
        >>> print(at.totals["step"]["flops"], at.memory.by("role")["optimizer state"], sep=", ")
        6.545 GFLOP, 134.218 MB (128.000 MiB)

        """
        memory = self.memory.at(sizes=sizes, **axes)
        totals: dict[str, dict[str, Expr | None]] = {
            phase: {q: a.total(q) for q in TOTALS} for phase, a in self.phases.items()
        }
        if self.update.step.optimizer is not None:
            for phase, total in (("update", self.update.total), ("step", self.step_total)):
                totals[phase] = {q: self._known(partial(total, sizes=memory.sizes), q, _as_it_is) for q in TOTALS}
        units = {q: self.total.unit(q) for q in TOTALS}
        found = {
            phase: {
                q: None if amount is None else Quantity(evaluate(amount, memory.sizes), units[q])
                for q, amount in along.items()
            }
            for phase, along in totals.items()
        }
        return StepFigures(found, memory)

    def latex(self) -> str:
        """Return the totals by phase as a LaTeX block."""
        return aligned([(f"{q}, {phase}", to_latex(a.total(q))) for phase, a in self.phases.items() for q in TOTALS])

    def to_json(self) -> dict[str, Any]:
        """Return the totals by phase as JSON-able data with stable keys; `rule_of_thumb` is null where T is unclear."""
        try:
            rule = self.rule_of_thumb().to_json()
        except (ConventionError, InconclusiveError):
            rule = None
        return {
            "title": self.total.title,
            "gradients": self.total.gradients,
            **{phase: {q: to_json(a.total(q)) for q in TOTALS} for phase, a in self.phases.items()},
            "update": {q: self._known(self.update.total, q, to_json) for q in TOTALS},
            "step": {q: self._known(self.step_total, q, to_json) for q in TOTALS},
            "micro_batches": to_json(self.update.step.micro_batches),
            "memory": self.update.memory_json(),
            "convention": self.account.convention.to_json(),
            "dtype": formats(self.account),
            "traffic": self.account.traffic,
            "rule_of_thumb": rule,
        }

    def __str__(self) -> str:
        """Print the totals by phase; with an optimizer also the update, the whole step and its memory."""
        rows = [[phase, *(to_text(a.total(q)) for q in TOTALS)] for phase, a in self.phases.items()]
        if self.update.step.optimizer is not None:
            rows.append(["update", *(self._told(self.update.total, q) for q in TOTALS)])
            rows.append(["step", *(self._told(self.step_total, q) for q in TOTALS)])
        under = ("convention", "dtype", "traffic", "gradients")
        said = [[word, text] for word, text in notes(self.total) if word in under]
        if self.account.traffic == "compulsory":
            said.append(["", "of each pass by itself, and of both together: these do not add up"])
        memory = "" if self.update.step.optimizer is None else f"{self.update.told_memory()}\n\n"
        said += self.update.notes() if memory else []
        return f"{table(['phase', *TOTALS], rows, self.total.title)}\n\n{memory}{table(['under', ''], said)}"

    __repr__ = __str__


def _as_it_is(amount: Expr) -> Expr:
    return amount


def training(
    account: Account,
    wrt: Sequence[str] | str | None = None,
    optimizer: Any = None,
    policy: Any = None,
    *,
    kernel: str | None = None,
    accumulate: Any = 1,
) -> Training:
    """Return what a step of training costs; see `Account.training`."""
    account = in_formats(account, policy)
    found = passes(account, wrt)
    update = updated(account, found.joint, optimizer, policy, kernel=kernel, micro_batches=accumulate)
    return Training(account, found.gradients, found.forward, found.backward, found.total, update)
