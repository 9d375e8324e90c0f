"""Timings: the grid, what is kept back, predictions and findings, on times that are made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import symacct as sa
from symacct.measuring import Measurement
from verify.timings import estimator, findings, predictions, report
from verify.timings.cases import CASES, SHARES, Case
from verify.timings.points import Point, fixed_digest, points

CACHE = 2**20
NAMES = {case.name: case for case in CASES}


def took(seconds: float, *others: float) -> Measurement:
    return Measurement((seconds, *others), "cpu", cold=True)


@pytest.fixture(scope="module")
def grid() -> list[Point]:
    chosen = [NAMES[n] for n in ("relu", "gelu_tanh", "square", "linear", "softmax")]
    roofs = {case.name: case.account("fp32").roofline("h100") for case in chosen}
    return points(chosen, roofs, "cpu", "fp32", CACHE)


def test_the_grid_moves_the_stated_shares_of_the_cache() -> None:
    sizes = NAMES["relu"].sizes("cpu", "fp32", CACHE)
    assert [8 * s["n"] / CACHE for s in sizes] == pytest.approx(list(SHARES), rel=1e-4)
    rows = NAMES["softmax"].sizes("cpu", "fp32", CACHE)
    assert [8 * 1000 * s["n"] / CACHE for s in rows] == pytest.approx(list(SHARES), rel=0.03)
    assert NAMES["square"].sizes("cuda", "bf16", CACHE)[0] == {"n": 1000}


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_operation_is_accounted_for(case: Case) -> None:
    account = case.account("fp32")
    assert set(account.names) == {case.free, *case.fixed}
    assert account.total("bytes") != 0


def test_half_is_kept_back_and_always_the_same(grid: list[Point]) -> None:
    for name in ("relu", "square", "linear"):
        mine = [p for p in grid if p.case.name == name]
        assert sum(p.held_back for p in mine) == len(mine) // 2
    kept = sorted(p.key for p in grid if p.held_back and p.case.name == "square")
    assert kept == ["square fp32 n=450", "square fp32 n=650", "square fp32 n=900"]


def test_predictions_follow_the_factor_of_the_open_half(grid: list[Point]) -> None:
    best = predictions.at_best(grid, launch=0.0)
    taken = {p.key: 3 * best[p.key] for p in grid if not p.held_back}
    guessed = predictions.predicted(grid, best, taken)
    assert set(guessed) == {p.key for p in grid if p.held_back}
    assert all(seconds == pytest.approx(3 * best[key]) for key, seconds in guessed.items())


def test_a_factor_goes_over_from_one_open_point_to_the_next() -> None:
    known = [(0.0, 1.0), (2.0, 3.0)]
    assert [predictions._between(x, known) for x in (-1.0, 0.0, 0.5, 1.0, 2.0, 9.0)] == [1.0, 1.0, 1.5, 2.0, 3.0, 3.0]


def test_an_operation_without_open_points_takes_its_familys_factor(grid: list[Point]) -> None:
    best = predictions.at_best(grid, launch=0.0)
    taken = {p.key: 2 * best[p.key] for p in grid if not p.held_back and p.case.name == "relu"}
    guessed = predictions.predicted(grid, best, taken)
    gelu = next(p.key for p in grid if p.held_back and p.case.name == "gelu_tanh")
    softmax = next(p.key for p in grid if p.held_back and p.case.name == "softmax")
    assert guessed[gelu] == pytest.approx(2 * best[gelu])
    assert guessed[softmax] == best[softmax]


def test_a_kernel_takes_at_least_its_launch(grid: list[Point]) -> None:
    assert min(predictions.at_best(grid, launch=1.0).values()) == 1.0


def test_errors_by_hand(grid: list[Point]) -> None:
    mine = [p for p in grid if p.case.name in ("relu", "square")][:4]
    taken = dict(zip([p.key for p in mine], [1.0, 1.0, 1.0, 10e-6], strict=True))
    guessed = dict(zip([p.key for p in mine], [1.1, 0.8, 1.5, 5.0], strict=True))
    whole, families = predictions.errors(mine, guessed, taken)
    assert (whole.count, whole.median, whole.worst) == (3, pytest.approx(0.2), pytest.approx(0.5))
    assert whole.ninety == pytest.approx(0.2 + 0.8 * 0.3)
    assert not whole.reached
    assert set(families) == {"pointwise"}


def test_the_digest_notices_a_changed_prediction() -> None:
    assert fixed_digest({"a": 1.0, "b": 2.0}) == fixed_digest({"b": 2.0, "a": 1.0})
    assert fixed_digest({"a": 1.0}) != fixed_digest({"a": 1.0001})


@pytest.mark.claim("S41")
def test_a_time_below_the_bound_is_a_violation(grid: list[Point]) -> None:
    large = [p for p in grid if p.bytes > 4 * CACHE]
    assert large
    fine = {p.key: took(p.seconds * 0.96) for p in grid}
    assert findings.below(grid, fine, CACHE, 0.05) == {"checked": len(large), "within": 0.05, "violations": []}
    broken = {**fine, large[0].key: took(large[0].seconds * 0.94)}
    (violation,) = findings.below(grid, broken, CACHE, 0.05)["violations"]
    assert violation["point"] == large[0].key
    assert violation["ratio"] == pytest.approx(0.94)


def test_growth_tells_the_side_of_the_ridge(grid: list[Point]) -> None:
    mine = [p for p in grid if p.case.name == "linear"]
    assert {p.bound for p in mine} == {"memory", "compute"}
    right = {p.key: took(p.seconds) for p in mine}
    found = findings.growths(mine, right)
    assert found["checked"] == found["confirmed"] > 3
    wrong = {p.key: took(p.bytes if p.bound == "compute" else p.flops) for p in mine}
    assert findings.growths(mine, wrong)["confirmed"] == 0


def test_the_corner_of_measured_times(grid: list[Point]) -> None:
    mine = [p for p in grid if p.case.name == "linear"]
    times = {p.key: took(max(8.0, p.sizes["b"])) for p in mine}
    assert findings.turning(mine, times, 10) == {"predicted": 10, "measured": 8.0, "ratio": 0.8}
    assert findings.turning(mine, {}, 10) == {"status": "not measured"}


@pytest.mark.claim("S45")
def test_relu_and_gelu_on_a_gpu(grid: list[Point]) -> None:
    same = {p.key: took(1.0, 1.0, 1.01) for p in grid}
    assert findings.same_time(grid, same, "cuda")["status"] == "agrees"
    assert findings.same_time(grid, same, "cpu")["status"] == "not run here: needs a GPU"
    slower = {p.key: took(2.0 if p.case.name == "gelu_tanh" else 1.0) for p in grid}
    assert findings.same_time(grid, slower, "cuda")["status"] == "disagrees"
    assert findings.same_time(grid, slower, "cuda")["gelu_over_relu"] == 2.0


def test_torchs_estimate_needs_a_gpu(grid: list[Point]) -> None:
    assert estimator.estimates(grid, "cpu") == ({}, "not run here: needs a GPU")


def test_page_and_pictures(grid: list[Point], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    from rich.console import Console

    from verify.timings import __main__ as timings

    monkeypatch.setattr(report, "RESULTS", tmp_path)
    best = predictions.at_best(grid, 0.0)
    taken = {p.key: took(2 * p.seconds + 1e-4) for p in grid}
    medians = timings.medians(taken)
    guessed = predictions.predicted(grid, best, medians)
    found: dict[str, Any] = {
        "device": "a made up machine",
        "software": "torch",
        "date": "2026-11-30",
        "operations": 5,
        "points_measured": len(taken),
        "digest": fixed_digest(guessed),
        "middle_spread": findings.middle_spread(taken),
        **timings.by_family(grid, best, guessed, medians),
        "bound_below_measured": findings.below(grid, taken, CACHE, 0.05),
        "growth": findings.growths(grid, taken),
        "turning": findings.turning(grid, taken, 10),
        "relu_and_gelu": findings.same_time(grid, taken, "cpu"),
        "torch_estimate": {"status": estimator.NEEDS, "errors": None},
    }
    timings.publish("cpu", found, report.rows(grid, best, guessed, taken), Console(quiet=True))
    page = (tmp_path / "cpu.md").read_text(encoding="utf-8")
    assert "not run here: needs a GPU" in page
    assert "| pointwise |" in page
    for name in ("cpu.json", "cpu-times.svg", "cpu-errors.svg"):
        assert (tmp_path / name).stat().st_size > 500


def test_a_point_runs_on_what_its_graph_takes() -> None:
    from verify.timings.points import run

    case = NAMES["layer_norm"]
    roofs = {"layer_norm": case.account("fp32").roofline("h100")}
    point = points([case], roofs, "cpu", "fp32", 2**14)[0]
    assert len(run(point, "cpu", 1e-4).samples) >= 5


def test_measured_weights_change_the_account_alone() -> None:
    counted = sa.Convention("2n", weights={"exp": 50})
    assert NAMES["exp"].account("fp32", counted).total("flops") == 50 * NAMES["exp"].account("fp32").total("flops")
