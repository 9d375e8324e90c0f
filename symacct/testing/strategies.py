"""Hypothesis strategies: random einsum patterns, sizes for them, and contraction orders."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache

from hypothesis import strategies as st

from symacct.pattern import Axis
from symacct.testing.spec import Spec, Tree, all_trees, write_spec

NAMES = (*"bdkijEIN", "pi", "beta", "lambda", "in", "x2", "seq1", "head_size", "β", "größe")
"""Names to draw from: short, long and unicode ones, keywords of Python, and names that mean something to sympy."""

ELLIPSIS = "batch"

MAX_POINTS = 25_000
"""The product of the sizes of up to six names stays below this: plain loops then take a fraction of a second."""


_ONE_IN_EIGHT = st.integers(0, 7).map(lambda n: n == 7)


@st.composite
def patterns(
    draw: st.DrawFn,
    *,
    min_operands: int = 1,
    max_operands: int = 4,
    max_names: int = 6,
    diagonals: bool = True,
    lone_axes: bool = True,
    composites: bool = True,
    units: bool = True,
    ellipsis: bool = True,
    scalars: bool = True,
    names: tuple[str, ...] = NAMES,
) -> Spec:
    """Draw a pattern together with what it means, built without the parser.

    Parameters
    ----------
    min_operands, max_operands
        How many operands.
    max_names
        At most this many different names.
    diagonals
        Whether a name may stand twice in an operand.
    lone_axes
        Whether an axis of one operand alone may be missing from the output.
    composites, units, ellipsis, scalars
        Whether there may be axes such as ``(h d)``, axes ``1``, batch axes ``...``, operands without axes.
    names
        What to draw names from.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(patterns(max_operands=2, lone_axes=False))
    ... def holds(pattern):
    ...     assert len(pattern.operands) <= 2
    >>> holds()

    """
    pool = draw(st.permutations(names))[: draw(st.integers(min(2, max_names), max_names))]
    if ellipsis and draw(_ONE_IN_EIGHT):
        pool = [*pool[: max_names - 1], ELLIPSIS]
    count = draw(st.integers(min_operands, max_operands))
    operands = [_operand(draw, pool, diagonal=diagonals, scalar=scalars) for _ in range(count)]
    used = list(dict.fromkeys(n for o in operands for n in o))
    needed = [] if lone_axes else [n for n in used if sum(n in o for o in operands) == 1]
    optional = [n for n in used if n not in needed]
    chosen = needed + [n for n in optional if draw(st.booleans())]
    output = draw(st.permutations(chosen))
    *grouped, result = [_grouped(draw, o, composites=composites, units=units) for o in (*operands, output)]
    return write_spec(grouped, result, ELLIPSIS)


def _operand(draw: st.DrawFn, pool: list[str], *, diagonal: bool, scalar: bool) -> list[str]:
    """Draw the names of one operand; now and then none, or one of them twice."""
    rank = 0 if scalar and draw(_ONE_IN_EIGHT) else min(len(pool), draw(st.sampled_from((2, 3, 1, 2, 3, 4))))
    chosen = draw(st.permutations(pool))[:rank]
    again = [n for n in chosen if n != ELLIPSIS]
    if diagonal and again and draw(_ONE_IN_EIGHT):
        chosen = [*chosen, draw(st.sampled_from(again))]
    return draw(st.permutations(chosen))


def _grouped(draw: st.DrawFn, names: list[str], *, composites: bool, units: bool) -> tuple[Axis, ...]:
    """Join some neighbours to one axis, and put in some axes `1`."""
    axes: list[Axis] = []
    for n in names:
        if composites and axes and axes[-1] and draw(_ONE_IN_EIGHT):
            axes[-1] = (*axes[-1], n)
        else:
            axes.append((n,))
        if units and draw(_ONE_IN_EIGHT):
            axes.append(())
    return tuple(axes)


@lru_cache(maxsize=64)
def _size_sets(count: int, smallest: int) -> list[tuple[int, ...]]:
    """Return sets of distinct sizes, pairwise co-prime where `MAX_POINTS` leaves room for that."""
    fits = [
        sizes
        for sizes in itertools.combinations(range(smallest, smallest + max(11, count)), count)
        if math.prod(sizes) <= MAX_POINTS
    ]
    coprime = [s for s in fits if all(math.gcd(a, b) == 1 for a, b in itertools.combinations(s, 2))]
    return coprime or fits or [tuple(range(smallest, smallest + count))]


@st.composite
def sizes_for(draw: st.DrawFn, pattern: Spec, *, smallest: int = 3) -> dict[str, int]:
    """Draw a size for each name: pairwise different, at least `smallest`, co-prime up to five names.

    Formulas that are wrong often agree with right ones where sizes are equal, 1 or 2, or share a factor.

    Examples
    --------
    >>> from hypothesis import given, strategies as st
    >>> @given(st.data())
    ... def differ(data):
    ...     pattern = data.draw(patterns())
    ...     sizes = data.draw(sizes_for(pattern))
    ...     assert len(set(sizes.values())) == len(pattern.names)
    >>> differ()

    """
    chosen = draw(st.sampled_from(_size_sets(len(pattern.names), smallest)))
    return dict(zip(pattern.names, draw(st.permutations(chosen)), strict=True))


def trees(pattern: Spec) -> st.SearchStrategy[Tree]:
    """Draw an order in which to multiply the operands pairwise."""
    return st.sampled_from(list(all_trees(range(len(pattern.operands)))))
