"""Tensors that have a storage format of their own: a graph in which some are pinned to theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from symacct.accounting.costs import Formats
from symacct.dtypes import pin_of
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
    return {place: dtype for place, dtype in dtypes.items() if place < op.attrs.get("carry", 0)}


def _pinned_inside(part: Graph, op: Op, dtypes: Mapping[int, str]) -> Graph:
    """Pin what a graph inside an operation yields at some places, and the carries that it comes from."""
    owners = {t.id: t.owner for t in part.tensors}
    wanted = {owners[part.outputs[place]]: dtype for place, dtype in dtypes.items()}
    return _pinned(part, owners, wanted | {part.inputs[place]: dtype for place, dtype in _carries(op, dtypes).items()})
