"""The shape of a rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from symacct.conventions import Work
from symacct.expr import Size
from symacct.graph import Graph, Op


@dataclass(frozen=True, slots=True)
class Read:
    """What an operation touches of a tensor: the axes it visits, and which of them form a row that is summed."""

    tensor: int
    shape: tuple[Size, ...]
    row: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """What one kind of operation executes and moves."""

    work: Callable[[Op, Graph], Work]
    reads: Callable[[Op, Graph], tuple[Read, ...]]
    writes: Callable[[Op, Graph], tuple[Read, ...]]
