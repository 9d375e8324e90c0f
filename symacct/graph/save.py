"""Graphs as JSON and back: the round trip is the identity; sizes are text that our own reader reads."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symacct.errors import GraphError
from symacct.expr import Poly, read, to_text
from symacct.graph.types import Einsum, Graph, Op, Tensor

VERSION = 1


def dump(graph: Graph) -> dict[str, Any]:
    """Return a graph as JSON-able data with stable keys."""
    return {"symacct_graph": VERSION, **_graph(graph)}


def load(data: Mapping[str, Any]) -> Graph:
    """Return the graph that `dump` wrote.

    Raises
    ------
    GraphError
        For data that is no graph, or of another version.

    """
    if data.get("symacct_graph") != VERSION:
        msg = f"not a graph of version {VERSION}: the key 'symacct_graph' is {data.get('symacct_graph')!r}"
        raise GraphError(msg)
    try:
        return _read_graph(data)
    except (KeyError, TypeError, IndexError) as error:
        msg = f"not a graph: {type(error).__name__} at {error}"
        raise GraphError(msg) from None


def _graph(graph: Graph) -> dict[str, Any]:
    return {
        "tensors": [{**t._asdict(), "shape": _write(t.shape), "strides": _write(t.strides)} for t in graph.tensors],
        "ops": [{**o._asdict(), "einsum": _write(o.einsum), "attrs": _write(dict(o.attrs))} for o in graph.ops],
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "stated": list(graph.stated),
    }


def _read_graph(data: Mapping[str, Any]) -> Graph:
    read = [{**t, "shape": _read(t["shape"]), "strides": _read(t["strides"])} for t in data["tensors"]]
    tensors = tuple(Tensor(**t) for t in read)
    ops = tuple(
        Op(
            **{
                **o,
                "inputs": tuple(o["inputs"]),
                "outputs": tuple(o["outputs"]),
                "einsum": _read(o["einsum"]),
                "attrs": _read(o["attrs"]),
            }
        )
        for o in data["ops"]
    )
    return Graph(tensors, ops, tuple(data["inputs"]), tuple(data["outputs"]), tuple(data["stated"]))


def _write(value: Any) -> Any:
    """Write an attribute; what JSON lacks is an object with one key that tells what it is."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Poly):
        return {"size": to_text(value)}
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    if isinstance(value, Einsum):
        sizes = {n: _write(s) for n, s in value.sizes.items()}
        return {"einsum": [[list(o) for o in value.operands], list(value.output), sizes, value.nest]}
    if isinstance(value, Graph):
        return {"graph": _graph(value)}
    if isinstance(value, tuple):
        return {"tuple": [_write(v) for v in value]}
    if isinstance(value, list):
        return [_write(v) for v in value]
    if isinstance(value, Mapping):
        return {"mapping": {str(k): _write(v) for k, v in value.items()}}
    msg = f"an attribute of type {type(value).__name__} cannot be saved"
    raise GraphError(msg)


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(v) for v in value]
    if not isinstance(value, Mapping):
        return value
    ((kind, inner),) = value.items()
    if kind == "size":
        return read(inner)
    if kind == "fraction":
        return Fraction(inner)
    if kind == "einsum":
        operands, output, sizes, nest = inner
        return Einsum(tuple(map(tuple, operands)), tuple(output), {n: _read(s) for n, s in sizes.items()}, nest)
    if kind == "graph":
        return _read_graph(inner)
    if kind == "tuple":
        return tuple(_read(v) for v in inner)
    if kind == "mapping":
        return {k: _read(v) for k, v in inner.items()}
    msg = f"unknown kind of attribute {kind!r}"
    raise GraphError(msg)
