"""The passes of a training step as accounts: forward with what is kept, backward, and both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from symacct.accounting.pinned import with_gradients
from symacct.graph import Graph

if TYPE_CHECKING:
    from symacct.accounting.core import Account
    from symacct.backward import Joint


class Passes(NamedTuple):
    """Accounts of the forward pass, which yields what the backward one reads, of that one, and of both as one graph.

    `gradients` are the inputs that have one.
    """

    forward: Account
    backward: Account
    total: Account
    gradients: tuple[int, ...]
    joint: Joint


class Gradients:
    """Methods of `Account` alone: the backward pass, and what is built on it in the room above."""

    __slots__ = ()

    def backward(self: Any, wrt: Any = None) -> Any:
        """Return the account of the backward pass: for ``y = x @ w`` the products ``dy @ w.T`` and ``x.T @ dy``.

        Parameters
        ----------
        wrt
            Names of the inputs that need a gradient. By default the parameters; where none were named, all inputs of
            floating-point numbers. The account says which under `gradients`.

        Returns
        -------
        An account of the operations that make the gradients, given those of the outputs and what autograd kept. What
        needs no gradient costs nothing: the input of a first layer, frozen weights, what is behind a `detach`.

        Raises
        ------
        GraphError
            For an input that there is not or that has no gradient, and where none arrives.
        UnknownOpError
            For an operation of which the gradient is not known.

        Examples
        --------
        >>> import symacct as sa
        >>> sa.account("b d, d k -> b k").backward().flops
        4*b*d*k
        >>> def network(x: "b d", w: "L d d"):
        ...     return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
        >>> sa.account(network, params=["w"]).backward().matmul_flops
        b*d**2*(4*L - 2)

        """
        return passes(self, wrt).backward

    def training(
        self: Any,
        wrt: Any = None,
        *,
        optimizer: Any = None,
        policy: Any = None,
        kernel: str | None = None,
        accumulate: Any = 1,
    ) -> Any:
        """Return what a step of training costs: forward, backward, update, and its memory.

        Parameters
        ----------
        wrt
            As in `backward`.
        optimizer
            As in `symacct.optimizer`; without one nothing is updated.
        policy
            Storage formats by role, as in `symacct.bytes_per_parameter`; by default those of the account. Arguments
            that `dtype=` gives a format by name keep it; so do, as in torch, their gradients and state.
        kernel
            How the update runs, which decides what it makes: ``"fused"``, ``"foreach"`` or ``"forloop"``; by default
            the first of these that the optimizer has.
        accumulate
            How many micro-batches (of the account's sizes) are run before an update.

        Returns
        -------
        `symacct.training.Training`; its `memory` is a `symacct.memory.Ledger`.

        Raises
        ------
        GraphError
            As in `backward`, and for an optimizer where no parameter is known.
        ConventionError
            For an unknown optimizer, policy or kernel, and for a kernel without an optimizer.
        DtypeError
            Where an optimizer that was read from code keeps its state in another format than the policy asks for, and
            where the policy and `dtype=` give a role two formats.

        Examples
        --------
        >>> import symacct as sa
        >>> def network(x: "b d", w: "L d d"):
        ...     return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
        >>> sa.account(network, params=["w"]).training().matmul_flops
        b*d**2*(6*L - 2)
        >>> step = sa.account(network, params=["w"]).training(optimizer="adamw", policy="bf16")
        >>> step.update.total("flops"), step.memory.roles["optimizer state"]
        (14*L*d**2, 8*L*d**2)

        """
        from symacct.training import training

        return training(self, wrt, optimizer, policy, kernel=kernel, accumulate=accumulate)

    def residuals(self: Any, policy: str = "torch", *, wrt: Any = None, device: str = "cpu") -> Any:
        """Return what is kept from the forward pass for the backward one, each piece of memory once.

        Parameters
        ----------
        policy
            ``"torch"``: what torch's autograd keeps, the copies that lay operands out included. ``"ideal"``: what the
            gradients need, without such copies. ``"outputs"``: the output of each product. ``"pre_and_post"``: both
            sides of each non-linearity.
        wrt
            Names of the inputs that need a gradient, as in `backward`.
        device
            ``"cpu"``: dropout keeps its mask in the dtype of its input, a norm its statistics in its own. ``"cuda"``:
            masks take a byte an element, statistics are kept in fp32.

        Returns
        -------
        A table by tensor, with a total in closed form that leaves parameters out; see `symacct.training.Residuals`.

        Raises
        ------
        ConventionError
            For an unknown policy or device.
        GraphError
            As `backward` does.

        Examples
        --------
        >>> import symacct as sa
        >>> def network(x: "b d", w: "L d d"):
        ...     return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
        >>> account = sa.account(network, params=["w"])
        >>> [account.residuals(policy).elements for policy in ("torch", "outputs", "pre_and_post")]
        [b*d*(L + 1), L*b*d, 2*L*b*d]

        """
        from symacct.training import residuals

        return residuals(self, policy, wrt, device)

    def checkpoint(self: Any, strategy: str | None = None, **options: Any) -> Any:
        """Return what activation checkpointing holds and executes again; see `symacct.checkpoint`.

        Examples
        --------
        >>> import symacct as sa
        >>> def network(x: "b d", w: "L d d"):
        ...     return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
        >>> plan = sa.account(network, params=["w"], dtype="fp32").checkpoint("sqrt")
        >>> plan.memory, plan.recomputed_matmul
        (8*sqrt(L)*b*d, 2*L*b*d**2)

        """
        from symacct.checkpointing import checkpoint

        return checkpoint(self, strategy, **options)


def passes(account: Account, wrt: Sequence[str] | str | None = None) -> Passes:
    """Return the passes of a training step; `wrt` are the inputs that need a gradient, see `Account.backward`."""
    from symacct.backward import joint

    both = joint(account.graph, wrt)
    both = both._replace(graph=with_gradients(both.graph, both.gradients, both.seeds, account.dtypes))
    said = assumption(account.graph, both, wrt)

    def under(graph: Graph, title: str) -> Any:
        return replace(account, source=graph, title=f"{title}{account.title}", order="", gradients=said)

    forward, back = both.passes()
    return Passes(
        under(forward, "forward of "),
        under(back, "backward of "),
        under(both.graph, "forward and backward of "),
        tuple(both.gradients),
        both,
    )


def assumption(graph: Graph, both: Joint, wrt: Sequence[str] | str | None) -> str:
    """Say what gets a gradient and by whose word: ``of w (the parameters)``."""
    if wrt is not None:
        why = "as asked"
    elif any(graph.tensors[i].role == "param" for i in graph.inputs):
        why = "the parameters"
    else:
        why = "every input of numbers, since no parameters are named"
    none = f"; none arrives at {', '.join(both.without)}" if both.without else ""
    return f"of {', '.join(graph.tensors[i].name for i in both.gradients)} ({why}){none}"
