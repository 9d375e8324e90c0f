"""Trees of formulas: what stands in one, and one made from others."""

from __future__ import annotations

from collections.abc import Iterator

from symacct.expr.tree import Leaf, Node, Tree

ONE = Leaf("number", "1", 0)


def negated(tree: Tree) -> Tree:
    """Return a tree with the other sign."""
    return Node("-", (tree,), tree.start)


def inverse(tree: Tree) -> Tree:
    """Return one over a tree."""
    return Node("/", (tree,), tree.start)


def joined(operator: str, parts: list[Tree]) -> Tree:
    """Return a flat sum or product of parts; of none, the product 1."""
    flat: list[Tree] = []
    for part in parts:
        flat += part.parts if isinstance(part, Node) and part.operator == operator else (part,)
    if not flat:
        return ONE
    return flat[0] if len(flat) == 1 else Node(operator, tuple(flat), flat[0].start)


def halved(tree: Tree) -> Tree:
    """Return half of a tree."""
    return joined("*", [tree, inverse(Leaf("number", "2", tree.start))])


def names_in(tree: Tree) -> list[str]:
    """Return every name of a tree, as often as it stands there."""
    return [leaf.text for leaf in leaves(tree) if leaf.kind == "name"]


def numbers_in(tree: Tree) -> list[Leaf]:
    """Return every number of a tree."""
    return [leaf for leaf in leaves(tree) if leaf.kind == "number"]


def leaves(tree: Tree) -> Iterator[Leaf]:
    """Yield the leaves of a tree in order."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for part in tree.parts:
            yield from leaves(part)


def nodes(tree: Tree, operators: tuple[str, ...]) -> list[Node]:
    """Return the nodes of a tree with one of some operators."""
    if isinstance(tree, Leaf):
        return []
    inside = [n for part in tree.parts for n in nodes(part, operators)]
    return [tree, *inside] if tree.operator in operators else inside


def replaced(tree: Tree, name: str, value: Tree) -> Tree:
    """Return a tree with another in the place of a name."""
    if isinstance(tree, Leaf):
        return value if tree.kind == "name" and tree.text == name else tree
    return Node(tree.operator, tuple(replaced(p, name, value) for p in tree.parts), tree.start)


def exchanged(tree: Tree, old: Tree, new: Tree) -> Tree:
    """Return a tree with one of its own parts, that very one, exchanged for another."""
    if tree is old:
        return new
    if isinstance(tree, Leaf):
        return tree
    return Node(tree.operator, tuple(exchanged(p, old, new) for p in tree.parts), tree.start)
