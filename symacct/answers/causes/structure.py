"""A wrong answer whose shape differs: a sum for a maximum, a limit for the exact form, two sizes swapped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from symacct.answers.algebra import is_opaque
from symacct.answers.causes.case import Case
from symacct.answers.causes.factors import of_number, of_ratio
from symacct.answers.limits import same_limit
from symacct.answers.text.printing import written
from symacct.answers.trees import ONE, exchanged, joined, names_in, negated, nodes, replaced
from symacct.answers.types import Finding
from symacct.errors import SymacctError
from symacct.expr import Expr, monomial, multiply, product, split_content, terms_of
from symacct.expr.tree import Leaf, Node, Tree

_OTHER = {"max": "min", "min": "max"}
_MOST_SYMBOLS = 10


def of_extremes(case: Case) -> Iterator[Finding]:
    """Yield how an answer differs from a truth with a minimum or maximum in it, or the other way round."""
    for node in nodes(case.truth.tree, ("max", "min")):
        whole = case.truth.tree
        other = Node(_OTHER[node.operator], node.parts, 0)
        if nodes(case.tree, ("max", "min")) and case.equals(exchanged(whole, node, other)):
            yield Finding("max_for_min")
        if case.equals(exchanged(whole, node, joined("+", list(node.parts)))):
            yield Finding("sum_for_max")
        for part in node.parts:
            if case.equals(exchanged(whole, node, part)):
                yield Finding("branch_only", written(part))
            elif (c := case.constant_ratio(exchanged(whole, node, part))) and c.denominator <= 12 >= c.numerator:
                yield Finding("branch_only", written(part))
                yield from of_number(c, case)
    yield from _of_branches(case)
    if nodes(case.tree, ("max",)):
        yield from of_larger(case)


def of_larger(case: Case) -> Iterator[Finding]:
    """Yield the larger part, where all parts add up."""
    for node in nodes(case.truth.tree, ("+",)):
        if case.equals(exchanged(case.truth.tree, node, Node("max", node.parts, 0))):
            yield Finding("max_for_sum")


def _of_branches(case: Case) -> Iterator[Finding]:
    """Yield what is wrong with one side of a minimum or maximum whose other sides are right."""
    given, wanted = case.tree, case.truth.tree
    if not (isinstance(given, Node) and isinstance(wanted, Node) and given.operator == wanted.operator):
        return
    if given.operator not in _OTHER or len(given.parts) != len(wanted.parts):
        return
    lacking = list(wanted.parts)
    strange: list[Tree] = []
    for part in given.parts:
        same = next((w for w in lacking if case.of(part, w).answer == case.of(part, w).right), None)
        if same is None:
            strange.append(part)
        else:
            lacking.remove(same)
    for part, right in zip(strange, lacking, strict=True):
        for finding in of_ratio(case.of(part, right)):
            yield finding._replace(about=f"{finding.about}, in {written(part)}".lstrip(", "))


def of_rounding(case: Case) -> Iterator[Finding]:
    """Yield a ceiling or floor that was left out or taken for the other."""
    for node in nodes(case.truth.tree, ("ceil", "floor")):
        other = Node("floor" if node.operator == "ceil" else "ceil", node.parts, 0)
        if case.equals(exchanged(case.truth.tree, node, node.parts[0])) or case.equals(
            exchanged(case.truth.tree, node, other)
        ):
            yield Finding("rounding")


def of_swaps(case: Case) -> Iterator[Finding]:
    """Yield two sizes that are swapped."""
    tree = case.truth.tree
    names = _names(case)
    for a, b in combinations(names, 2):
        swapped = replaced(replaced(replaced(tree, a, _leaf("\0")), b, _leaf(a)), "\0", _leaf(b))
        if case.equals(swapped):
            yield (
                Finding("inverted", f"{a} and {b}") if _opposed(tree, a, b) else Finding("axis_swapped", f"{a} and {b}")
            )


def of_steps(case: Case) -> Iterator[Finding]:
    """Yield N taken for N - 1."""
    for a in _names(case):
        if case.equals(replaced(case.truth.tree, a, joined("+", [_leaf(a), ONE]))):
            yield Finding("off_by_one", f"{a} for {a} - 1")


def of_replaced(case: Case) -> Iterator[Finding]:
    """Yield a size that is left out, or taken for another."""
    tree = case.truth.tree
    for a in _names(case):
        if case.equals(replaced(tree, a, ONE)):
            yield Finding("axis_forgotten", a)
        if case.equals(replaced(tree, a, joined("+", [_leaf(a), negated(ONE)]))):
            yield Finding("off_by_one", f"{a} - 1 for {a}")
        for b in case.names:
            if a != b and case.equals(replaced(tree, a, _leaf(b))):
                yield Finding("axis_swapped", f"{b} for {a}")


def _names(case: Case) -> list[str]:
    inside = set(names_in(case.truth.tree))
    return [n for n in case.names if n in inside][:_MOST_SYMBOLS]


def _opposed(tree: Tree, a: str, b: str) -> bool:
    """Whether one of two sizes stands above and the other below."""
    below = {n for node in nodes(tree, ("/",)) for n in names_in(node.parts[-1])}
    return (a in below) != (b in below)


def of_limits(case: Case) -> Iterator[Finding]:
    """Yield an answer that is only what the truth tends to, as all sizes or one of them grow."""
    growing = tuple(dict.fromkeys(names_in(case.truth.tree)))
    if case.mode != "exact" or not growing:
        return
    gone = tuple(g for g in growing if g not in names_in(case.tree))
    try:
        for grows in (growing, gone, *((g,) for g in gone)):
            if grows and same_limit(case.tree, case.truth.tree, case.names, grows):
                yield Finding("leading_term_only")
                return
    except SymacctError:
        return


def of_dropped(case: Case) -> Iterator[Finding]:
    """Yield a factor or divisor of the truth that was left out, or put in twice."""
    whole = case.truth.tree
    below = {id(node) for over in nodes(whole, ("/",)) for node in nodes(over.parts[-1], ("*",))}
    for node in nodes(whole, ("*",)):
        for i, part in enumerate(node.parts):
            if (isinstance(part, Leaf) and part.kind == "number") or _has_one(part):
                continue
            divides = isinstance(part, Node) and part.operator == "/"
            shown = written(part.parts[0] if divides and isinstance(part, Node) else part)
            divides ^= id(node) in below
            rest = node.parts[:i] + node.parts[i + 1 :]
            if case.equals(exchanged(whole, node, joined("*", list(rest)))):
                yield Finding("division_forgotten" if divides else "axis_forgotten", shown)
            if case.equals(exchanged(whole, node, joined("*", [*node.parts, part]))):
                yield Finding("divided_twice" if divides else "axis_twice", shown)


def _has_one(part: Tree) -> bool:
    """Whether a factor is one and something: without it, terms are missing."""
    return isinstance(part, Node) and part.operator == "+" and any(written(p) == "1" for p in part.parts)


def of_products(case: Case) -> Iterator[Finding]:
    """Yield a sum taken for a product, or a product for a sum."""
    if _is_sum_of_shares(case):
        yield Finding("sum_for_product")
    if case.answer is None or case.right is None or len(terms_of(case.right)) < 2:
        return
    if () in terms_of(case.right):  # times one is a term dropped
        return
    content, common, rest = split_content(case.right)
    shared = [content, monomial(common), *_factors(rest)]
    if product(_factors(case.right)) == case.answer or (all(terms_of(rest)) and product(shared) == case.answer):
        yield Finding("product_for_sum")


def _factors(x: Expr) -> list[Expr]:
    """Return the terms of a sum as expressions."""
    return [multiply(c, monomial(m)) for m, c in terms_of(x).items()]


def _is_sum_of_shares(case: Case) -> bool:
    """Whether each term of an answer is part of the one product that the truth is: 2BD + 2DK for 2BDK."""
    if case.answer is None or case.right is None or len(terms_of(case.right)) != 1 or len(terms_of(case.answer)) < 2:
        return False
    (right,) = terms_of(case.right)
    wanted = dict(right)
    if any(is_opaque(n) for n in wanted):
        return False
    shares = [dict(m) for m in terms_of(case.answer)]
    return all(s and s != wanted and all(abs(wanted.get(n, 0)) == e for n, e in s.items()) for s in shares)


def _leaf(name: str) -> Leaf:
    return Leaf("name", name, 0)
