"""Who needs a gradient: what is made from something that does, by an operation that passes one on."""

from __future__ import annotations

from collections.abc import Iterable

from symacct.dtypes import Format, as_format
from symacct.errors import GraphError
from symacct.graph import Graph, Op, Tensor
from symacct.rules import rule_of
from symacct.rules.rule import no_gradient

Needs = tuple[bool, ...]

TURNS = 16
"""So many first turns of a repeat may differ in what needs a gradient."""


def is_float(tensor: Tensor) -> bool:
    """Whether a tensor holds numbers that can have a gradient: no indices, no masks."""
    if tensor.dtype is None:
        return True
    form = as_format(tensor.dtype)
    return not isinstance(form, Format) or form.is_float


def needing(graph: Graph, inputs: Iterable[bool]) -> set[int]:
    """Return the tensors of a graph that need a gradient where some of its inputs do.

    An operation passes it on to its first output; the others (statistics, masks, places) are constants, as in torch.
    """
    needs = {i for i, need in zip(graph.inputs, inputs, strict=True) if need}
    for op in graph.ops:
        wanted = wants(op, needs)
        if any(wanted):
            made = _passed_on(op, graph, wanted)
            needs |= {i for i, need in zip(op.outputs, made, strict=False) if need}
    return needs


def useful(graph: Graph, needs: set[int]) -> frozenset[int]:
    """Return the operations through which gradients come back from what a graph yields; others keep nothing."""
    reached = needs.intersection(graph.outputs)
    found: set[int] = set()
    for op in reversed(graph.ops):
        wanted = wants(op, needs)
        if any(wanted) and not reached.isdisjoint(op.outputs):
            found.add(op.id)
            reached.update(i for i, want in zip(op.inputs, wanted, strict=True) if want)
    return frozenset(found)


def wants(op: Op, needs: set[int]) -> Needs:
    """Return which inputs of an operation need a gradient; running statistics of a norm never do."""
    if op.kind != "batch_norm":
        return tuple([i in needs for i in op.inputs])
    given = ("x", *op.attrs["given"])
    return tuple(i in needs and called not in ("mean", "var") for i, called in zip(op.inputs, given, strict=True))


def _passed_on(op: Op, graph: Graph, wanted: Needs) -> Needs:
    if op.kind == "repeat":
        return (*by_turn(op, wanted)[-1], *_collected(op, wanted))
    if op.kind == "cond":
        each = [needing(branch, wanted[1:]) for branch in op.attrs["branches"]]
        places = zip(*(branch.outputs for branch in op.attrs["branches"]), strict=True)
        return tuple(any(i in needs for i, needs in zip(ids, each, strict=True)) for ids in places)
    return (rule_of(op).gradient is not no_gradient and is_float(graph.tensors[op.outputs[0]]),)


def _collected(op: Op, wanted: Needs) -> Needs:
    """Return which outputs of a repeat that are collected need a gradient: those that do in some turn."""
    body, carry = op.attrs["body"], op.attrs["carry"]
    each = [needing(body, (*needs, *wanted[carry:])) for needs in by_turn(op, wanted)]
    last = carry + op.collected
    return tuple(any(i in needs for needs in each) for i in body.outputs[carry:last])


def by_turn(op: Op, wanted: Needs) -> list[Needs]:
    """Return which carries of a repeat need a gradient before its first turn, before its second, and so on.

    The last entry holds for all turns after. What a body makes of a parameter needs one, so that an input that needs
    none does in the first turn alone.

    Raises
    ------
    GraphError
        Where this never settles, as when carries change places every turn.

    """
    body, carry, n = op.attrs["body"], op.attrs["carry"], op.attrs["n"]
    out = [wanted[:carry]]
    while len(out) < TURNS and not (type(n) is int and len(out) > n):
        needs = needing(body, (*out[-1], *wanted[carry:]))
        after = tuple(i in needs for i in body.outputs[:carry])
        if after == out[-1]:
            return out
        out.append(after)
    if type(n) is int and len(out) > n:
        return out
    msg = f"{op.label}: which carries need a gradient changes from turn to turn; such iterations must be written out"
    raise GraphError(msg)
