"""Random tensors for the inputs of a graph: numbers, masks, and indices that lie inside what they look up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from symacct.eager.dtypes import TORCH_DTYPES
from symacct.errors import SizeError, UnknownOpError, one_of
from symacct.expr import evaluate

Bound = Callable[[Any, list[Any]], Any]
LOOKED_UP: Mapping[str, tuple[int, Bound]] = {
    "embedding": (1, lambda _op, shapes: shapes[0][0]),
    "embedding_backward": (1, lambda op, _shapes: op.attrs["rows"]),
    "gather": (1, lambda op, shapes: shapes[0][op.attrs["axis"]]),
    "gather_backward": (1, lambda op, _shapes: op.attrs["shape"][op.attrs["axis"]]),
    "grouped_matmul": (2, lambda _op, shapes: shapes[1][0]),
    "grouped_matmul_backward_weight": (2, lambda op, _shapes: op.attrs["experts"]),
    "nll_loss": (1, lambda _op, shapes: shapes[0][min(1, len(shapes[0]) - 1)]),
    "nll_loss_backward": (2, lambda _op, shapes: shapes[1][min(1, len(shapes[1]) - 1)]),
    "one_hot": (0, lambda op, _shapes: op.attrs["classes"]),
    "scatter": (1, lambda op, _shapes: op.attrs["shape"][op.attrs["axis"]]),
    "scatter_add": (1, lambda op, shapes: shapes[0][op.attrs["axis"]]),
}
"""Which input of an operation is indices, and the size that they lie below."""

SAME_VALUES = ("cast", "concat", "copy", "detach", "expand", "flip", "permute", "reshape", "roll", "slice", "transfer")
"""Operations that yield the values that they are given."""


def random_input(graph: Any, i: int, sizes: Mapping[str, int], dtype: str, generator: Any) -> Any:
    """Return a random tensor for an input of a graph.

    Raises
    ------
    UnknownOpError
        For a dtype that torch has no random numbers of.

    """
    import torch

    tensor = graph.tensors[i]
    shape = tuple(whole(s, sizes) for s in tensor.shape)
    name = tensor.dtype or dtype
    if name not in TORCH_DTYPES:
        msg = f"no random tensors of {name}; known: {one_of(TORCH_DTYPES)}"
        raise UnknownOpError(msg)
    kind = getattr(torch, TORCH_DTYPES[name])
    if kind == torch.bool:
        return torch.rand(shape, generator=generator) < 0.5
    if not kind.is_floating_point:
        below = min(_bounds(graph, i, sizes), default=2)
        return torch.randint(0, below, shape, generator=generator).to(kind)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(kind)


def whole(size: Any, sizes: Mapping[str, int]) -> int:
    """Return the number that a size is.

    Raises
    ------
    SizeError
        Where it is none: names that must divide do not.

    """
    value = evaluate(size, sizes)
    if type(value) is not int or value < 1:
        msg = f"the size {size} is {value} at these sizes; it must be a whole number of at least 1"
        raise SizeError(msg)
    return value


def _bounds(graph: Any, i: int, sizes: Mapping[str, int]) -> Iterator[int]:
    """Yield what a tensor of indices must lie below, in a graph and in those inside."""
    for op in graph.ops:
        if i not in op.inputs:
            continue
        place, bound = LOOKED_UP.get(op.kind, (-1, None))
        if bound is not None and op.inputs[place] == i:
            yield whole(bound(op, [graph.tensors[t].shape for t in op.inputs]), sizes)
        if op.kind in SAME_VALUES:
            yield from _bounds(graph, op.outputs[0], sizes)
        if op.kind in ("repeat", "cond"):
            given = op.inputs if op.kind == "repeat" else op.inputs[1:]
            for part in op.parts:
                for inner in [inside for inside, outside in zip(part.inputs, given, strict=True) if outside == i]:
                    yield from _bounds(part, inner, sizes)
