"""A wrong answer that is the truth times something: a number, or powers of the sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

from symacct.answers.algebra import is_opaque
from symacct.answers.causes.case import Case, Monomial, ratio_of
from symacct.answers.text.printing import written
from symacct.answers.trees import inverse, names_in
from symacct.answers.types import Finding
from symacct.expr import Expr, Number, monomial, terms_of, to_text
from symacct.expr.tree import Leaf, Node, Tree
from symacct.units.spelling import DAY

PREFIXES = {
    Fraction(1024, 1000) ** k: words
    for k, words in enumerate(("kB and KiB", "MB and MiB", "GB and GiB", "TB and TiB"), 1)
}
"""By how much binary prefixes are above decimal ones."""
TIMES = {
    Fraction(DAY): "days and seconds",
    Fraction(24): "days and hours",
    Fraction(3600): "hours and seconds",
    Fraction(60): "minutes",
    Fraction(1440): "days and minutes",
    Fraction(7): "weeks and days",
    Fraction(36525, 100): "years and days",
    Fraction(365): "years and days",
    Fraction(876600, 100): "years and hours",
}


def of_ratio(case: Case) -> Iterator[Finding]:
    """Yield what the ratio of an answer to the truth says."""
    if case.answer is None or case.right is None:
        return
    yield from _of_inverse(case)
    yield from _of_roots(case)
    found = ratio_of(case.answer, case.right)
    if found is None:
        if (constant := case.constant_ratio(case.truth.tree)) and (root := simple_root(constant)):
            yield Finding("factor", root)
        return
    number, powers = found
    if not powers:
        yield from of_number(number, case)
        return
    yield from of_powers(powers, case.right)
    if number != 1:
        yield from of_number(number, case)


def _of_inverse(case: Case) -> Iterator[Finding]:
    """Yield an inverted ratio, and by what it is off besides."""
    if names_in(case.truth.tree) and (c := case.constant_ratio(inverse(case.truth.tree))) and simple_root(c):
        yield Finding("inverted")
        yield from of_number(c, case)


def _of_roots(case: Case) -> Iterator[Finding]:
    """Yield a root that was left out, or taken once too often."""
    two = Leaf("number", "2", 0)
    if has_root(case.truth.tree) and case.constant_ratio(Node("**", (case.truth.tree, two), 0)):
        yield Finding("root_forgotten")
    if has_root(case.tree) and case.constant_ratio(Node("sqrt", (case.truth.tree,), 0)):
        yield Finding("root_extra")


def has_root(tree: Tree) -> bool:
    """Whether a tree has a square root in it."""
    if isinstance(tree, Leaf):
        return False
    if tree.operator == "sqrt" or (tree.operator == "**" and written(tree.parts[1]) in ("0.5", "1/2", ".5")):
        return True
    return any(has_root(part) for part in tree.parts)


def simple_root(c: Fraction) -> str:
    """Write a factor that is a small ratio, or the root of one."""
    for value, text in ((c, "{}"), (c * c, "sqrt({})")):
        small = value.limit_denominator(200)
        if small and abs(value / small - 1) < Fraction(1, 10**9):
            return text.format(small)
    return ""


def of_powers(powers: Monomial, right: Expr) -> Iterator[Finding]:
    """Yield what surplus and missing sizes mean; `right` says where each stands in the truth."""
    if any(is_opaque(a) for a, _ in powers):
        constant = not any(re.search(r"\b[^\W\d]\w*\b(?!\()", a) for a, _ in powers)
        yield Finding("factor" if constant else "wrong_growth", ", ".join(a for a, _ in powers))
        return
    turned = [a for a, e in powers if _exponents(a, right) == {-Fraction(e) / 2}]
    if turned and len(turned) == len(powers):
        yield Finding("inverted", ", ".join(turned))
        return
    if any(e not in (1, -1) for _, e in powers):
        yield Finding("wrong_exponent", ", ".join(f"{to_text(monomial((p,)))} too much" for p in powers))
        return
    up, down = [a for a, e in powers if e > 0], [a for a, e in powers if e < 0]
    if up and down:
        yield Finding("axis_swapped", f"{', '.join(up)} for {', '.join(down)}")
        return
    names = ", ".join(up or down)
    divided = all(_is_divided(a, right) for a in up or down)
    inside = {a for m in terms_of(right) for a, _ in m}
    if down:
        yield Finding("divided_twice" if divided or not inside & set(down) else "axis_forgotten", names)
    elif divided:
        yield Finding("division_forgotten", names)
    else:
        yield Finding("axis_twice" if all(a in inside for a in up) else "axis_extra", names)


def _exponents(name: str, right: Expr) -> set[Number]:
    """Return the powers that a size has in the truth."""
    return {e for m in terms_of(right) for a, e in m if a == name}


def _is_divided(name: str, right: Expr) -> bool:
    """Whether a size stands below in every term that has it."""
    exponents = _exponents(name, right)
    return bool(exponents) and all(e < 0 for e in exponents)


def of_number(number: Number, case: Case) -> Iterator[Finding]:
    """Yield what a constant factor between answer and truth may be, the likeliest first."""
    c = Fraction(number)
    if c == 1:
        return
    yield from _by_kind(c, case)
    for step, words in PREFIXES.items():
        if any(abs(c / s - 1) < Fraction(1, 1000) for s in (step, 1 / step)):
            yield Finding("gb_gib", words)
    for unit, words in TIMES.items():
        if case.kind == "time" and c in (unit, 1 / unit):
            yield Finding("time_unit", words)
    if c in (100, Fraction(1, 100)) and not case.kind:
        yield Finding("percent")
    if c in (8, Fraction(1, 8)) and case.kind == "bytes":
        yield Finding("bits_bytes")
    for k in (1, 2, 3, 4):
        if c in (1000**k, Fraction(1, 1000**k)):
            yield Finding("prefix", f"{c}")
    yield Finding("factor", f"{c}")


def is_gated(c: Fraction, names: Iterable[str], case: Case) -> bool:
    """Whether a factor is that of two matrices for three in a feed-forward layer."""
    return c in (Fraction(3, 2), Fraction(2, 3)) and any(case.is_feed_forward(n) for n in names)


def _by_kind(c: Fraction, case: Case) -> Iterator[Finding]:
    if case.right is not None and is_gated(c, set(names_in(case.truth.tree)), case):
        yield Finding("gated_ffn", f"{c}")
    half, third = Fraction(1, 2), Fraction(1, 3)
    if case.kind == "flops":
        yield from _of_flops(c, case)
    elif case.kind == "bytes" and c in (2, half, 4, Fraction(1, 4)):
        if not any("bytes" in case.meaning(a) for a in names_in(case.truth.tree)):  # p bytes a value
            if c < 1 and _coefficients_are(case.answer, 1):
                yield Finding("elements_for_bytes")
            yield Finding("dtype_bytes", f"{c}")
    elif case.kind in ("intensity", "rate") and c in (2, half):
        yield Finding("sparsity" if case.kind == "rate" else "dtype_bytes", f"{c}")
        if c == half:
            yield Finding("macs_for_flops")
    elif c in (3, third) and case.kind == "time":
        yield Finding("forward_for_training" if c == third else "training_for_forward")


def _of_flops(c: Fraction, case: Case) -> Iterator[Finding]:
    terms = terms_of(case.right if case.right is not None else 0)
    if c == Fraction(1, 2):
        squared = any(e == 2 for m in terms for a, e in m if not case.is_width(a))
        likely = [Finding("macs_for_flops"), Finding("input_gradient")]
        likely = likely[::-1] if [*terms.values()] == [4] else likely
        yield from (Finding("causal_half"), *likely) if squared and set(terms.values()) == {4} else likely
    elif c == 2 and any("vocab" in case.meaning(a).lower() for m in terms for a, _ in m):
        yield Finding("embedding_as_matmul", "twice the head")
    elif c in (3, Fraction(1, 3)):
        yield Finding("training_for_forward" if c == 3 else "forward_for_training")
    elif c in (Fraction(3, 2), Fraction(2, 3)):
        yield Finding("input_gradient")


def _coefficients_are(x: Expr | None, value: int) -> bool:
    return x is not None and all(c == value for c in terms_of(x).values())
