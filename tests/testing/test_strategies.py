"""Patterns are what the parser reads, sizes are generic, restrictions hold, and the interesting cases do come up."""

from __future__ import annotations

import itertools
import math
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from symacct.pattern import parse
from symacct.testing.spec import Spec, all_trees
from symacct.testing.strategies import ELLIPSIS, MAX_POINTS, patterns, sizes_for, trees


@given(patterns())
def test_the_parser_finds_what_was_drawn(spec: Spec) -> None:
    parsed = parse(spec.text)
    assert (parsed.operands, parsed.output, parsed.names) == spec[1:]
    assert parsed.ellipsis == (ELLIPSIS if ELLIPSIS in spec.names else None)


@given(st.data())
def test_sizes_tell_names_apart(data: st.DataObject) -> None:
    spec = data.draw(patterns())
    sizes = list(data.draw(sizes_for(spec)).values())
    assert len(set(sizes)) == len(sizes) == len(spec.names)
    assert min(sizes, default=3) > 2
    assert math.prod(sizes) <= MAX_POINTS
    if len(sizes) <= 5:
        assert all(math.gcd(a, b) == 1 for a, b in itertools.combinations(sizes, 2))


def _flat(axes: tuple[tuple[str, ...], ...]) -> list[str]:
    return [n for axis in axes for n in axis]


@given(
    patterns(
        min_operands=2,
        max_operands=3,
        max_names=3,
        diagonals=False,
        lone_axes=False,
        composites=False,
        units=False,
        ellipsis=False,
        scalars=False,
    )
)
def test_restrictions_hold(spec: Spec) -> None:
    assert 2 <= len(spec.operands) <= 3
    assert len(spec.names) <= 3
    assert ELLIPSIS not in spec.names
    for axes in (*spec.operands, spec.output):
        assert all(len(axis) == 1 for axis in axes)
    for axes in spec.operands:
        assert axes
        assert len(set(axes)) == len(axes)
    for n in spec.names:
        assert n in _flat(spec.output) or sum(n in _flat(o) for o in spec.operands) > 1


@given(st.data())
def test_a_tree_has_every_operand_once(data: st.DataObject) -> None:
    spec = data.draw(patterns())
    assert data.draw(trees(spec)) in list(all_trees(range(len(spec.operands))))


FEATURES = {
    "diagonal": lambda s: any(len(_flat(o)) != len(set(_flat(o))) for o in s.operands),
    "lone axis": lambda s: any(
        sum(n in _flat(o) for o in s.operands) == 1 and n not in _flat(s.output) for n in s.names
    ),
    "composite": lambda s: any(len(axis) > 1 for axes in s.operands for axis in axes),
    "unit": lambda s: any(not axis for axes in s.operands for axis in axes),
    "ellipsis": lambda s: ELLIPSIS in s.names,
    "scalar": lambda s: any(not o for o in s.operands),
    "four operands": lambda s: len(s.operands) == 4,
    "five names": lambda s: len(s.names) >= 5,
    "unicode": lambda s: not s.text.isascii(),
}


def test_every_feature_comes_up() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=300, derandomize=True, database=None)
    @given(patterns())
    def look(spec: Spec) -> None:
        seen.update(name for name, has in FEATURES.items() if has(spec))

    look()
    assert all(seen[name] >= 10 for name in FEATURES), seen
