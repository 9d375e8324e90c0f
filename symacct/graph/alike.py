"""Operations that are alike: of one kind, with equal attributes and tensors, so that one rule evaluation serves all."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from symacct.expr import Poly
from symacct.graph.types import Einsum, Graph, Op, Tensor

_PLAIN = (int, str, Poly, type(None))


class Likes:
    """Numbers tensors, attributes and operations, those that rules cannot tell apart alike.

    Rules see kinds, attributes, and of tensors the shape, dtype, strides, whether they own their memory and whether
    something uses them; names, roles and ids make no difference to them. `told` is what else makes one. What is
    numbered must live as long as this: what is the very same object is looked up by its id.
    """

    def __init__(self, told: Callable[[Tensor, Graph], Hashable] | None = None) -> None:
        """Start with nothing."""
        self.told = told
        self._numbers: dict[Hashable, int] = {}
        self._objects: dict[Hashable, int] = {}
        self._graphs: dict[int, list[int]] = {}

    def tensor(self, t: Tensor, graph: Graph | None = None) -> int:
        """Return the number of tensors like this one."""
        owns, told = t.storage is None, self.told and graph and self.told(t, graph)
        same = (id(t.shape), t.dtype, id(t.strides), owns, told)
        number = self._objects.get(same)
        if number is None:
            number = self._objects[same] = self._number(("tensor", t.shape, t.dtype, t.strides, owns, told))
        return number

    def attributes(self, attrs: Mapping[str, Any]) -> int:
        """Return the number of attributes like these."""
        number = self._objects.get(id(attrs))
        if number is None:
            number = self._objects[id(attrs)] = self._number(frozen(attrs))
        return number

    def op(self, op: Op, graph: Graph) -> Hashable:
        """Return a key that this operation of a graph shares with those like it."""
        marks = self._graphs.get(id(graph))
        if marks is None:
            used = {*graph.outputs, *(i for op in graph.ops for i in op.inputs)}
            marks = self._graphs[id(graph)] = [2 * self.tensor(t, graph) + (t.id in used) for t in graph.tensors]
        einsum = None if op.einsum is None or "einsum" in op.attrs else frozen(op.einsum)
        return op.kind, self.attributes(op.attrs), einsum, tuple([marks[i] for i in op.inputs + op.outputs])

    def _number(self, what: Hashable) -> int:
        return self._numbers.setdefault(what, len(self._numbers))


def frozen(value: Any) -> Hashable:
    """Return a hashable form; 1, 1.0 and True are equal to Python, and not alike."""
    kind = type(value)
    if kind in _PLAIN:
        return value  # type: ignore[no-any-return]
    if kind is Einsum:
        return value.operands, value.output, tuple(value.sizes.items()), value.nest
    if kind is tuple or kind is list:
        return kind, tuple([frozen(v) for v in value])
    if kind is Graph:
        return Graph, id(value)  # bodies and branches live as long as the graph that they are in
    if isinstance(value, Mapping):
        return tuple([(k, frozen(v)) for k, v in value.items()])
    return kind, value
