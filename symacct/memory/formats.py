"""Which storage format each tensor of a training step has, by a policy and by what arguments have of their own.

The policy decides by role. An argument that was given a format of its own keeps it, and as in torch its gradient and
what an optimizer keeps for it follow: autograd gives a gradient the dtype of its parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from symacct.accounting import Account, Formats
from symacct.accounting.pinned import check_carries, pinned
from symacct.dtypes import Policy, pin_of, policy_of
from symacct.errors import DtypeError
from symacct.graph import Graph
from symacct.memory.casts import with_casts

ROLES: Mapping[str, str] = {"input": "act", "const": "act", "act": "act", "param": "param"}
"""What a policy calls the roles that a dtype can be given to."""
LOSSES = ("cross_entropy", "nll_loss", "mse_loss")


def policy_for(account: Account, policy: Any) -> Policy:
    """Return the precision policy: the one that is asked for, or one that keeps to the formats of the account."""
    if policy is not None:
        return policy_of(policy)
    roles = dict(account.dtypes.roles)
    usual = account.dtypes.usual
    return Policy("of the account", {"param": pin_of(roles.get("param", usual)), "act": pin_of(usual)})


def in_formats(account: Account, policy: Any) -> Account:
    """Return the account as a step of training runs it: in the formats of a policy, with its casts.

    Raises
    ------
    DtypeError
        Where the policy and the account give a role two formats.

    """
    chosen = policy_for(account, policy)
    if policy is not None:
        for role, fmt in account.dtypes.roles:
            if role in ROLES and fmt != chosen.of(ROLES[role]):
                msg = (
                    f"dtype= says that {role!r} is {fmt.name}, the policy {chosen.name!r} that it is "
                    f"{chosen.of(ROLES[role]).name}; give one of them (what dtype= says of an argument by its name, "
                    f"a policy leaves as it is)"
                )
                raise DtypeError(msg)
        own = tuple([(name, fmt) for name, fmt in account.dtypes.roles if name not in ROLES])
        account = replace(account, dtypes=Formats(chosen.of("act"), (("param", chosen.of("param")), *own)))
    graph = _with_logits(account.graph, chosen)
    check_carries(graph, account.dtypes)
    casts = _casts(graph, account.dtypes, chosen)
    graph = with_casts(graph, casts) if casts else graph
    return account if graph is account.graph else replace(account, source=graph)


def _with_logits(graph: Graph, policy: Policy) -> Graph:
    """Return a graph in which what a loss reads, and what the graph yields, has the format of logits; no carries.

    What has a dtype keeps it.
    """
    if policy.of("logits") == policy.of("act"):
        return graph
    carried = {i for op in graph.ops if op.kind == "repeat" for i in op.outputs[: op.attrs["carry"]]}
    yielded = [i for i in (*logits_of(graph), *graph.outputs) if i not in carried and graph.tensors[i].dtype is None]
    return pinned(graph, dict.fromkeys(yielded, pin_of(policy.of("logits"))))


def logits_of(graph: Graph) -> list[int]:
    """Return what losses of the forward pass read."""
    read = [op.inputs[0] for op in graph.ops if op.kind in LOSSES and op.phase == "fwd"]
    return read + [op.inputs[0] for op in graph.ops if op.kind == "log_softmax" and op.outputs[0] in read]


def _casts(graph: Graph, formats: Formats, policy: Policy) -> dict[int, dict[str, Any]]:
    """Return the parameters that are cast for products, and from what to what."""
    if not policy.has("cast"):
        return {}
    act, to = policy.of("act"), policy.of("cast")
    params = {i: formats.of(graph.tensors[i], graph) for i in graph.inputs if graph.tensors[i].role == "param"}
    return {
        i: {"dtype": None if to == act else pin_of(to), "source": None if own == act else pin_of(own)}
        for i, own in params.items()
        if own != to
    }
