"""An account as a chain: its graph cut where a single tensor crosses, its repeats as equal stages in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from symacct.accounting import Account
from symacct.accounting.walk import graphs
from symacct.backward import chosen_inputs, needing
from symacct.checkpointing.chain import Chain
from symacct.checkpointing.cutting import Cutting, ends_of
from symacct.checkpointing.saved import Terms
from symacct.errors import GraphError
from symacct.expr import Expr, Size, terms_of
from symacct.graph import Condition, Graph


class Derived(NamedTuple):
    """A chain, what must hold, and whether every tensor between two of its operations is a cut: none is left out."""

    chain: Chain
    conditions: tuple[Condition, ...]
    every_cut: bool


def chain_of(
    account: Account,
    quantity: str = "flops",
    wrt: Sequence[str] | None = None,
    *,
    layers: Size | None = None,
    device: str = "cpu",
    drop_scores: bool = False,
    sizes: Mapping[str, Expr] | None = None,
    inside: bool = False,
) -> Derived:
    """Return the chain of an account; amounts of work are its flops or matmul_flops.

    The turns of a repeat are stages, or, `inside`, cut themselves; `sizes` say then how many turns there are. With
    `layers` the account is one block of so many.

    Raises
    ------
    GraphError
        Where nothing computes, where scores are to be dropped and none are kept, and for a block that does not return
        what it takes, or returns what it is given.
    MixedUnitsError
        Where work is in two units.

    """
    graph = account.graph
    account.total(quantity)
    terms = Terms(account.dtypes, account.convention, quantity == "matmul_flops", drop_scores, device)
    if not graph.ops or any(op.phase != "fwd" for op in graph.ops):
        what = "it has operations of a backward pass already" if graph.ops else "nothing is computed"
        msg = f"{account.title or 'this account'}: {what}; checkpoint the account of a forward pass"
        raise GraphError(msg)
    chosen = chosen_inputs(graph, wrt)
    needs = [graph.tensors[i].name in chosen for i in graph.inputs]
    if layers is None:
        cutting = Cutting(terms.saving(graph, needing(graph, needs)), terms, sizes or {}, inside=inside)
        chain = cutting.derived()
    else:
        taken = _taken(graph)
        needed = needing(graph, [need or i == taken for i, need in zip(graph.inputs, needs, strict=True)])
        saving = terms.saving(graph, needed)
        ends = ends_of(saving, [taken], graph.outputs, "this block")
        cutting = Cutting(saving, terms, sizes or {}, inside=inside, ends=ends, whole=not inside)
        chain = cutting.repeated(layers)
    if drop_scores and not any(terms_of(run.again) for run in chain.runs):
        fused = any(op.kind == "sdpa" for g in graphs(graph) for op in g.ops)
        why = "attention is fused and keeps none" if fused else "there is no softmax between two products"
        msg = f"there are no attention scores to recompute: {why}; other strategies recompute whole blocks"
        raise GraphError(msg)
    return Derived(chain, tuple(dict.fromkeys(cutting.conditions)), cutting.every_cut)


def _taken(graph: Graph) -> int:
    """Return the input of a block that is repeated: the first that is no parameter, as the block returns it."""
    given = [i for i in graph.inputs if graph.tensors[i].role != "param"]
    if given and len(graph.outputs) == 1:
        taken, returned = graph.tensors[given[0]], graph.tensors[graph.outputs[0]]
        if (taken.shape, taken.dtype) == (returned.shape, returned.dtype):
            return taken.id
    msg = "layers= repeats a block that returns one tensor in the shape of its first input; this account does not"
    raise GraphError(msg)
