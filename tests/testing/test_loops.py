"""The loops compute the einsum, count what they do, and know which places they touch."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symacct.errors import ConventionError, UndefinedSizeError
from symacct.testing.counting import totals
from symacct.testing.loops import Run, run
from symacct.testing.spec import all_trees, left_tree, spec_of, write_spec
from symacct.testing.strategies import patterns, sizes_for, trees


def work(ran: Run) -> dict[str, int]:
    return dict(ran.calls)


@pytest.mark.claim("S31")
def test_a_matrix_product_in_three_ways() -> None:
    """Of each sum n multiplies and n - 1 adds, n of both, or n fused."""
    sizes = {"b": 2, "d": 3, "k": 5}
    assert work(run("b d, d k -> b k", sizes, way="exact")) == {"mul": 30, "add": 20}
    assert work(run("b d, d k -> b k", sizes, way="2n")) == {"mul": 30, "add": 30}
    assert work(run("b d, d k -> b k", sizes, way="mac")) == {"fma": 30}


@pytest.mark.claim("S25")
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("b d, b d -> b d", {"mul": 12}),  # nothing is summed: no factor two
        ("b, d -> b d", {"mul": 12}),
        ("b d -> d b", {}),
        ("b d -> b", {"add": 9}),
        ("b d, ->", {"add": 11, "mul": 1}),  # lone axes are summed before the product
        ("b d, d -> d", {"add": 8, "mul": 4}),
    ],
)
def test_what_is_summed_and_what_is_not(pattern: str, expected: dict[str, int]) -> None:
    assert work(run(pattern, {"b": 3, "d": 4})) == expected


def test_one_loop_nest_sums_nothing_first() -> None:
    sizes = {"b": 3, "d": 4, "e": 5}
    assert work(run("b d e, d -> b", sizes)) == {"add": 3 * 4 * 4 + 3 * 3, "mul": 12}
    assert work(run("b d e, d -> b", sizes, nest=True)) == {"add": 3 * 19, "mul": 60}
    assert totals(run("b, b, b ->", sizes, nest=True, way="mac").calls) == {"MAC": 3, "FLOP": 3}


def test_the_order_changes_the_count_and_not_the_values() -> None:
    sizes = {"i": 2, "j": 3, "k": 5, "l": 7}
    left, right, nest = (
        run("i j, j k, k l -> i l", sizes, way="2n", **how) for how in ({}, {"tree": (0, (1, 2))}, {"nest": True})
    )
    assert [sum(r.calls.values()) for r in (left, right, nest)] == [2 * (30 + 70), 2 * (105 + 42), 3 * 210]
    assert left.values == right.values == nest.values


@pytest.mark.parametrize(
    ("pattern", "reads", "writes"),
    [
        ("i i -> i", [3], 3),  # the diagonal only
        ("i i, i j -> j", [3, 12], 4),
        ("(i j) -> j i", [12], 12),
        ("i, j -> (i j)", [3, 4], 12),
        (", j -> j", [1, 4], 4),
    ],
)
def test_places_touched(pattern: str, reads: list[int], writes: int) -> None:
    (step,) = run(pattern, {"i": 3, "j": 4}).steps
    assert [t.elements for t in step.reads] == reads
    assert step.writes.elements == writes


def test_intermediates_are_written_and_read() -> None:
    ran = run("i j, j k, k l -> i l", {"i": 2, "j": 3, "k": 5, "l": 7})
    assert [(t.tensor, t.elements) for t in ran.touched] == [(0, 6), (1, 15), (3, 10), (3, 10), (2, 35), (4, 14)]


def test_composite_axes_run_fastest_at_the_end() -> None:
    ran = run("(h d) -> d h", {"h": 2, "d": 3}, values=[[10, 11, 12, 20, 21, 22]])
    assert ran.values == (10, 20, 11, 21, 12, 22)
    assert ran.shape == (3, 2)


@settings(max_examples=60)
@given(st.data())
def test_values_are_those_of_numpy(data: st.DataObject) -> None:
    spec = data.draw(patterns())
    sizes = data.draw(sizes_for(spec))
    flat = [[n for axis in axes for n in axis] for axes in (*spec.operands, spec.output)]
    operands = [np.arange(prod(sizes[n] for n in f)).reshape([sizes[n] for n in f]) % 7 - 3 for f in flat[:-1]]
    letter = dict(zip(spec.names, "abcdefgh", strict=False))
    equation = ",".join("".join(letter[n] for n in f) for f in flat[:-1]) + "->" + "".join(letter[n] for n in flat[-1])
    expected = np.einsum(equation, *operands)
    tree = data.draw(trees(spec))
    ran = run(spec, sizes, tree=tree, values=[x.ravel().tolist() for x in operands])
    assert list(ran.values) == expected.ravel().tolist()
    assert prod(ran.shape) == len(ran.values)


def test_all_orders_once() -> None:
    counts = [len(set(all_trees(range(n)))) for n in (1, 2, 3, 4, 5)]
    assert counts == [1, 1, 3, 15, 105]
    assert left_tree(4) == (((0, 1), 2), 3)
    assert left_tree(4) in set(all_trees(range(4)))


def test_a_pattern_is_written_as_it_is_read() -> None:
    spec = spec_of("b (h d), d 1, -> (b h)")
    assert write_spec(spec.operands, spec.output).text == "b (h d), d 1,  -> (b h)"
    assert write_spec(spec.operands, spec.output)[1:] == spec[1:]


def test_what_is_missing_is_said() -> None:
    with pytest.raises(UndefinedSizeError, match="no size for k"):
        run("b d, d k -> b k", {"b": 2, "d": 3})
    with pytest.raises(ConventionError, match="unknown way to run 'fast'"):
        run("b -> b", {"b": 2}, way="fast")
