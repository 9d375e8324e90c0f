"""Tensors that have a storage format of their own: a graph in which some are pinned to theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from symacct.accounting.costs import Formats
from symacct.accounting.walk import graphs
from symacct.dtypes import pin_of
from symacct.errors import DtypeError
from symacct.graph import Graph, Op


def with_gradients(graph: Graph, gradients: Mapping[int, int], seeds: Sequence[int], formats: Formats) -> Graph:
    """Return a graph in which the gradients of inputs have the formats of these, as autograd makes them.

    Those of what is yielded, which it is given, are no arguments with formats of their own.
    """
    tensors = list(graph.tensors)
    for i in seeds:
        if formats.of(tensors[i], graph) != formats.usual and tensors[i].dtype is None:
            tensors[i] = tensors[i]._replace(dtype=pin_of(formats.usual))
    graph = graph._replace(tensors=tuple(tensors))
    found = {made: tuple(formats.of(graph.tensors[x], graph) for x in (i, made)) for i, made in gradients.items()}
    return pinned(graph, {made: pin_of(wanted) for made, (wanted, usual) in found.items() if wanted != usual})


def pinned(graph: Graph, dtypes: Mapping[int, str]) -> Graph:
    """Return a graph in which some of what it makes, and what shares its memory, is pinned to a format; inside too."""
    owners = {t.id: t.owner for t in graph.tensors}
    wanted = {owners[i]: dtype for i, dtype in dtypes.items() if owners[i] not in graph.inputs}
    return _pinned(graph, owners, wanted) if wanted else graph


def _pinned(graph: Graph, owners: Mapping[int, int], given: Mapping[int, str]) -> Graph:
    wanted, ops = dict(given), list(graph.ops)
    for op in reversed(graph.ops):
        inside = {place: wanted[owners[i]] for place, i in enumerate(op.outputs) if owners[i] in wanted}
        if op.parts and inside:
            ops[op.id] = op.with_parts(partial(_pinned_inside, op=op, dtypes=inside))
            wanted |= {owners[op.inputs[place]]: dtype for place, dtype in _carries(op, inside).items()}
        elif op.kind == "absent" and inside:
            ops[op.id] = op._replace(attrs={**op.attrs, "dtype": inside[0]})
    tensors = [t._replace(dtype=wanted[owners[t.id]]) if owners[t.id] in wanted else t for t in graph.tensors]
    return graph._replace(tensors=tuple(tensors), ops=tuple(ops))


def _carries(op: Op, dtypes: Mapping[int, str]) -> dict[int, str]:
    """Return the places of sums of gradients, which all turns make in one format."""
    carry = op.attrs.get("carry", 0) if op.phase == "bwd" else 0
    return {place: dtype for place, dtype in dtypes.items() if place < carry}


def _pinned_inside(part: Graph, op: Op, dtypes: Mapping[int, str]) -> Graph:
    """Pin what a graph inside an operation yields at some places, and the carries that it comes from; no operands."""
    owners = {t.id: t.owner for t in part.tensors}
    wanted = {owners[part.outputs[place]]: dtype for place, dtype in dtypes.items()}
    if op.kind == "cond":
        wanted = {owner: dtype for owner, dtype in wanted.items() if owner not in part.inputs}
    return _pinned(part, owners, wanted | {part.inputs[place]: dtype for place, dtype in _carries(op, dtypes).items()})


def check_carries(graph: Graph, formats: Formats) -> None:
    """Check that every turn of a repeat is given its carries in the format in which it makes them.

    Raises
    ------
    DtypeError
        Where turns differ: a carry starts at an argument, or is yielded in the end, in a format of its own.

    """
    for outer in graphs(graph):
        for op in outer.ops:
            for place in range(op.attrs["carry"] if op.kind == "repeat" else 0):
                _check_carry(outer, op, place, formats)


def _check_carry(graph: Graph, op: Op, place: int, formats: Formats) -> None:
    before = graph.tensors[op.inputs[place]]
    inside = [(part, part.tensors[ends[place]]) for part in op.parts for ends in (part.inputs, part.outputs)]
    found = dict.fromkeys(formats.of(t, where) for where, t in [(graph, before), *inside])
    if len(found) > 1:
        told = " and ".join(fmt.name for fmt in found)
        msg = (
            f"{op.label}: its turns differ in the format of the carry {before.name}, {told}; write out the turns that "
            "differ, or give activations, and what the carry starts at and ends as, one dtype"
        )
        raise DtypeError(msg)
