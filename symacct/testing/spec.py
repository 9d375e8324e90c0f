"""What a pattern means to a loop: the axes of its operands and output; and the orders of its products."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from symacct.pattern import Axis, parse

Tree: TypeAlias = "int | tuple[Tree, Tree]"
"""Which operands are multiplied first, by number from 0: ``((0, 1), 2)``."""


class Spec(NamedTuple):
    """A pattern and what it means: the axes of each operand and of the output, each axis a tuple of names."""

    text: str
    operands: tuple[tuple[Axis, ...], ...]
    output: tuple[Axis, ...]
    names: tuple[str, ...]


def write_spec(operands: Sequence[Sequence[Axis]], output: Sequence[Axis], ellipsis: str | None = None) -> Spec:
    """Write a pattern for axes; the name `ellipsis` is written ``...``.

    Examples
    --------
    >>> write_spec([[("b",), ("h", "d")], [("d",), ()]], [("b",)]).text
    'b (h d), d 1 -> b'

    """

    def shown(axis: Axis) -> str:
        words = ["..." if n == ellipsis else n for n in axis]
        return words[0] if len(words) == 1 else f"({' '.join(words)})" if words else "1"

    sides = [" ".join(shown(axis) for axis in axes) for axes in (*operands, output)]
    names = tuple(dict.fromkeys(n for axes in operands for axis in axes for n in axis))
    text = f"{', '.join(sides[:-1])} -> {sides[-1]}"
    return Spec(text, tuple(tuple(axes) for axes in operands), tuple(output), names)


def spec_of(text: str) -> Spec:
    """Read a pattern; the one thing that loops take from the engine, and only for those who hold a text."""
    parsed = parse(text)
    return Spec(text, parsed.operands, parsed.output, parsed.names)


def left_tree(operands: int) -> Tree:
    """Pairwise from the left: ``((0, 1), 2)``."""
    tree: Tree = 0
    for i in range(1, operands):
        tree = (tree, i)
    return tree


def all_trees(operands: Sequence[int]) -> Iterator[Tree]:
    """Yield every order in which operands can be multiplied pairwise: 1, 3, 15, 105 for 2, 3, 4, 5.

    Examples
    --------
    >>> list(all_trees(range(3)))
    [(0, (1, 2)), ((0, 1), 2), ((0, 2), 1)]

    """
    if len(operands) == 1:
        yield operands[0]
        return
    first, *rest = operands
    for k in range(len(rest)):
        for beside in itertools.combinations(rest, k):
            others = [o for o in rest if o not in beside]
            yield from itertools.product(all_trees([first, *beside]), all_trees(others))


def leaves(tree: Tree) -> Iterator[int]:
    """Yield the operands in an order."""
    if isinstance(tree, int):
        yield tree
    else:
        for side in tree:
            yield from leaves(side)
