"""What is told of samples: the middle, the spread, and when not to rely on them."""

from __future__ import annotations

import statistics

import pytest

from symacct.measuring import Measurement
from symacct.units import duration


def measured(*samples: float, notes: tuple[str, ...] = ()) -> Measurement:
    return Measurement(samples, "cpu", cold=True, notes=notes)


def test_median_quartiles_and_spread_by_hand() -> None:
    took = measured(5.0, 1.0, 4.0, 2.0, 3.0)
    assert took.median == float(took) == 3.0
    assert took.best == 1.0
    assert took.quartiles == (2.0, 4.0)
    assert took.spread == pytest.approx(2 / 3)
    assert took.quartiles == pytest.approx(tuple(statistics.quantiles(took.samples, n=4, method="inclusive")[::2]))


def test_one_sample_has_no_spread() -> None:
    assert measured(2.0).spread == 0.0
    assert measured(2.0).quartiles == (2.0, 2.0)


def test_a_narrow_spread_is_told_and_not_doubted() -> None:
    took = measured(*[1.00, 1.01, 1.02, 1.03, 1.04] * 3)
    assert not took.doubts
    assert "\n" not in str(took)
    assert "spread 2.0 %" in str(took)


@pytest.mark.claim("S36")
def test_a_wide_spread_stands_beside_the_figure() -> None:
    took = measured(1.0, 1.0, 2.0, 3.0, 3.0)
    assert "TOO WIDE: half of the samples lie between 1 s and 3 s" in str(took)
    assert took.to_json()["doubts"] == list(took.doubts)


def test_just_at_the_limit_is_not_too_wide() -> None:
    assert measured(0.95, 0.95, 1.0, 1.05, 1.05).spread == pytest.approx(0.1)
    assert not measured(0.951, 0.951, 1.0, 1.05, 1.05).doubts
    assert measured(0.94, 0.94, 1.0, 1.05, 1.05).doubts


def test_slowing_down_is_noticed() -> None:
    slower = [1.0] * 5 + [1.05] * 5 + [1.2] * 5
    assert measured(*slower).drift == pytest.approx(0.2)
    assert any("SLOWED DOWN by 20%" in doubt for doubt in measured(*slower).doubts)
    assert not any("SLOWED" in doubt for doubt in measured(*([1.0] * 10 + [1.04] * 5)).doubts)


def test_a_wide_spread_alone_is_no_slowing_down() -> None:
    mixed = measured(1.0, 1.3, 1.1, 1.2, 1.0, 1.0, 1.3, 1.1, 1.2, 1.0, 1.1, 1.3, 1.2, 1.0, 1.3)
    assert mixed.drift > 0.05
    assert not any("SLOWED" in doubt for doubt in mixed.doubts)


def test_speeding_up_and_few_samples_are_no_throttling() -> None:
    assert not any("SLOWED" in d for d in measured(*([1.2] * 5 + [1.0] * 10)).doubts)
    assert measured(1.0, 1.0, 1.0, 2.0, 2.0, 2.0).drift == 0.0


def test_notes_are_doubts() -> None:
    assert measured(1.0, notes=("input 1 is constant",)).doubts == ("input 1 is constant",)


@pytest.mark.parametrize(
    ("seconds", "text"), [(90.0, "90 s"), (1.0, "1 s"), (0.0321, "32.1 ms"), (1.252e-6, "1.252 us"), (4e-9, "4 ns")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
