"""Operations that are alike: of one kind, with equal attributes and tensors, so that one rule evaluation serves all."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from symacct.expr import Poly
from symacct.graph.types import Einsum, Graph, Tensor

_PLAIN = (int, str, Poly, type(None))


def likeness(kind: str, attrs: Mapping[str, Any], einsum: Einsum | None, tensors: Iterable[Tensor]) -> Hashable:
    """Return a key that two operations share where a rule says the same of both.

    Rules see kinds, attributes, and of tensors the shape, dtype, strides and whether they own their memory; names,
    roles and ids make no difference to them.
    """
    of_tensors = tuple([(t.shape, t.dtype, t.strides, t.storage is None) for t in tensors])
    return kind, _frozen(attrs), _frozen(einsum), of_tensors


def _frozen(value: Any) -> Hashable:
    """Return a hashable form; 1, 1.0 and True are equal to Python, and not alike."""
    kind = type(value)
    if kind in _PLAIN:
        return value  # type: ignore[no-any-return]
    if kind is Einsum:
        return value.operands, value.output, tuple(value.sizes.items()), value.nest
    if kind is tuple or kind is list:
        return kind, tuple([_frozen(v) for v in value])
    if kind is Graph:
        return Graph, id(value)  # bodies and branches live as long as the graph that they are in
    if isinstance(value, Mapping):
        return tuple([(k, _frozen(v)) for k, v in value.items()])
    return kind, value
