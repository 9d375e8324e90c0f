"""A step of training: the forward and the backward pass, together and each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from symacct.accounting import Account
from symacct.accounting.gradients import passes
from symacct.accounting.render import notes
from symacct.expr import Sympy, to_json, to_text
from symacct.show import table

TOTALS = ("flops", "matmul_flops", "bytes")


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
    forward: Account
    backward: Account
    total: Account

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

    def to_json(self) -> dict[str, Any]:
        """Return the totals by phase as JSON-able data with stable keys."""
        return {
            "title": self.total.title,
            "gradients": self.total.gradients,
            **{phase: {q: to_json(a.total(q)) for q in TOTALS} for phase, a in self.phases.items()},
            "convention": self.account.convention.to_json(),
            "traffic": self.account.traffic,
        }

    def __str__(self) -> str:
        """Print the totals by phase."""
        rows = [[phase, *(to_text(a.total(q)) for q in TOTALS)] for phase, a in self.phases.items()]
        under = ("convention", "dtype", "traffic", "gradients")
        said = [[word, text] for word, text in notes(self.total) if word in under]
        return table(["phase", *TOTALS], rows, self.total.title) + "\n\n" + table(["under", ""], said)

    __repr__ = __str__


def training(account: Account, wrt: Sequence[str] | str | None = None) -> Training:
    """Return what a step of training costs; see `Account.training`."""
    return Training(account, *passes(account, wrt))
