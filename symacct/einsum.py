"""A pattern and sizes -> a `Graph` of einsum operations in a contraction order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from symacct.errors import ConventionError, one_of
from symacct.expr import Size, name, product
from symacct.graph import Einsum, Graph, Op, Tensor
from symacct.pattern import Pattern

Order: TypeAlias = Literal["left", "best", "naive"]
Tree: TypeAlias = "int | tuple[Tree, Tree]"
"""Which operands are multiplied first, by number from 0: ``((0, 1), 2)``."""

ORDERS = ("left", "best", "naive")


def check_order(order: str) -> None:
    """Check the name of an order.

    Raises
    ------
    ConventionError
        Lists the known ones; and what to do where an axis of that name was meant.

    """
    if order not in ORDERS:
        hint = "to size an axis called 'order', use sizes={'order': ...}"
        msg = f"unknown order {order!r}; known: {one_of(ORDERS)} ({hint})"
        raise ConventionError(msg)


def full_sizes(pattern: Pattern, sizes: Mapping[str, Size]) -> dict[str, Size]:
    """Return a size for every name of a pattern: the given one, else the name itself."""
    return {n: sizes[n] if n in sizes else name(n) for n in pattern.names}


def left_tree(operands: int) -> Tree:
    """Return the order that torch runs without opt_einsum: pairwise from the left."""
    tree: Tree = 0
    for i in range(1, operands):
        tree = (tree, i)
    return tree


def lower(pattern: Pattern, sizes: Mapping[str, Size], tree: Tree | None) -> Graph:
    """Build the graph of a pattern: one operation a pair of `tree`, or one loop nest for None.

    A pattern with one or two operands is one operation.
    """
    sizes = full_sizes(pattern, sizes)
    build = _Builder(pattern, sizes, nest=tree is None)
    axes = [tuple(n for axis in operand for n in axis) for operand in pattern.operands]
    out = tuple(n for axis in pattern.output for n in axis)
    if tree is None or len(axes) < 3:
        build.op(tuple(range(len(axes))), tuple(axes), out, last=True)
    else:
        build.pairs(tree, axes, out)
    return build.graph()


class _Builder:
    """Collects tensors and operations while a pattern is lowered."""

    def __init__(self, pattern: Pattern, sizes: dict[str, Size], *, nest: bool) -> None:
        self.pattern = pattern
        self.sizes = sizes
        self.tensors = [Tensor(i, self.shape(o), "input", f"operand {i + 1}") for i, o in enumerate(pattern.operands)]
        self.ops: list[Op] = []
        self.nest = nest

    def shape(self, axes: tuple[tuple[str, ...], ...]) -> tuple[Size, ...]:
        return tuple([self.sizes[a[0]] if len(a) == 1 else product([self.sizes[n] for n in a]) for a in axes])  # type: ignore[misc]

    def pairs(self, tree: Tree, axes: list[tuple[str, ...]], out: tuple[str, ...]) -> None:
        """Add one operation a pair; a pair keeps the axes that the output or another operand still needs."""
        uses = {n: sum(n in operand for operand in axes) + (n in out) for n in self.sizes}

        def visit(node: Tree, *, last: bool) -> tuple[int, tuple[str, ...], dict[str, int]]:
            if isinstance(node, int):
                return node, axes[node], dict.fromkeys(axes[node], 1)
            (a, axes_a, inside_a), (b, axes_b, inside_b) = (visit(part, last=False) for part in node)
            inside = {n: inside_a.get(n, 0) + inside_b.get(n, 0) for n in (*inside_a, *inside_b)}
            kept = out if last else tuple(n for n in dict.fromkeys((*axes_a, *axes_b)) if inside[n] < uses[n])
            return self.op((a, b), (axes_a, axes_b), kept, last=last), kept, inside

        visit(tree, last=True)

    def op(
        self,
        inputs: tuple[int, ...],
        operands: tuple[tuple[str, ...], ...],
        out: tuple[str, ...],
        *,
        last: bool,
    ) -> int:
        shape = self.shape(self.pattern.output if last else tuple((n,) for n in out))
        made = len(self.tensors)
        self.tensors.append(
            Tensor(made, shape, "output" if last else "act", "output" if last else f"step {len(self.ops) + 1}")
        )
        names = dict.fromkeys(n for operand in operands for n in operand)
        einsum = Einsum(
            operands,
            out,
            self.sizes if len(names) == len(self.sizes) else {n: self.sizes[n] for n in names},
            self.nest,
        )
        self.ops.append(Op(len(self.ops), "einsum", inputs, (made,), einsum))
        return made

    def graph(self) -> Graph:
        inputs = tuple(range(len(self.pattern.operands)))
        return Graph(tuple(self.tensors), tuple(self.ops), inputs, (len(self.tensors) - 1,), self.pattern.conditions)
