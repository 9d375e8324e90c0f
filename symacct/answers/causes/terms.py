"""A wrong answer that is a sum with a term too few, too many, or one that is not right."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from symacct.answers.algebra import expression, is_opaque
from symacct.answers.causes.case import MOST_TERMS, Case, Monomial
from symacct.answers.causes.factors import is_gated, of_powers, of_ratio
from symacct.answers.causes.growth import of_leading
from symacct.answers.causes.structure import of_limits, of_replaced
from symacct.answers.text.printing import written
from symacct.answers.trees import exchanged, inverse, joined, nodes
from symacct.answers.types import Finding
from symacct.expr import Expr, Number, add, monomial, multiply, terms_of, to_text
from symacct.expr.poly import join, whole
from symacct.expr.tree import Leaf, Node, Tree

Term = tuple[Monomial, Number]
_FUNCTIONS = ("ceil", "floor", "sqrt", "log")


def of_terms(case: Case) -> Iterator[Finding]:
    """Yield how the terms of an answer differ from those of the truth."""
    if case.answer is None or case.right is None:
        return
    answer, right = terms_of(case.answer), terms_of(case.right)
    if max(len(answer), len(right)) > MOST_TERMS or len(right) + len(answer) < 3:
        return
    surplus = [(m, c) for m, c in answer.items() if right.get(m) != c]
    lacking = [(m, c) for m, c in right.items() if answer.get(m) != c]
    common = len(answer) - len(surplus)
    pairs, surplus, lacking = _paired(surplus, lacking)
    if len(pairs) > 3 or not (pairs or common):
        return
    if not pairs:
        yield from _whole_terms(surplus, lacking, case)
        return
    if lacking and not surplus and all(c < 0 or (not m and _grows(pairs)) for m, c in lacking):
        yield from of_leading(case)  # the lower terms were left out as well
    if lacking and not surplus:  # one size for another makes two terms one: H + H for H + G
        yield from (f for f in of_replaced(case) if f.code == "axis_swapped")
    if surplus:
        yield Finding("extra_term", _sum(surplus))
    if lacking:
        yield Finding("missing_term", _named(lacking, case))
    for given, wanted in sorted(pairs, key=lambda p: _distance(p[0][0], p[1][0])):
        yield from _of_pair(given, wanted, case)


def _grows(pairs: list[tuple[Term, Term]]) -> bool:
    """Whether all terms are above a constant for large sizes."""
    return all(sum(Fraction(e) for _, e in wanted[0]) > 0 for _, wanted in pairs)


def _whole_terms(surplus: list[Term], lacking: list[Term], case: Case) -> Iterator[Finding]:
    for given, wanted in product(surplus, lacking):
        if given[0] and not join(given[0], wanted[0]):
            yield Finding("inverted", f"{_text(given)} for {_text(wanted)}")
    if lacking:
        if all(not m or c < 0 for m, c in lacking) and not surplus:
            yield from of_limits(case)
        yield Finding("missing_term", _named(lacking, case))
    if surplus:
        if case.kind == "flops" and all(_has_vocabulary(m, case) for m, _ in surplus):
            yield Finding("embedding_as_matmul", _sum(surplus))
        yield Finding("extra_term", _sum(surplus))


def _has_vocabulary(m: Monomial, case: Case) -> bool:
    return any("vocab" in case.meaning(a).lower() for a, _ in m)


def _paired(surplus: list[Term], lacking: list[Term]) -> tuple[list[tuple[Term, Term]], list[Term], list[Term]]:
    """Pair the terms that are most alike: the same sizes first, then one size apart."""
    pairs: list[tuple[Term, Term]] = []
    for most in (0, 1, 2):
        for given in list(surplus):
            close = [w for w in lacking if _distance(given[0], w[0]) <= most]
            if close and (given[0] or most == 0):
                wanted = min(close, key=lambda w: (_distance(given[0], w[0]), given[1] != w[1]))
                pairs.append((given, wanted))
                surplus, lacking = [t for t in surplus if t != given], [t for t in lacking if t != wanted]
    return pairs, surplus, lacking


def _distance(a: Monomial, b: Monomial) -> int:
    """Return how many powers apart two products are."""
    x, y = dict(a), dict(b)
    return sum(int(abs(Fraction(x.get(n, 0)) - Fraction(y.get(n, 0))) * 2 + 1) // 2 for n in {*x, *y})


def _of_pair(given: Term, wanted: Term, case: Case) -> Iterator[Finding]:
    shown = f"{_text(given)} for {_text(wanted)}"
    if given[0] == wanted[0]:
        if _is_lookup(given, wanted, case):
            yield Finding("embedding_as_matmul", shown)
        if _is_attention(given, wanted, case):
            yield Finding("causal_half")
        if is_gated(Fraction(given[1]) / Fraction(wanted[1]), [a for a, _ in wanted[0]], case):
            yield Finding("gated_ffn", shown)
        yield Finding("term_coefficient", shown)
        return
    powers = join(given[0], tuple((a, -e) for a, e in wanted[0]))
    if not any(is_opaque(a) for a, _ in powers):
        for finding in of_powers(powers, monomial(wanted[0])):
            yield finding._replace(about=f"{finding.about}, in {shown}")
    yield Finding("wrong_term", shown)


def _is_lookup(given: Term, wanted: Term, case: Case) -> bool:
    """Whether a term with the vocabulary doubled: the lookup counted like the head."""
    return _has_vocabulary(wanted[0], case) and case.kind == "flops" and given[1] == 2 * wanted[1]


def _is_attention(given: Term, wanted: Term, case: Case) -> bool:
    return (
        case.kind == "flops"
        and given[1] * 2 == wanted[1]
        and any(e == 2 and not case.is_width(a) for a, e in wanted[0])
    )


def _named(terms: list[Term], case: Case) -> str:
    """Write the terms that are missing, with the part of the derivation that they are."""
    text = _sum(terms)
    total = add(multiply(c, monomial(m)) for m, c in terms)
    for name, part in case.truth.parts:
        if _same(part, total):
            return f"{text} ({name})"
    return text


def _same(part: object, total: Expr) -> bool:
    return isinstance(part, Leaf | Node) and expression(part) == total


def _text(term: Term) -> str:
    return to_text(multiply(whole(Fraction(term[1])), monomial(term[0])))


def _sum(terms: list[Term]) -> str:
    return to_text(add(multiply(c, monomial(m)) for m, c in terms), factored=False)


def of_arguments(case: Case) -> Iterator[Finding]:
    """Yield what is wrong inside of a ceiling, floor, root or logarithm, where all around it is right."""
    whole = case.truth.tree
    for right in nodes(whole, _FUNCTIONS):
        for given in nodes(case.tree, (right.operator,)):
            if not case.equals(exchanged(whole, right, given)):
                continue
            inside = case.of(given.parts[0], right.parts[0])
            for finding in (*of_ratio(inside), *of_terms(inside)):
                yield finding._replace(about=f"{finding.about}, in {written(given)}".lstrip(", "))


def of_divisors(case: Case) -> Iterator[Finding]:
    """Yield how the terms below a fraction differ, where both are one over a sum."""
    upside = case.of(_inverted(case.tree), _inverted(case.truth.tree))
    for finding in of_terms(upside):
        yield finding._replace(about=f"{finding.about}, in one over it")


def _inverted(tree: Tree) -> Tree:
    """Return one over a tree, with what stands below a fraction on top."""
    parts = tree.parts if isinstance(tree, Node) and tree.operator == "*" else (tree,)
    return joined("*", [p.parts[-1] if isinstance(p, Node) and p.operator == "/" else inverse(p) for p in parts])
