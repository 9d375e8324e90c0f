"""The passes of a training step as accounts: forward with what is kept, backward, and both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from symacct.graph import Graph

if TYPE_CHECKING:
    from symacct.accounting.core import Account
    from symacct.backward import Joint


class Passes(NamedTuple):
    """Accounts of the forward pass, which yields what the backward one reads, of that one, and of both as one graph."""

    forward: Account
    backward: Account
    total: Account


def passes(account: Account, wrt: Sequence[str] | str | None = None) -> Passes:
    """Return the passes of a training step; `wrt` are the inputs that need a gradient, see `Account.backward`."""
    from symacct.backward import joint

    both = joint(account.graph, wrt)
    said = _assumption(account.graph, both, wrt)

    def under(graph: Graph, title: str) -> Any:
        return replace(account, graph=graph, title=f"{title}{account.title}", order="", gradients=said)

    forward, back = both.passes()
    return Passes(
        under(forward, "forward of "), under(back, "backward of "), under(both.graph, "forward and backward of ")
    )


def backward(account: Account, wrt: Sequence[str] | str | None = None) -> Account:
    """Return the account of the backward pass; see `Account.backward`."""
    return passes(account, wrt).backward


def _assumption(graph: Graph, both: Joint, wrt: Sequence[str] | str | None) -> str:
    """Say what gets a gradient and by whose word: ``of w (the parameters)``."""
    if wrt is not None:
        why = "as asked"
    elif any(graph.tensors[i].role == "param" for i in graph.inputs):
        why = "the parameters"
    else:
        why = "every input of numbers, since no parameters are named"
    none = f"; none arrives at {', '.join(both.without)}" if both.without else ""
    return f"of {', '.join(graph.tensors[i].name for i in both.gradients)} ({why}){none}"
