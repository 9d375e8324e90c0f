"""The curve of memory against recomputed operations: no plan lies below it."""

from __future__ import annotations

from pathlib import Path

import pytest

import symacct as sa
from symacct.errors import ConventionError, SizeError, UndefinedSizeError
from verify.acting import Acted, as_plan, drawn, plans


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_edge_of_all_plans(seed: int) -> None:
    count, early_stop = 3 + seed % 4, seed % 2 == 0
    _, layers = drawn(300 + seed, count)
    acted = [Acted(layers, plan, early_stop=early_stop) for plan in plans(0, count)]
    edge: list[tuple[int, int]] = []
    for memory, again in sorted({(a.memory, a.again) for a in acted}):
        if not edge or again < edge[-1][1]:
            edge.append((memory, again))
    curve = sa.checkpoint_curve([layer.stage for layer in layers], points=1000, early_stop=early_stop)
    assert [(p.memory, p.again) for p in reversed(curve.points)] == edge
    assert curve.complete
    for point in curve.points:
        again = Acted(layers, as_plan(point.segments), early_stop=early_stop)
        assert (again.memory, again.again, point.sure) == (point.memory, point.again, True)


def test_few_points_are_still_best_at_their_budgets() -> None:
    stages = [layer.stage for layer in drawn(5, 12)[1]]
    curve = sa.checkpoint_curve(stages, points=4)
    assert not curve.complete
    for point in curve.points:
        assert sa.checkpoint(stages, budget=point.memory).recomputed == point.again


def test_as_json_table_and_picture(tmp_path: Path) -> None:
    curve = sa.checkpoint_curve(sa.Stage(1, 3, keeps_input=True, name="layer"), layers=4)
    data = curve.to_json()
    assert list(data) == ["title", "forward", "complete", "points", "assumptions"]
    assert [(p["memory"], p["recomputed"]) for p in data["points"]] == [(16, 0), (13, 1), (9, 2), (7, 3)]
    assert "75.0%" in str(curve)
    pytest.importorskip("matplotlib")
    assert curve.draw(tmp_path / "curve.svg") == tmp_path / "curve.svg"
    assert len(curve.draw().axes) == 1
    with pytest.raises(ConventionError, match="cannot write"):
        curve.draw(tmp_path / "curve.bmp")


def test_it_needs_numbers() -> None:
    with pytest.raises(UndefinedSizeError, match="no number for L"):
        sa.checkpoint_curve(sa.Stage(1, 1), layers="L")
    with pytest.raises(SizeError, match="two at least"):
        sa.checkpoint_curve(sa.Stage(1, 1), layers=4, points=1)
