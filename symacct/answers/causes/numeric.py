"""A wrong number: which factor, constant or rounding of the truth's own formula explains it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

from symacct.answers.causes.case import Case
from symacct.answers.causes.factors import PREFIXES, TIMES, has_root
from symacct.answers.evaluate import evaluate, number
from symacct.answers.points import generic
from symacct.answers.text.printing import written
from symacct.answers.trees import exchanged, joined, nodes, numbers_in
from symacct.answers.types import Finding
from symacct.errors import SymacctError
from symacct.expr.tree import Leaf

_NEAR = Fraction(6, 1000)
_FACTORS = (*map(Fraction, (2, 3, 4, 6, 8)), Fraction(3, 2), Fraction(4, 3), Fraction(24))
_PEAKS = {Fraction(1466, 100): "fp32 for bf16, as 67.5 for 989.5", Fraction(16): "fp32 for bf16, as 19.5 for 312"}


def of_numbers(case: Case) -> Iterator[Finding]:
    """Yield what explains a wrong number, the likeliest first."""
    sizes: Mapping[str, Fraction | int] = case.at or {}
    if case.mode != "numeric":
        sizes = generic(case.names)[0]
    try:
        given, wanted = evaluate(case.tree, sizes), evaluate(case.truth.tree, sizes)
    except SymacctError:
        return
    if given == 0 or wanted == 0:
        return
    if given == wanted:
        yield Finding("coincidence")
        return
    c = given / wanted
    yield from _binary(case)
    if given.denominator == wanted.denominator == 1 and abs(given - wanted) == 1:
        yield Finding("rounding")
        yield Finding("off_by_one", f"{given} for {wanted}")
    yield from _powers(given, wanted, rooted=has_root(case.truth.tree))
    yield from _prefixes(c, case)
    yield from _constants(c, case, above=8)
    yield from _factors(c, case)
    yield from _constants(c, case)
    yield from _lost_terms(case)
    yield from _plain_ratio(c, case)
    if abs(c - 1) < Fraction(12, 100):
        yield Finding("rounded_inputs", f"{float(c - 1):+.1%}")


def _is(c: Fraction, value: Fraction, tolerance: Fraction = _NEAR) -> str:
    """Return how a ratio is a value: itself or its inverse."""
    if abs(c / value - 1) < tolerance:
        return f"{value}"
    return f"{1 / value}" if abs(c * value - 1) < tolerance else ""


def _prefixes(c: Fraction, case: Case) -> Iterator[Finding]:
    for step, words in PREFIXES.items():
        if case.kind in ("bytes", "") and _is(c, step, Fraction(15, 10_000)):
            yield Finding("gb_gib", words)
    if case.kind == "time":
        for unit, words in TIMES.items():
            if _is(c, unit, Fraction(2, 100)):
                yield Finding("time_unit", words)
    if case.kind == "bytes" and _is(c, Fraction(8)):
        yield Finding("bits_bytes")
    for k in (1, 2, 3, 4):
        if _is(c, Fraction(1000**k)):
            yield Finding("prefix", f"10^{3 * k}")
    if _is(c, Fraction(100)) and not case.kind:
        yield Finding("percent")


def _factors(c: Fraction, case: Case) -> Iterator[Finding]:
    for value in _FACTORS:
        if found := _is(c, value, Fraction(15, 1000)):
            yield from _of_factor(value, case, less=c < 1)
            yield Finding("factor", found)
    if _has_peak(case):
        for value, text in _PEAKS.items():
            if _is(c, value, Fraction(2, 100)):
                yield Finding("other_peak", text)


def _has_peak(case: Case) -> bool:
    """Whether a constant of the truth looks like a peak: 10 to 100,000 TFLOP/s, in a few digits."""
    literals = [number(leaf) for leaf in numbers_in(case.truth.tree)]
    return any(10**13 <= v <= 10**17 and len(str(int(v)).rstrip("0")) <= 4 for v in literals)


def _of_factor(value: Fraction, case: Case, *, less: bool) -> Iterator[Finding]:
    peak = _has_peak(case)
    if value == 2:
        if any(number(leaf) == Fraction(1, 2) for leaf in numbers_in(case.truth.tree)):  # an MFU of one half
            yield Finding("constant_dropped", "0.5")
        if peak and case.kind != "flops":
            yield Finding("sparsity")
        if case.kind == "flops" and less:
            yield Finding("macs_for_flops")
    if value == 3 and case.kind in ("flops", "time"):
        yield Finding("forward_for_training" if less else "training_for_forward")
    if value in (2, 4) and case.kind in ("bytes", "intensity") and not peak:
        yield Finding("dtype_bytes", f"{1 / value if less else value}")


def _constants(c: Fraction, case: Case, above: int = 0) -> Iterator[Finding]:
    """Yield a constant of the truth that was dropped or put in twice."""
    for leaf in numbers_in(case.truth.tree):
        value = number(leaf)
        if value not in (0, 1) and value > above and _is(c, value):
            yield Finding("constant_dropped", leaf.text)


def _lost_terms(case: Case) -> Iterator[Finding]:
    """Yield a term of the truth without which it is the answer."""
    for node in nodes(case.truth.tree, ("+",)):
        for i, part in enumerate(node.parts):
            rest = node.parts[:i] + node.parts[i + 1 :]
            if case.equals(exchanged(case.truth.tree, node, joined("+", list(rest)))):
                yield Finding("missing_term", written(part))


def _binary(case: Case) -> Iterator[Finding]:
    """Yield a number of GB in the truth that was taken for GiB."""
    for leaf in numbers_in(case.truth.tree):
        binary = Leaf("number", str(int(number(leaf) * Fraction(1024, 1000) ** 3)), 0)
        if number(leaf) >= 10**9 and case.equals(exchanged(case.truth.tree, leaf, binary)):
            yield Finding("gb_gib", "GB and GiB")


def _powers(given: Fraction, wanted: Fraction, *, rooted: bool) -> Iterator[Finding]:
    if abs(given * wanted - 1) < Fraction(2, 100):
        yield Finding("inverted")
    if rooted and given > 0 and abs(given / wanted**2 - 1) < Fraction(2, 100):
        yield Finding("root_forgotten")


def _plain_ratio(c: Fraction, case: Case) -> Iterator[Finding]:
    """Yield a power of two where the truth has one, or a ratio of small whole numbers, also under a root."""
    power = round(math.log2(c.numerator) - math.log2(c.denominator)) if c > 0 else 0
    if abs(power) > 3 and c == Fraction(2) ** power and nodes(case.truth.tree, ("**",)):
        yield Finding("wrong_exponent", f"2**{power} too much")
    ways = ((c, "{}"), (c * c, "sqrt({})")) if has_root(case.truth.tree) else ((c, "{}"),)
    for value, text in ways:
        small = value.limit_denominator(16)
        if 0 < small.numerator <= 32 and small != 1 and abs(value / small - 1) < Fraction(2, 1000):
            yield Finding("factor", text.format(small))
            return
