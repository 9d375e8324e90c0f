"""Compositions that are drawn fit together, of every kind, and say themselves what shape they yield."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.expr import evaluate, read
from symacct.testing.compositions import OURS, THEIRS, Composition, compositions


@given(compositions())
def test_the_engine_yields_the_shape_that_was_drawn(composition: Composition) -> None:
    graph = sa.account(composition.function()).graph
    assert len(graph.inputs) == len(composition.shapes)
    (out,) = graph.outputs
    ours = [evaluate(size, composition.sizes) for size in graph.tensors[out].shape]
    assert ours == [evaluate(read(axis), composition.sizes) for axis in composition.steps[-1].axes]


def test_every_kind_is_drawn() -> None:
    kinds: set[str] = set()

    @settings(max_examples=300, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def gather(data: st.DataObject) -> None:
        kinds.update(step.kind for step in data.draw(compositions()).steps)

    gather()
    assert kinds == set(OURS) == set(THEIRS)
