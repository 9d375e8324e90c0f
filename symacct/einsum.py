"""A pattern and sizes -> a `Graph` of einsum operations in a contraction order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias, cast

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


class Product(NamedTuple):
    """One operation of a lowered pattern: which tensors it takes, their axes, and the axes it keeps."""

    inputs: tuple[int, ...]
    operands: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def lower(pattern: Pattern, sizes: Mapping[str, Size], tree: Tree | None) -> Graph:
    """Build the graph of a pattern: one operation a pair of `tree`, or one loop nest for None.

    A pattern with one or two operands is one operation.
    """
    sizes = full_sizes(pattern, sizes)
    shapes = _shapes(pattern, sizes)
    tensors = [Tensor(i, shapes[i], "input", f"operand {i + 1}") for i in range(len(pattern.terms))]
    count = len(tensors)
    ops: list[Op] = []
    products = _products(pattern, tree)
    for i, (inputs, operands, out) in enumerate(products, 1):
        last = i == len(products)
        made = len(tensors)
        shape = shapes[-1] if last else tuple([sizes[n] for n in out])
        tensors.append(Tensor(made, shape, "output" if last else "act", "output" if last else f"step {i}"))
        ops.append(Op(i - 1, "einsum", inputs, (made,), Einsum(operands, out, sizes, tree is None)))
    return Graph(tuple(tensors), tuple(ops), tuple(range(count)), (len(tensors) - 1,), pattern.conditions)


def _shapes(pattern: Pattern, sizes: Mapping[str, Size]) -> list[tuple[Size, ...]]:
    """Return the shapes of the operands and the output; a composite axis is the product of its names."""
    if pattern.layout is None:
        return [tuple([sizes[n] for n in term]) for term in (*pattern.terms, pattern.result)]
    return [tuple(cast("Size", product([sizes[n] for n in axis])) for axis in axes) for axes in pattern.layout]


def _products(pattern: Pattern, tree: Tree | None) -> list[Product]:
    axes, out = pattern.terms, pattern.result
    if tree is None or len(axes) < 3:
        return [Product(tuple(range(len(axes))), axes, out)]
    return _pairs(pattern.names, axes, out, tree)


def _pairs(
    names: tuple[str, ...], axes: tuple[tuple[str, ...], ...], out: tuple[str, ...], tree: Tree
) -> list[Product]:
    """Return one product a pair; a pair keeps the axes that the output or another operand still needs."""
    uses = {n: sum(n in operand for operand in axes) + (n in out) for n in names}
    products: list[Product] = []

    def visit(node: Tree) -> tuple[int, tuple[str, ...], dict[str, int]]:
        if isinstance(node, int):
            return node, axes[node], dict.fromkeys(axes[node], 1)
        (a, axes_a, inside_a), (b, axes_b, inside_b) = visit(node[0]), visit(node[1])
        inside = {n: inside_a.get(n, 0) + inside_b.get(n, 0) for n in (*inside_a, *inside_b)}
        last = len(products) == len(axes) - 2
        kept = out if last else tuple(n for n in dict.fromkeys((*axes_a, *axes_b)) if inside[n] < uses[n])
        products.append(Product((a, b), (axes_a, axes_b), kept))
        return len(axes) + len(products) - 1, kept, inside

    visit(tree)
    return products
