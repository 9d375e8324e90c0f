"""What a repeat stacks while a graph runs: the slices where they were made, joined only where one tensor is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any


class Stacked:
    """Slices along a first axis, each a tensor or stacked itself; so autograd keeps what a loop leaves behind."""

    def __init__(self, slices: Sequence[Any]) -> None:
        """Hold slices in order."""
        self.slices = list(slices)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape that they have as one tensor."""
        return (len(self.slices), *self.slices[0].shape)

    def __getitem__(self, i: int) -> Any:
        return self.slices[i]


def joined(value: Any) -> Any:
    """Return a tensor: slices are copied into one."""
    if not isinstance(value, Stacked):
        return value
    import torch

    return torch.stack([joined(x) for x in value.slices])


def taken(x: Any, i: int) -> Any:
    """Return a slice for its only use: stacked ones are no longer held afterwards."""
    if not isinstance(x, Stacked):
        return x[i]
    found, x.slices[i] = x.slices[i], None
    return found


def once(x: Any) -> Any:
    """Return what slices can be taken from without taking them from whoever else holds them."""
    return Stacked(x.slices) if isinstance(x, Stacked) else x


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield the tensors of a value, those of its slices that are still held."""
    if isinstance(value, Stacked):
        for x in value.slices:
            yield from tensors_in(x)
    elif value is not None:
        yield value
