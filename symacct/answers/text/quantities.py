"""A tree with units in it -> a tree in one unit: GB become bytes, days seconds, and both the unit of the question."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, takewhile
from typing import NamedTuple

from symacct.answers.text.tokens import Token
from symacct.answers.text.units import Unit, read_unit, unit_of
from symacct.answers.text.vocabulary import CONDITIONS, PER
from symacct.answers.trees import joined
from symacct.errors import AnswerError
from symacct.expr.tree import Leaf, Node, Tree

Dims = tuple[tuple[str, int], ...]


class Settled(NamedTuple):
    """A tree without units, the unit that it was written in, and the dimensions of that."""

    tree: Tree
    unit: str = ""
    dims: Dims = ()
    per: str = ""


def settle(tree: Tree, *, convert: bool = True) -> Settled:
    """Take the units out of a tree, each as a factor; `convert=False` leaves the numbers as they were written.

    Raises
    ------
    AnswerError
        For sums of unlike units, and for units that are no factor.

    """
    if isinstance(tree, Leaf):
        if tree.kind != "unit":
            return Settled(tree)
        unit = read_unit(tree.text) or Unit(tree.text, Fraction(1))
        factor = unit.factor if convert else Fraction(1)
        return Settled(_number(factor, tree.start), tree.text, unit.dims, unit.per)
    parts = [settle(part, convert=convert) for part in tree.parts]
    if not any(p.unit for p in parts):
        return Settled(Node(tree.operator, tuple(p.tree for p in parts), tree.start) if _changed(tree, parts) else tree)
    if tree.operator == "*":
        return _product(parts)
    if tree.operator in ("+", "min", "max"):
        return _sum(tree, parts, convert=convert)
    if tree.operator in ("-", "ceil", "floor", "order"):
        return parts[0]._replace(tree=Node(tree.operator, (parts[0].tree,), tree.start))
    if tree.operator == "/":
        below = parts[0]
        return Settled(
            Node("/", (below.tree,), tree.start), f"1/{below.unit}", tuple((n, -p) for n, p in below.dims), below.per
        )
    raise AnswerError(
        f"cannot read the answer: a unit ({next(p.unit for p in parts if p.unit)}) inside {tree.operator}"
    )


def _changed(tree: Node, parts: list[Settled]) -> bool:
    return any(a.tree is not b for a, b in zip(parts, tree.parts, strict=True))


def _number(value: Fraction, start: int) -> Tree:
    above: Tree = Leaf("number", str(value.numerator), start)
    if value.denominator == 1:
        return above
    return Node("*", (above, Node("/", (Leaf("number", str(value.denominator), start),), start)), start)


def _product(parts: list[Settled]) -> Settled:
    dims: dict[str, int] = {}
    for part in parts:
        for name, power in part.dims:
            dims[name] = dims.get(name, 0) + power
    trees = [p.tree for p in parts if not (p.unit and p.tree == Leaf("number", "1", p.tree.start))]
    unit = " ".join(p.unit for p in parts if p.unit).replace(" 1/", "/")
    per = next((p.per for p in parts if p.per), "")
    return Settled(joined("*", trees), unit, tuple(sorted((n, p) for n, p in dims.items() if p)), per)


def _sum(tree: Node, parts: list[Settled], *, convert: bool) -> Settled:
    """Add terms of one unit; a unit behind the last term alone is meant for all of them."""
    with_unit = [p for p in parts if p.unit and p.dims != (("share", 1),)]
    trees = tuple(p.tree for p in parts)
    if not with_unit:
        return Settled(Node(tree.operator, trees, tree.start))
    first = with_unit[0]
    if any(p.dims != first.dims for p in with_unit):
        if len({_seconds(p.dims) for p in with_unit}) == 1 and _seconds(first.dims):  # n elements over bytes a second
            return Settled(Node(tree.operator, trees, tree.start), first.unit, _seconds(first.dims), first.per)
        raise AnswerError(f"cannot read the answer: {first.unit} and {with_unit[-1].unit} in one sum")
    if len(with_unit) == len(parts):
        return first._replace(tree=Node(tree.operator, trees, tree.start))
    unit = read_unit(first.unit)
    if unit and unit.factor == 1 and len(with_unit) < len(parts) and not parts[-1].unit:
        return first._replace(tree=Node(tree.operator, trees, tree.start))
    if not parts[-1].unit or len(with_unit) > 1:
        raise AnswerError(f"cannot read the answer: some terms have the unit {first.unit}, others none")
    factor = _number(unit.factor if unit and convert else Fraction(1), tree.start)
    scaled = [p.tree if p.unit else joined("*", [p.tree, factor]) for p in parts]
    return first._replace(tree=Node(tree.operator, tuple(scaled), tree.start))


def added_up(tokens: list[Token]) -> list[Token]:
    """Return tokens with a plus between quantities of one kind in falling units: ``2 h 30 min``."""
    numbers, units = tokens[::2], [unit_of(t.text) for t in tokens[1::2]]
    known = [u for u in units if u is not None]
    pairs = len(units) > 1 and len(numbers) == len(units) == len(known)
    if not pairs or any(t.kind != "number" for t in numbers) or any(t.kind != "unit" for t in tokens[1::2]):
        return tokens
    if any(a.dims != b.dims or a.factor <= b.factor for a, b in pairwise(known)) or not known[0].dims:
        return tokens
    out = tokens[:2]
    for number, unit in zip(tokens[2::2], tokens[3::2], strict=True):
        out += [number._replace(kind="sign", text="+"), number, unit]
    return out


def per_behind(tokens: list[Token]) -> list[Token]:
    """Put ``per parameter`` behind the amount it stands before, and before a condition."""
    size = 0
    if tokens and tokens[0].text.lower() in PER:
        nouns = takewhile(lambda t: t.kind == "word" and (u := unit_of(t.text)) is not None and not u.dims, tokens[1:])
        size = 1 + len(list(nouns))
    end = next((i for i, t in enumerate(tokens) if i > size and t.text.lower() in CONDITIONS), len(tokens))
    return [*tokens[size:end], tokens[0], tokens[size - 1], *tokens[end:]] if 1 < size < end else tokens


def _seconds(dims: Dims) -> Dims:
    return tuple((name, power) for name, power in dims if name == "s")


def in_unit_of(settled: Settled, wanted: Unit | None) -> Settled:
    """Count in the question's unit instead of the base unit."""
    if wanted and _is_rate(settled, wanted):
        settled = settled._replace(dims=wanted.dims)
    if wanted is None or not settled.unit or settled.dims != wanted.dims or wanted.factor == 1:
        return settled
    return settled._replace(tree=joined("*", [settled.tree, Node("/", (_number(wanted.factor, 0),), 0)]))


def _is_rate(settled: Settled, wanted: Unit) -> bool:
    """Whether TFLOPS stands for TFLOP/s, also over bytes a second, or hours for GPU-hours, as people write."""
    dims = dict(settled.dims)
    if {**dims, "device": 1} == dict(wanted.dims) and "s" in dims:
        return True
    a_second = dims.get("s", 0) - 1
    rate = tuple(sorted((n, p) for n, p in {**dims, "s": a_second}.items() if p))
    return rate == wanted.dims and "flops" in settled.unit.lower()
