"""Lower bounds against schedules run through a simulated cache, and against their own proofs done by other means."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.errors import AxisConflictError, InconclusiveError
from symacct.testing.spec import Spec, spec_of
from symacct.testing.strategies import patterns, sizes_for
from verify.caches import schedule, trace, traffic
from verify.check import Check, DisagreementError, agree, at_most, number

MATMULS = (
    "i k, k j -> i j",
    "b i k, k b j -> b i j",
    "i k l, l j k -> j i",
    "i k, k (j l) -> l i j",
    "i i k, k j -> j i",
)


class Run(NamedTuple):
    """A schedule: loops over tiles, loops inside them, and a fast memory of so many elements."""

    spec: Spec
    sizes: dict[str, int]
    memory: int
    tiles: dict[str, int]
    outer: tuple[str, ...]
    inner: tuple[str, ...]

    def moved(self) -> int:
        points = schedule(self.spec.names, self.sizes, self.tiles, self.outer, self.inner)
        return traffic(trace(self.spec, points), self.memory)

    def __str__(self) -> str:
        return f"{self.spec.text!r} at {self.sizes}, M = {self.memory}, tiles {self.tiles}, {self.outer}, {self.inner}"


@st.composite
def _run_of(draw: st.DrawFn, spec: Spec, sizes: dict[str, int]) -> Run:
    tiles = {n: draw(st.integers(1, s)) for n, s in sizes.items()}
    memory = draw(st.integers(len(spec.operands) + 1, 60))
    outer, inner = draw(st.permutations(spec.names)), draw(st.permutations(spec.names))
    return Run(spec, sizes, memory, tiles, tuple(outer), tuple(inner))


@st.composite
def matmuls(draw: st.DrawFn) -> Run:
    spec = spec_of(draw(st.sampled_from(MATMULS)))
    drawn = st.integers(1, {3: 8, 4: 5}[len(spec.names)])
    return draw(_run_of(spec, {n: draw(drawn) for n in spec.names}))


@st.composite
def any_run(draw: st.DrawFn) -> Run:
    spec = draw(patterns(max_names=4, ellipsis=False))
    sizes = draw(sizes_for(spec))
    return draw(_run_of(spec, {n: s - 1 for n, s in sizes.items()}))


def _resident(size: int, tile: int) -> Run:
    """The schedule that comes near the bound: a square tile of the output stays, the rest streams by."""
    sizes = dict.fromkeys("ikj", size)
    return Run(
        spec_of("i k, k j -> i j"),
        sizes,
        tile * tile + tile + 1,
        {"i": tile, "j": tile, "k": 1},
        ("i", "j", "k"),
        ("k", "i", "j"),
    )


def never_below(run: Run) -> None:
    bound = sa.lower_bound(run.spec.text, memory="M_")
    at_most(bound.at(sizes={**run.sizes, "M_": run.memory}), run.moved(), f"bound of {run}")


def nearly_attained(run: Run) -> None:
    """A bound that is half of what is true would pass for one; this one is within a third of a real schedule."""
    bound = sa.lower_bound(run.spec.text, memory="M_").at(sizes={**run.sizes, "M_": run.memory})
    at_most(run.moved(), bound * Fraction(4, 3), f"moved by {run} against 4/3 of its bound")


class Segments(NamedTuple):
    points: int
    memory: int


def segments_agree(case: Segments) -> None:
    """The proof again, by search: of segments of r moves each sees at most ((M + r)/3)**(3/2) products.

    All but the last are whole, so at least ``r * (points / that - 1)`` is moved, for the r that helps most.
    """
    points, memory = case
    bound = sa.lower_bound("i k, k j -> i j", memory="M_")
    ours = number(bound.expr, {"i": points, "j": 1, "k": 1, "M_": memory})
    segment = max((memory * t / 64 for t in range(1, 640)), key=lambda r: r / ((memory + r) / 3) ** 1.5)
    best = segment * (points / ((memory + segment) / 3) ** 1.5 - 1)
    if not math.isclose(ours, best, rel_tol=1e-9):
        agree(ours, best, f"bound on {points} products, M = {memory}")


def compulsory_agrees(run: Run) -> None:
    """With room for everything exactly the compulsory traffic is moved; with less, never less."""
    bound = sa.lower_bound(run.spec.text, memory="M_")
    compulsory = number(bound.compulsory, run.sizes)
    agree(compulsory, run._replace(memory=10**9).moved(), f"compulsory traffic of {run.spec.text!r} at {run.sizes}")
    at_most(compulsory, run.moved(), f"compulsory traffic of {run}")
    points = math.prod(run.sizes[n] for n in run.spec.names)
    agree(number(bound.points, run.sizes), points, f"points of {run.spec.text!r}")


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


def expressions_agree(case: Run) -> None:
    """Sizes that are expressions: the same number as with their values; names in the product may cancel."""
    i, j, k = (case.sizes[n] for n in "ijk")
    bound = sa.lower_bound(case.spec.text, i="n/m", k="m", memory="M_")
    ours = bound.at(n=i * k, m=k, j=j, M_=case.memory)
    agree(ours, sa.lower_bound(case.spec.text, i=i, k=k, j=j, memory=case.memory).at(), f"bound of {case}")


def clash_agrees(memory: str) -> None:
    """A memory that is called like an axis or like the size of one is refused."""
    try:
        sa.lower_bound("i k, k j -> i j", memory=memory, i="n")
        refused = False
    except AxisConflictError:
        refused = True
    agree(refused, memory != "M_", f"memory called {memory!r} is refused")


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
_TINY = Run(
    spec_of("i k, k j -> i j"),
    {"i": 4, "k": 5, "j": 3},
    7,
    {"i": 2, "k": 1, "j": 2},
    ("i", "j", "k"),
    ("k", "i", "j"),
)
_VECTOR = Run(spec_of("i k, k -> i"), {"i": 4, "k": 5}, 4, {"i": 2, "k": 1}, ("i", "k"), ("k", "i"))

CHECKS = (
    Check(
        "never above a real schedule",
        'lower_bound(matrix product, memory="M").at(...)',
        "loop orders and tilings through a cache that drops what is needed last",
        never_below,
        matmuls(),
        (*(_resident(12, t) for t in (1, 2, 3, 4)), _TINY),
        proves=("bounds",),
    ),
    Check(
        "nearly attained",
        "2*i*j*k/sqrt(M) - 2*M, within a third",
        "a schedule that keeps a tile of the output, through the same cache",
        nearly_attained,
        fixed=(_resident(24, 4), _resident(24, 6)),
        proves=("bounds",),
    ),
    Check(
        "the matrix product's constant and lower-order term",
        "2*i*j*k/sqrt(M) - 2*M",
        "the number of moves a segment that helps most, by search",
        segments_agree,
        st.builds(Segments, st.integers(1, 10**12), st.integers(3, 10**6)),
        (Segments(10**6, 100), Segments(10**9, 1000)),
        proves=("bounds",),
    ),
    Check(
        "compulsory traffic",
        "lower_bound(pattern).compulsory and .points",
        "any loop nest through a cache with room for everything, and with less",
        compulsory_agrees,
        any_run(),
        (_TINY, _VECTOR),
        proves=("bounds",),
        share=0.5,
    ),
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
        "sizes as expressions",
        'lower_bound(pattern, i="n/m", k="m").at(n=, m=)',
        "the same with numbers for sizes",
        expressions_agree,
        fixed=(_TINY, _TINY._replace(memory=10**6)),
        proves=("bounds",),
    ),
    Check(
        "a memory called like a size",
        "lower_bound(pattern, memory=) raises AxisConflictError",
        "the specification",
        clash_agrees,
        fixed=("i", "k", "n", "M_"),
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
