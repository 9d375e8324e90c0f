"""A graph goes to JSON and comes back the same; what is no graph is refused, and nothing in it is evaluated."""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import GraphError
from symacct.expr import ceildiv, log2, name, sqrt
from symacct.graph import Graph
from symacct.graph.save import _read, _write
from tests.graph.examples import all_graphs

GRAPHS = all_graphs()
B, D = name("b"), name("d")


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_the_round_trip_is_the_identity(graph):
    text = json.dumps(graph.to_json(), allow_nan=False)
    again = Graph.from_json(json.loads(text))
    assert again == graph == Graph.from_json(graph.to_json())
    assert json.dumps(again.to_json(), allow_nan=False) == text
    assert again.conditions == graph.conditions
    for op, twin in zip(graph.ops, again.ops, strict=True):
        assert [type(v) for v in op.attrs.values()] == [type(v) for v in twin.attrs.values()]
        assert op.einsum is None or list(op.einsum.sizes) == list(twin.einsum.sizes), "the order of axes is torch's"


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_a_graph_that_comes_back_costs_the_same(graph):
    again = sa.account(Graph.from_json(json.loads(json.dumps(graph.to_json()))))
    once = sa.account(graph)
    assert again.counts == once.counts
    assert again.total("bytes") == once.total("bytes")
    assert again.conditions == once.conditions


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_copies_are_equal(graph):
    assert pickle.loads(pickle.dumps(graph)) == graph  # noqa: S301
    assert copy.deepcopy(graph) == graph


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False),
        st.text(max_size=5),
        st.fractions(max_denominator=1000),
        st.sampled_from([B, 2 * B * D, B / D, D / 3 - 1, ceildiv(D, 16), sqrt(D), log2(B), 1 / (B + D)]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=5), inner, max_size=3),
    ),
    max_leaves=8,
)


def typed(value):
    """A value with its types, so that 1, 1.0 and True differ."""
    if isinstance(value, tuple | list):
        return type(value), [typed(v) for v in value]
    if isinstance(value, dict):
        return dict, [(k, typed(v)) for k, v in value.items()]
    return type(value), value


@given(VALUES)
@settings(max_examples=200)
def test_attributes_come_back_with_their_types(value):
    again = _read(json.loads(json.dumps(_write(value), allow_nan=False)))
    assert typed(again) == typed(value)


def test_not_a_number_comes_back():
    assert math.isnan(_read(json.loads(json.dumps(_write(math.nan), allow_nan=False))))


@pytest.mark.parametrize("value", [{1: 2}, object(), {1, 2}, 1j, len])
def test_attributes_that_json_cannot_hold_are_refused(value):
    with pytest.raises(GraphError, match=r"an attribute of type \w+ cannot be saved"):
        _write(value)


def saved(which="square"):
    return json.loads(json.dumps(GRAPHS[which].to_json()))


def hostile():
    """Yield data that is no graph, made from data that is one."""
    for whole in (None, [], "graph", 3, {}, {"symacct_graph": 2}, {"symacct_graph": True}, {"symacct_graph": 1}):
        yield repr(whole), whole
    for key in ("tensors", "ops", "inputs", "outputs", "stated"):
        for value in (None, 3, "b", {}, [None], [[]], [{}], [True], [-1], [10**9], [1.0]):
            if (key, value) != ("stated", None):
                yield f"{key} = {value!r}", {**saved(), key: value}
    fields = {
        "tensors": {
            "id": (None, "0", 1.0, True, -1, 7),
            "shape": (None, "b d", ["b"], {"tuple": [0]}, {"tuple": [-1]}, {"tuple": [True]}, {"tuple": [1.5]}),
            "role": (None, "weird", 3),
            "name": (None, 3),
            "dtype": ("fp13", 3, "__import__('os')"),
            "storage": ("x", 99, 0.5, -1, 0),
            "strides": ({"tuple": []}, {"tuple": [1, 2, 3]}, {"tuple": ["1", "2"]}, [1, 1]),
        },
        "ops": {
            "id": (None, 5, "0", False),
            "kind": (None, 3),
            "inputs": (None, [99], [-1], ["0"], [True], 3),
            "outputs": (None, [], [99], [0], [-1], [0.0]),
            "einsum": (3, "b d", {"einsum": 3}, {"einsum": [[], [], {}]}, {"einsum": [["ab"], ["a"], {"a": 1}, False]}),
            "attrs": (None, 3, [], {"tuple": []}, {"size": "b"}),
            "scope": (None, 3),
            "phase": (None, "sideways", 3),
        },
    }
    for part, of_part in fields.items():
        for field, values in of_part.items():
            for value in values:
                data = saved()
                data[part][0][field] = value
                yield f"{part}[0][{field}] = {value!r}", data
            data = saved()
            del data[part][0][field]
            yield f"no {field} in {part}[0]", data


HOSTILE = dict(hostile())


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_graph_is_refused(data):
    with pytest.raises(GraphError):
        Graph.from_json(data)


ATTRIBUTES = [
    {"size": "__import__('os').system('x')"},
    {"size": "b.c"},
    {"size": 3},
    {"size": ["b"]},
    {"size": "2**10**10"},
    {"size": "(" * 5000},
    {"fraction": [1, 0]},
    {"fraction": ["1", 2]},
    {"fraction": "1/2"},
    {"fraction": [1]},
    {"float": "1e5"},
    {"float": 3},
    {"einsum": []},
    {"graph": {}},
    {"graph": None},
    {"tuple": "ab"},
    {"mapping": [1]},
    {"eval": "1"},
    {"size": "b", "tuple": []},
    {},
]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=[str(a)[:30] for a in ATTRIBUTES])
def test_attributes_are_read_and_never_evaluated(attribute):
    data = saved()
    data["ops"][0]["attrs"] = {"mapping": {"scalar": attribute}}
    with pytest.raises(GraphError, match=r"^not a graph"):
        Graph.from_json(data)


def test_deep_nesting_is_refused():
    data = saved()
    deep: dict = {"tuple": []}
    for _ in range(100_000):
        deep = {"tuple": [deep]}
    data["ops"][0]["attrs"] = {"mapping": {"x": deep}}
    with pytest.raises(GraphError, match="RecursionError"):
        Graph.from_json(data)


def test_bodies_are_checked_too():
    data = saved("nested")
    body = data["ops"][0]["attrs"]["mapping"]["body"]["graph"]
    body["ops"][-1]["inputs"] = [77, 78]
    with pytest.raises(
        GraphError, match=r"operation 0 \(repeat\): its body: operation 1 \(einsum\): it reads tensor 77"
    ):
        Graph.from_json(data)


def test_a_fraction_is_kept_as_one():
    assert _read(_write(Fraction(1, 3))) == Fraction(1, 3)
    assert _write(Fraction(1, 3)) == {"fraction": [1, 3]}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_a_graph_is_a_value_that_does_not_change(graph):
    again = Graph.from_json(graph.to_json())
    assert again is not graph
    assert {graph: 1}[again] == 1
    for op in (*graph.ops, *again.ops):
        with pytest.raises(TypeError, match="does not support item assignment"):
            op.attrs["axis"] = 0
    with pytest.raises(AttributeError):
        graph.ops = ()
