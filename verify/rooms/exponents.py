"""The exponent and the constant of lower bounds against all corners of the linear program, and against its dual."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.errors import InconclusiveError
from verify.check import Check, DisagreementError, agree, at_most, number


class Loops(NamedTuple):
    arrays: tuple[frozenset[str], ...]

    def text(self) -> str:
        *operands, output = (" ".join(sorted(a)) for a in self.arrays)
        return f"{', '.join(operands)} -> {output}"


@st.composite
def loops(draw: st.DrawFn) -> Loops:
    arrays = draw(st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1, max_size=4), min_size=1, max_size=4))
    used = sorted(frozenset().union(*arrays))
    return Loops((*arrays, draw(st.frozensets(st.sampled_from(used)))))


def least_cover(arrays: tuple[frozenset[str], ...]) -> Fraction:
    """The lightest weights that give every axis at least 1, by trying every corner of the region they may lie in.

    At a corner as many of the conditions as there are weights hold with equality.
    """
    axes = sorted(frozenset().union(*arrays))
    covers = {tuple(int(x in a) for a in arrays) for x in axes}
    alone = [tuple(int(i == j) for j in range(len(arrays))) for i in range(len(arrays))]
    conditions = [*((row, 1) for row in covers), *((row, 0) for row in alone)]
    found = []
    for tight in itertools.combinations(conditions, len(arrays)):
        weights = _solve([row for row, _ in tight], [right for _, right in tight])
        if weights and min(weights) >= 0:
            sums = (sum(c * w for c, w in zip(row, weights, strict=True)) for row in covers)
            if all(s >= 1 for s in sums):
                found.append(sum(weights))
    return min(found)


def _solve(rows: list[tuple[int, ...]], right: list[int]) -> list[Fraction] | None:
    """Gauss and Jordan, exactly; None where there is no single solution."""
    table = [[*map(Fraction, row), Fraction(r)] for row, r in zip(rows, right, strict=True)]
    for i in range(len(table)):
        pivot = next((row for row in table[i:] if row[i]), None)
        if pivot is None:
            return None
        table.remove(pivot)
        pivot = [x / pivot[i] for x in pivot]
        table = [[x - row[i] * p for x, p in zip(row, pivot, strict=True)] for row in table]
        table.insert(i, pivot)
    return [row[-1] for row in table]


def exponent_agrees(case: Loops) -> None:
    """The exponent by corners; and the tile proves it from the other side: it fits, and its points reach M**sigma."""
    bound = sa.lower_bound(case.text(), memory="M_")
    sigma = least_cover(case.arrays)
    agree(bound.exponent, sigma - 1, f"exponent of {case.text()!r}")
    for a in case.arrays:
        at_most(sum(bound.tile.get(x, 0) for x in a), 1, f"elements of a tile of {case.text()!r}, as a power of M")
    at_most(0, min(bound.tile.values()), "axes of a tile")
    agree(sum(bound.tile.values()), sigma, f"points of a tile of {case.text()!r}, as a power of M")


def constant_agrees(case: Loops) -> None:
    """A constant is stated where one array has every axis, and for matrix products; elsewhere it is refused."""
    bound = sa.lower_bound(case.text(), memory="M_")
    axes = frozenset().union(*case.arrays)
    sizes = dict(zip(sorted(axes), (3, 4, 5, 7, 11, 13), strict=False))
    points = math.prod(sizes.values())
    if axes in case.arrays:
        agree(number(bound.proved, sizes), points, f"the array of {case.text()!r} that has every axis")
        agree(bound.at(sizes=sizes), number(bound.compulsory, sizes), f"bound of {case.text()!r}")
        return
    kinds = {frozenset(i for i, a in enumerate(case.arrays) if x in a) for x in axes}
    pairs = {frozenset(p) for p in itertools.combinations(range(3), 2)}
    if len(case.arrays) == 3 and pairs <= kinds <= {*pairs, frozenset(range(3))}:
        ours = number(bound.proved, {**sizes, "M_": 4})
        agree(ours, points - 8, f"2 * points / sqrt(4) - 2 * 4 of {case.text()!r}")
        ours = bound.at(sizes={**sizes, "M_": 10**8})
        agree(ours, number(bound.compulsory, sizes), f"bound of {case.text()!r} with room for everything")
        return
    try:
        bound.at(sizes={**sizes, "M_": 4})
    except InconclusiveError:
        return
    msg = f"a bound in numbers for {case.text()!r}, of which only the order is known"
    raise DisagreementError(msg)


def limit_agrees(operands: int) -> None:
    """16 operands are taken, 17 refused."""
    pattern = ", ".join(f"a{i} a{i + 1}" for i in range(operands)) + f" -> a0 a{operands}"
    try:
        sa.lower_bound(pattern)
        taken = True
    except InconclusiveError:
        taken = False
    agree(taken, operands <= 16, f"{operands} operands are taken")


def _loops(*arrays: str) -> Loops:
    return Loops(tuple(map(frozenset, arrays)))


_KNOWN = (
    _loops("ik", "kj", "ij"),  # matrix product: 1/2
    _loops("bik", "bkj", "bij"),
    _loops("ik", "k", "i"),  # matrix times vector: 0
    _loops("ijk", "jr", "kr", "ir"),  # MTTKRP: 2/3
    _loops("ab", "bc", "ca", ""),  # a triangle: 1/2, no product
    _loops("i", "j", "k", "ijk"),
    _loops("a", "b", "", ""),
    _loops("abc", "abc", ""),
    _loops("ikx", "kj", "ij"),  # a lone axis: no matrix product
    _loops("ik", "kjx", "ij"),
    _loops("ik", "kj", "j"),
    _loops("k", "kj", "j"),  # one pair of arrays shares nothing of its own: no matrix product
    _loops("ik", "k", "i"),
    _loops("i", "j", "ij"),
    _loops("bk", "bkj", "bj"),
    _loops("bik", "bk", "bi"),
    _loops("bi", "bj", "bij"),
)
_SCALARS = _loops("", "", "")
CHECKS = (
    Check(
        "exponent of M",
        "lower_bound(pattern).exponent and .tile",
        "all corners of the linear program, and its dual",
        exponent_agrees,
        loops(),
        _KNOWN,
        proves=("bounds",),
        share=0.3,
    ),
    Check(
        "where a constant is known",
        "lower_bound(pattern).constant, .proved, .at",
        "which arrays share which axes; the value at M = 4 by hand",
        constant_agrees,
        loops(),
        (*_KNOWN, _SCALARS),
        proves=("bounds",),
    ),
    Check(
        "how many operands",
        "lower_bound of up to 16 operands",
        "the specification",
        limit_agrees,
        fixed=(16, 17),
        proves=("bounds",),
    ),
)
