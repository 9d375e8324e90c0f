"""Lower bounds against schedules run through a simulated cache, and against their own proof done by search."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.errors import AxisConflictError
from symacct.testing.spec import Spec, spec_of
from symacct.testing.strategies import patterns, sizes_for
from verify.caches import schedule, trace, traffic
from verify.check import Check, agree, at_most, number

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
)
