"""The parameters of a graph as an optimizer sees them: one tensor a layer, also where the graph stacks the layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from symacct.dtypes import AnyFormat
from symacct.expr import Expr, Size, multiply, product
from symacct.graph import Graph


class Parameter(NamedTuple):
    """A parameter: its name, the shape of one tensor, how many such tensors there are; a format that is its own."""

    name: str
    shape: tuple[Size, ...]
    copies: Expr = 1
    dtype: AnyFormat | None = None

    @property
    def numel(self) -> Expr:
        """The number of elements of all its tensors."""
        return multiply(self.copies, product(self.shape))


def parameters_of(graph: Graph, own: Mapping[str, AnyFormat] | None = None) -> list[Parameter]:
    """Return the parameters of a graph; what a repeat takes by layers is that many tensors.

    Some have a format of their `own`, by name.

    Examples
    --------
    >>> import symacct as sa
    >>> def net(x: "b d", w: "L d d"):
    ...     return sa.repeat("L", lambda x, w: x @ w, x, xs=w)
    >>> parameters_of(sa.account(net, params=["w"]).graph)
    [Parameter(name='w', shape=(d, d), copies=L, dtype=None)]

    """
    out = []
    for i in graph.inputs:
        tensor = graph.tensors[i]
        if tensor.role == "param":
            stacked = _stacked(graph, i)
            copies = product(tensor.shape[:stacked])
            out.append(Parameter(tensor.name, tensor.shape[stacked:], copies, (own or {}).get(tensor.name)))
    return out


def _stacked(graph: Graph, tensor: int) -> int:
    """Return how many leading axes of a tensor count layers: all that use it are repeats that take it apart."""
    depths = []
    for op in graph.ops:
        for place, i in enumerate(op.inputs):
            if i == tensor:
                first, many = (op.attrs["carry"], op.attrs["xs"]) if op.kind == "repeat" else (0, 0)
                taken = first <= place < first + many
                body = op.attrs["body"] if taken else None
                depths.append(1 + _stacked(body, body.inputs[place]) if body else 0)
    return min(depths, default=0)
