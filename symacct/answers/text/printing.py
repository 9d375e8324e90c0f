"""A tree as text in our own notation, in the order it was written: ``2*B*T*D**2``."""

from __future__ import annotations

from symacct.expr.tree import Leaf, Node, Tree

_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4


def written(tree: Tree) -> str:
    """Write a tree as Python and our own reader read it back.

    Examples
    --------
    >>> from symacct.expr.reader import parse
    >>> written(parse("2*B*(D + 1)"))
    '2*B*(D + 1)'

    """
    return _text(tree)[0]


def _text(tree: Tree) -> tuple[str, int]:
    if isinstance(tree, Leaf):
        return tree.text, _ATOM
    if tree.operator == "+":
        return _sum(tree), _SUM
    if tree.operator == "*":
        return _product(tree.parts), _PRODUCT
    if tree.operator == "-":
        return "-" + _at_least(tree.parts[0], _PRODUCT), _SUM
    if tree.operator == "/":
        return _product(tree.parts[:1] if len(tree.parts) > 1 else (), tree.parts[-1:]), _PRODUCT
    if tree.operator == "**":
        return f"{_at_least(tree.parts[0], _ATOM)}**{_at_least(tree.parts[1], _ATOM)}", _POWER
    if tree.operator == "if":
        low, high, first, second = (_text(part)[0] for part in tree.parts)
        return f"{first} if {low} <= {high} else {second}", 0
    inside = ", ".join(_text(part)[0] for part in tree.parts)
    return f"{'O' if tree.operator == 'order' else tree.operator}({inside})", _ATOM


def _at_least(tree: Tree, level: int) -> str:
    text, own = _text(tree)
    return text if own >= level else f"({text})"


def _sum(tree: Node) -> str:
    out = ""
    for part in tree.parts:
        minus = isinstance(part, Node) and part.operator == "-"
        text = _at_least(part.parts[0] if minus and isinstance(part, Node) else part, _PRODUCT)
        out += (f" {'-' if minus else '+'} " if out else "-" if minus else "") + text
    return out


def _product(parts: tuple[Tree, ...], below: tuple[Tree, ...] = ()) -> str:
    above = [p for p in parts if not _divides(p)]
    under = [*(p.parts[0] for p in parts if isinstance(p, Node) and _divides(p)), *below]
    top = "*".join(_at_least(p, _PRODUCT) for p in above) or "1"
    if not under:
        return top
    factors = [f for u in under for f in (u.parts if isinstance(u, Node) and u.operator == "*" else (u,))]
    if len(factors) == 1:
        return f"{top}/{_at_least(factors[0], _POWER)}"
    return f"{top}/({_product(tuple(factors))})"


def _divides(tree: Tree) -> bool:
    return isinstance(tree, Node) and tree.operator == "/" and len(tree.parts) == 1
