"""What stays inside a logical operation, such as the scores of an attention, where one kernel runs all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from symacct.expr import Size
from symacct.graph import Graph, Op


class Spill(NamedTuple):
    """A tensor inside a logical operation, which its kernels write and read where no one kernel runs them all.

    It has a shape of its own and the storage format of a tensor of the graph.
    """

    name: str
    like: int
    shape: tuple[Size, ...]
    writes: int
    reads: int


Spills: TypeAlias = Callable[[Op, Graph], tuple[Spill, ...]]


def spill_nothing(_op: Op, _graph: Graph) -> tuple[Spill, ...]:
    """Run as one kernel."""
    return ()
