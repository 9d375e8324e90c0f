"""Where things stand: layers, order and distances, against what they must satisfy and small cases by brute force."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.plot.layers import Placed, Spot, _crossings, _nearest, place
from tests.graph.examples import all_graphs

ALL = all_graphs()


def placed(graph, width=1.0, gap=0.5) -> Placed:
    spots = [Spot("op", op.id) for op in graph.ops]
    spots += [Spot("in", i) for i in graph.inputs] + [Spot("out", i) for i in graph.outputs]
    return place(graph, dict.fromkeys(spots, width), gap, {})


@pytest.mark.parametrize("graph", ALL.values(), ids=ALL)
def test_lines_pass_one_layer_at_a_time_downwards(graph):
    found = placed(graph)
    height = {spot: at for at, layer in enumerate(found.layers) for spot in layer}
    assert len(height) == sum(map(len, found.layers)), "every spot stands once"
    for tensor, spots in found.lines:
        assert [height[s] for s in spots] == list(range(height[spots[0]], height[spots[-1]] + 1))
        assert all(s == Spot("via", tensor, height[s]) for s in spots[1:-1])
    links = {(i, op.id) for op in graph.ops for i in op.inputs}
    assert {(t, s[-1].id) for t, s in found.lines if s[-1].kind == "op"} == links
    assert {s[-1].id for _, s in found.lines if s[-1].kind == "out"} == set(graph.outputs)


@pytest.mark.parametrize("graph", ALL.values(), ids=ALL)
def test_neighbours_keep_their_distance(graph):
    found = placed(graph, width=1.0, gap=0.5)
    for layer in found.layers:
        for a, b in itertools.pairwise(layer):
            widths = (a.kind != "via") + (b.kind != "via")
            assert found.x[b] - found.x[a] >= widths / 2 + 0.5 - 1e-9


def test_inputs_stand_just_above_their_first_use():
    def layer(x: "n", y: "n"):
        for _ in range(4):
            x = sa.relu(x)
        return x + y

    found = placed(sa.account(layer).graph)
    height = {spot: at for at, layer in enumerate(found.layers) for spot in layer}
    assert height[Spot("in", 0)] == 0
    assert height[Spot("in", 1)] == 4
    assert height[Spot("op", 4)] == 5
    assert height[Spot("out", 6)] == 6


def test_a_chain_is_straight():
    def layer(x: "n", y: "n"):
        for _ in range(6):
            x = sa.relu(x)
        return x + y

    found = placed(sa.account(layer).graph)
    xs = [found.x[Spot("op", i)] for i in range(6)]
    assert max(xs) - min(xs) < 1e-6


def test_parameters_can_be_shown_as_one():
    def layer(x: "n", y: "n", z: "n"):
        return sa.where(x > 0, y, z)

    graph = sa.account(layer).graph
    spots = [Spot("op", 0), Spot("op", 1), Spot("in", 0), Spot("in", 1), Spot("out", graph.outputs[0])]
    found = place(graph, dict.fromkeys(spots, 1.0), 0.5, {1: 1, 2: 1})
    assert sorted(s for layer in found.layers for s in layer if s.kind != "via") == sorted(spots)


@given(st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=5))
def test_crossings_are_pairs_of_lines_in_the_wrong_order(lines):
    upper = [Spot("op", i) for i in range(len(lines))]
    lower = [Spot("out", i) for i in range(5)]
    downs = {a: [lower[b] for b in dict.fromkeys(below)] for a, below in zip(upper, lines, strict=True)}
    edges = [(i, lower.index(b)) for i, a in enumerate(upper) for b in downs[a]]
    expected = sum(
        (a[0] < b[0] and a[1] > b[1]) or (a[0] > b[0] and a[1] < b[1]) for a, b in itertools.combinations(edges, 2)
    )
    assert _crossings([upper, lower], downs) == expected


def test_crossings_go_where_they_can():
    """Four chains side by side, started in the wrong order, need none."""

    def layer(a: "n", b: "n", c: "n", d: "n"):
        return sa.relu(d), sa.relu(c), sa.relu(b), sa.relu(a)

    found = placed(sa.account(layer).graph)
    downs = {}
    for _, spots in found.lines:
        for upper, lower in itertools.pairwise(spots):
            downs.setdefault(upper, []).append(lower)
    assert _crossings(found.layers, downs) == 0


@given(
    st.lists(st.tuples(st.floats(-9, 9), st.floats(0.1, 3), st.floats(0, 2)), min_size=1, max_size=6),
)
@settings(max_examples=200)
def test_places_are_the_nearest_that_keep_their_distances(spots):
    """Least squares under order: no small move that keeps the distances comes nearer."""
    wanted, weights, gaps = zip(*spots, strict=True)
    apart = gaps[1:]
    found = _nearest(wanted, weights, apart)

    def error(xs):
        return sum(w * (x - want) ** 2 for x, want, w in zip(xs, wanted, weights, strict=True))

    def allowed(xs):
        return all(b - a >= gap - 1e-9 for a, b, gap in zip(xs, xs[1:], apart, strict=False))

    assert allowed(found)
    for first in range(len(found)):
        for last in range(first, len(found)):
            for step in (-1e-3, 1e-3):
                moved = [x + step * (first <= i <= last) for i, x in enumerate(found)]
                if allowed(moved):
                    assert error(moved) >= error(found) - 1e-9
