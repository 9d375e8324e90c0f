"""The memory of a step as a picture: the areas are the bytes, role by role."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import ConventionError, UndefinedSizeError
from tests.memory.examples import DEEP

pytest.importorskip("matplotlib")
SIZES = {"b": 64, "d": 32, "L": 5}


def test_areas_are_the_bytes_by_role():
    memory = DEEP.training(optimizer="adamw", policy="bf16", kernel="foreach").memory
    (axes,) = sa.draw(memory, sizes=SIZES).axes
    line = memory.timeline(sizes=SIZES)
    scale = 1e3
    assert axes.get_ylabel() == "bytes alive, kB"
    areas = {area.get_label(): area for area in axes.collections}
    assert list(areas) == list(line.roles)
    heights = {role: area.get_paths()[0].vertices[:, 1].max() * scale for role, area in areas.items()}
    assert heights["parameters"] == pytest.approx(2 * 5 * 32 * 32)
    below = heights["parameters"] + max(line.roles["gradients"])
    assert heights["gradients"] == pytest.approx(below)
    assert max(heights.values()) == pytest.approx(max(line.totals))
    assert {text.get_text() for text in axes.texts} >= {"forward", "backward", "update"}
    assert any(str(memory.at(sizes=SIZES).peak) in text.get_text() for text in axes.texts)


def test_phases_in_order():
    phases = DEEP.training(optimizer="sgd").memory.timeline(sizes=SIZES).phases
    assert phases[0] == "forward"
    assert phases[-1] == "update"
    assert list(phases) == sorted(phases, key=["forward", "backward", "update"].index)


def test_what_cannot_be_drawn(tmp_path):
    memory = DEEP.training(policy="bf16").memory
    with pytest.raises(UndefinedSizeError, match="no number for L, b, d"):
        sa.draw(memory)
    with pytest.raises(ConventionError, match="svg"):
        sa.draw(memory, tmp_path / "memory.txt", sizes=SIZES)
    with pytest.raises(ConventionError, match="ridge"):
        sa.draw(memory, sizes=SIZES, ridge=295)


def test_without_an_optimizer_there_is_no_update_and_borders_are_between_bars():
    def layer(x: "b d", w: "d k"):
        return sa.relu(x @ w)

    account = sa.account(layer, params=["w"])
    sizes = {"b": 2, "d": 3, "k": 4}
    line = account.training().memory.timeline(sizes=sizes)
    assert set(line.phases) == {"forward", "backward"}
    (axes,) = sa.draw(account.training(optimizer="sgd").memory, sizes=sizes).axes
    borders = [line.get_xdata()[0] for line in axes.lines]
    phases = account.training(optimizer="sgd").memory.timeline(sizes=sizes).phases
    assert borders == [phases.index("backward"), phases.index("update")]
