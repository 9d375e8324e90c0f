"""A pattern and sizes -> a `Graph` of einsum operations in a contraction order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias, cast

from symacct.errors import ConventionError, nearest, one_of
from symacct.expr import Size, name, product
from symacct.graph import Einsum, Graph, Op, Tensor
from symacct.pattern import MAX_OPERANDS, Pattern

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
        hint = nearest(str(order), ORDERS) or " To size an axis called 'order', use sizes={'order': ...}."
        msg = f"unknown order {order!r}; known: {one_of(ORDERS)}.{hint}"
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


class Products(NamedTuple):
    """A pattern as einsum operations in an order: all that its work depends on. Its `Graph` is made when asked for."""

    pattern: Pattern
    sizes: Mapping[str, Size]
    ops: tuple[Op, ...]

    def graph(self) -> Graph:
        """Return the graph: the operations with the tensors between them."""
        shapes = _shapes(self.pattern, self.sizes)
        count = len(self.pattern.terms)
        tensors = [Tensor(i, shapes[i], "input", _OPERANDS[i]) for i in range(count)]
        for op in self.ops[:-1]:
            assert op.einsum is not None
            shape = tuple([self.sizes[n] for n in op.einsum.output])
            tensors.append(Tensor(len(tensors), shape, "act", f"step {op.id + 1}"))
        tensors.append(Tensor(len(tensors), shapes[-1], "output", "output"))
        return Graph(tuple(tensors), self.ops, tuple(range(count)), (len(tensors) - 1,), self.pattern.conditions)


def products(pattern: Pattern, sizes: Mapping[str, Size], tree: Tree | None) -> Products:
    """Return the operations of a pattern: one a pair of `tree`, or one loop nest for None.

    A pattern with one or two operands is one operation.
    """
    sizes = full_sizes(pattern, sizes)
    count = len(pattern.terms)
    if tree is None or count < 3:
        nest = Einsum(pattern.terms, pattern.result, sizes, tree is None)
        return Products(pattern, sizes, (Op(0, "einsum", tuple(range(count)), (count,), nest),))
    found = pairs(pattern.terms, pattern.result, sizes, tree)
    ops = tuple([Op(i, "einsum", taken, (count + i,), e) for i, (taken, e) in enumerate(found)])
    return Products(pattern, sizes, ops)


_OPERANDS = tuple(f"operand {i}" for i in range(1, MAX_OPERANDS + 1))


def _shapes(pattern: Pattern, sizes: Mapping[str, Size]) -> list[tuple[Size, ...]]:
    """Return the shapes of the operands and the output; a composite axis is the product of its names."""
    if pattern.layout is None:
        return [tuple([sizes[n] for n in term]) for term in (*pattern.terms, pattern.result)]
    return [tuple(cast("Size", product([sizes[n] for n in axis])) for axis in axes) for axes in pattern.layout]


def pairs(
    axes: tuple[tuple[str, ...], ...], out: tuple[str, ...], sizes: Mapping[str, Size], tree: Tree
) -> list[tuple[tuple[int, ...], Einsum]]:
    """Return one product a pair of `tree`: which tensors it takes, results numbered after the operands, and its einsum.

    A pair keeps the axes that the output or another operand still needs.
    """
    uses = {n: sum(n in operand for operand in axes) + (n in out) for operand in axes for n in operand}
    found: list[tuple[tuple[int, ...], Einsum]] = []

    def visit(node: Tree) -> tuple[int, tuple[str, ...], dict[str, int]]:
        if isinstance(node, int):
            return node, axes[node], dict.fromkeys(axes[node], 1)
        (a, axes_a, inside_a), (b, axes_b, inside_b) = visit(node[0]), visit(node[1])
        inside = {n: inside_a.get(n, 0) + inside_b.get(n, 0) for n in (*inside_a, *inside_b)}
        last = len(found) == len(axes) - 2
        kept = out if last else tuple(n for n in dict.fromkeys((*axes_a, *axes_b)) if inside[n] < uses[n])
        found.append(((a, b), Einsum((axes_a, axes_b), kept, sizes)))
        return len(axes) + len(found) - 1, kept, inside

    visit(tree)
    return found
