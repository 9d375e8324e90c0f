"""Weights that are cast for products, as mixed precision does: a graph with the casts among its operations.

Each weight is cast once, where a product first reads it, and the copy serves all products; what views of the weight
products read, they read of the copy, but for parts of it, which are cast by themselves. A repeat casts a slice of
stacked weights in each turn, and is given the copy of one that all its turns read. So torch's autocast does with
weights; but it caches each copy to the end of the forward pass, where here one that no gradient needs is gone after its
last product (a repeat keeps those of all turns).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from symacct.graph import Graph, Op, Tensor
from symacct.rules import RULES, rule_of

PRODUCTS = ("contraction", "convolution")
Casts: TypeAlias = Mapping[int, Mapping[str, Any]]
"""Inputs of a graph that are cast, each with the attributes of the cast."""


def with_casts(graph: Graph, casts: Casts) -> Graph:
    """Return a graph whose products read copies of some of its inputs; its own tensors keep their ids.

    Examples
    --------
    >>> import symacct as sa
    >>> graph = sa.account(lambda x, w: x @ w, x="b d", w="d k").graph
    >>> [op.label for op in with_casts(graph, {1: {"dtype": "bf16", "source": "fp32"}}).ops]
    ['cast', 'b d, d k -> b k']

    """
    return _Casting(graph, casts).graph


class _Casting:
    """A graph while its products are given copies; `given` of its inputs have one that comes from outside."""

    def __init__(self, graph: Graph, casts: Casts, given: Collection[int] = ()) -> None:
        self.before, self.casts = graph, casts
        self.tensors, self.ops = list(graph.tensors), list[Op]()
        self.makers = {i: op for op in graph.ops for i in op.outputs}
        self.copies = {i: self._add(graph.tensors[i]._replace(name=f"cast of {graph.tensors[i].name}")) for i in given}
        self.inputs = (*graph.inputs, *self.copies.values())
        for i, copy in self.copies.items():
            self.tensors[copy] = self.tensors[copy]._replace(dtype=casts[i]["dtype"])
        for op in graph.ops:
            self._append(self._inside(op) if op.parts else self._product(op))

    @property
    def graph(self) -> Graph:
        return self.before._replace(tensors=tuple(self.tensors), ops=tuple(self.ops), inputs=self.inputs)

    def _add(self, tensor: Tensor, **more: Any) -> int:
        self.tensors.append(tensor._replace(id=len(self.tensors), **more))
        return len(self.tensors) - 1

    def _append(self, op: Op) -> None:
        self.ops.append(op._replace(id=len(self.ops)))

    def _product(self, op: Op) -> Op:
        if rule_of(op).family not in PRODUCTS:
            return op
        inputs = [self._copy(i, op) if self.tensors[i].owner in self.casts else i for i in op.inputs]
        return op._replace(inputs=tuple(inputs))

    def _copy(self, i: int, reader: Op) -> int:
        """Return the copy of a weight or of a view of one, made before `reader` where there is none yet."""
        if i in self.copies:
            return self.copies[i]
        owner, tensor = self.tensors[i].owner, self.tensors[i]
        if i == owner or tensor.numel != self.tensors[owner].numel:  # a part is cast by itself
            attrs, name = self.casts[owner], f"cast of {self.tensors[owner].name}"
            (out,) = RULES["cast"].shape([tensor], attrs)
            made = self._add(tensor, role="act", name=name, dtype=out.dtype, storage=None, strides=out.strides)
            self.copies[i] = made
            self._append(Op(0, "cast", (i,), (made,), None, attrs, reader.scope))
            return made
        view = self.makers[i]
        source = next(x for x in view.inputs if self.tensors[x].owner == owner)
        there = self._copy(source, reader)
        taken = tuple([there if x == source else x for x in view.inputs])
        more = {"dtype": self.casts[owner]["dtype"], "storage": self.tensors[there].owner, "role": "act"}
        self.copies |= {out: self._add(self.tensors[out], **more) for out in view.outputs}
        self._append(view._replace(inputs=taken, outputs=tuple([self.copies[out] for out in view.outputs])))
        return self.copies[i]

    def _inside(self, op: Op) -> Op:
        """Return a repeat or a conditional whose products read copies too."""
        first, sliced = (op.attrs["carry"], op.attrs["xs"]) if op.kind == "repeat" else (1, 0)
        cast = [p for p, i in enumerate(op.inputs) if p >= first and self.tensors[i].owner in self.casts]
        places = [p - len(op.inputs) for p in cast]
        found = [_Casting(part, self._inside_of(part, op, places)).copies for part in op.parts]
        read = {p for part, copies in zip(op.parts, found, strict=True) for p in places if part.inputs[p] in copies}
        whole = [p for p in places if p in read and p >= first + sliced - len(op.inputs)]  # not a slice a turn

        def casting(part: Graph) -> Graph:
            return _Casting(part, self._inside_of(part, op, places), [part.inputs[p] for p in whole]).graph

        return op.with_parts(casting)._replace(inputs=(*op.inputs, *(self._copy(op.inputs[p], op) for p in whole)))

    def _inside_of(self, part: Graph, op: Op, places: Sequence[int]) -> Casts:
        """Return what is cast of the inputs of a graph inside; `places` count from the end, where they are alike."""
        return {part.inputs[p]: self.casts[self.tensors[op.inputs[p]].owner] for p in places}
