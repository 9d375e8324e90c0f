"""Graphs as JSON and back: the round trip is the identity; sizes are text that our own reader reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from symacct.errors import GraphError
from symacct.expr import Poly, read, to_text
from symacct.graph.legal import check
from symacct.graph.types import Einsum, Graph, Op, Tensor

VERSION = 1


def dump(graph: Graph) -> dict[str, Any]:
    """Return a graph as JSON-able data with stable keys."""
    return {"symacct_graph": VERSION, **_graph(graph)}


def load(data: Mapping[str, Any]) -> Graph:
    """Return the graph that `dump` wrote: read, never evaluated, and checked.

    Raises
    ------
    GraphError
        For data that is no graph, or of another version, or a graph that is not legal.

    """
    version = data.get("symacct_graph") if isinstance(data, Mapping) else None
    if version != VERSION or type(version) is not int:
        msg = f"not a graph of version {VERSION}: the key 'symacct_graph' is {str(version)[:40]}"
        raise GraphError(msg)
    try:
        graph = _read_graph(data)
        check(graph)
    except GraphError:
        raise
    except (KeyError, TypeError, IndexError, ValueError, AttributeError, RecursionError) as error:
        msg = f"not a graph: {type(error).__name__} at {str(error)[:200]}"
        raise GraphError(msg) from None
    return graph


def _graph(graph: Graph) -> dict[str, Any]:
    return {
        "tensors": [{**t._asdict(), "shape": _write(t.shape), "strides": _write(t.strides)} for t in graph.tensors],
        "ops": [_op(o) for o in graph.ops],
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "stated": list(graph.stated),
    }


def _op(o: Op) -> dict[str, Any]:
    ids = {"inputs": list(o.inputs), "outputs": list(o.outputs)}
    return {**o._asdict(), **ids, "einsum": _write(o.einsum), "attrs": _write(dict(o.attrs))}


def _write(value: Any) -> Any:
    """Write an attribute; what JSON lacks is an object with one key that tells what it is."""
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, float):
        return {"float": str(value)}
    if isinstance(value, Poly):
        return {"size": to_text(value)}
    if isinstance(value, Fraction):
        return {"fraction": [value.numerator, value.denominator]}
    if isinstance(value, Einsum):
        sizes = {n: _write(s) for n, s in value.sizes.items()}
        return {"einsum": [[list(o) for o in value.operands], list(value.output), sizes, value.nest]}
    if isinstance(value, Graph):
        return {"graph": _graph(value)}
    if isinstance(value, tuple):
        return {"tuple": [_write(v) for v in value]}
    if isinstance(value, list):
        return [_write(v) for v in value]
    if isinstance(value, Mapping) and all(type(k) is str for k in value):
        return {"mapping": {k: _write(v) for k, v in value.items()}}
    msg = f"an attribute of type {type(value).__name__} cannot be saved"
    raise GraphError(msg)


def _read_graph(data: Mapping[str, Any]) -> Graph:
    return Graph(
        tuple([_read_tensor(t) for t in _list(data["tensors"])]),
        tuple([_read_op(o) for o in _list(data["ops"])]),
        _all(int, data["inputs"]),
        _all(int, data["outputs"]),
        _all(str, data["stated"]),
    )


def _read_tensor(t: Mapping[str, Any]) -> Tensor:
    strides = None if t["strides"] is None else _tuple(t["strides"], int, Fraction, Poly)
    storage = None if t["storage"] is None else _one(int, t["storage"])
    dtype = None if t["dtype"] is None else _one(str, t["dtype"])
    return Tensor(
        _one(int, t["id"]),
        _tuple(t["shape"], int, Poly),
        _one(str, t["role"]),  # which roles there are is checked with the graph
        _one(str, t["name"]),
        dtype,
        storage,
        strides,
    )


def _read_op(o: Mapping[str, Any]) -> Op:
    attrs, einsum = _read(o["attrs"]), _read(o["einsum"])
    if type(attrs) is not dict or not (einsum is None or type(einsum) is Einsum):
        msg = f"not a graph: the attributes or the einsum of operation {str(o['id'])[:20]}"
        raise GraphError(msg)
    return Op(
        _one(int, o["id"]),
        _one(str, o["kind"]),
        _all(int, o["inputs"]),
        _all(int, o["outputs"]),
        einsum,
        MappingProxyType(attrs),
        _one(str, o["scope"]),
        _one(str, o["phase"]),
    )


def _one(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        msg = f"not a graph: {str(value)[:40]!r} where {kind.__name__} is needed"
        raise GraphError(msg)
    return value


def _list(value: Any) -> list[Any]:
    values: list[Any] = _one(list, value)
    return values


def _all(kind: type, values: Any) -> tuple[Any, ...]:
    return tuple([_one(kind, v) for v in _list(values)])


def _tuple(value: Any, *kinds: type) -> tuple[Any, ...]:
    values: tuple[Any, ...] = _one(tuple, _read(value))
    if strange := [v for v in values if type(v) not in kinds]:
        msg = f"not a graph: {str(strange[0])[:40]!r} in the shape or the strides of a tensor"
        raise GraphError(msg)
    return values


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(v) for v in value]
    if not isinstance(value, Mapping):
        return value
    if len(value) != 1 or next(iter(value)) not in _READERS:
        msg = f"not a graph: an attribute of {str(list(value))[:60]}; known kinds: {', '.join(_READERS)}"
        raise GraphError(msg)
    ((kind, inner),) = value.items()
    return _READERS[kind](inner)


def _read_fraction(inner: Any) -> Fraction:
    above, below = _all(int, inner)
    if below == 0:
        msg = "not a graph: a fraction over zero"
        raise GraphError(msg)
    return Fraction(above, below)


def _read_einsum(inner: Any) -> Einsum:
    operands, output, sizes, nest = _list(inner)
    read_sizes = {n: _read(s) for n, s in sizes.items()}
    return Einsum(tuple([_all(str, o) for o in _list(operands)]), _all(str, output), read_sizes, _one(bool, nest))


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "size": lambda inner: read(_one(str, inner)),
    "float": lambda inner: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[inner],
    "fraction": _read_fraction,
    "einsum": _read_einsum,
    "graph": _read_graph,
    "tuple": lambda inner: tuple(_read(v) for v in _list(inner)),
    "mapping": lambda inner: {_one(str, k): _read(v) for k, v in inner.items()},
}
"""What a JSON object with one key is."""
