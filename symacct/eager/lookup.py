"""Rows and places picked by index, in torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def embedding(table: Any, index: Any) -> Any:
    """Look rows up."""
    return table[index]


def embedding_backward(grad: Any, index: Any, *, rows: int) -> Any:
    """Add rows up where they were looked up."""
    width = grad.shape[index.ndim :]
    return grad.new_zeros((rows, *width)).index_add(0, index.reshape(-1), grad.reshape(-1, *width))


def gather(x: Any, index: Any, *, axis: int) -> Any:
    """Pick elements along an axis."""
    return x.gather(axis, index)


def gather_backward(grad: Any, index: Any, *, axis: int, shape: Sequence[int]) -> Any:
    """Add elements up where they were picked."""
    return grad.new_zeros(tuple(shape)).scatter_add(axis, index, grad)


def scatter(grad: Any, index: Any, *, axis: int, shape: Sequence[int]) -> Any:
    """Put elements among zeros."""
    return grad.new_zeros(tuple(shape)).scatter(axis, index, grad)


def scatter_add(x: Any, index: Any, source: Any, *, axis: int) -> Any:
    """Add elements to places of x."""
    return x.scatter_add(axis, index, source)


def one_hot(index: Any, *, classes: int) -> Any:
    """Make a row of zeros and a one for each index."""
    import torch

    return torch.nn.functional.one_hot(index, classes)


KINDS: dict[str, Callable[..., Any]] = {
    "embedding": embedding,
    "embedding_backward": embedding_backward,
    "gather": gather,
    "gather_backward": gather_backward,
    "one_hot": one_hot,
    "scatter": scatter,
    "scatter_add": scatter_add,
}
