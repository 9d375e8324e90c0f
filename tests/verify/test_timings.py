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
from verify.timings.points import Point, Taken, fixed_digest, points

CACHE = 2**20
NAMES = {case.name: case for case in CASES}


def took(*samples: float) -> Taken:
    return Taken([Measurement(samples, "cpu", cold=True)])


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


def test_every_other_size_is_kept_back(grid: list[Point]) -> None:
    for name in {p.case.name for p in grid}:
        mine = [p for p in grid if p.case.name == name]
        sizes = [p.sizes[p.case.free] for p in mine]
        assert sizes == sorted(sizes)
        assert [p.held_back for p in mine] == [False, True] * (len(mine) // 2)


def test_the_quietest_round_counts() -> None:
    rounds = [Measurement(samples, "cpu", cold=True) for samples in ((4.0, 9.0), (2.0, 3.0), (5.0, 5.0))]
    one = Taken(rounds)
    assert (one.seconds, one.spread) == (2.5, pytest.approx(0.5 / 2.5))
    assert one.apart == 1.0


def test_rounds_go_through_all_points_and_what_does_not_run_is_left_out(
    grid: list[Point], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.console import Console

    from verify.timings import __main__ as timings

    mine, ran = [p for p in grid if p.case.name == "relu"][:3], []

    def run(point: Point, _device: str, seconds: float) -> Measurement:
        ran.append(point.key)
        if point is mine[1]:
            raise RuntimeError("out of memory")
        return Measurement((seconds * len(ran),), "cpu", cold=True)

    monkeypatch.setattr(timings, "run", run)
    monkeypatch.setattr(timings, "ROUNDS", 2)
    with (console := Console(quiet=True)).capture():
        taken = timings.measured(mine, "cpu", 1.0, console)
    assert ran == [mine[0].key, mine[1].key, mine[2].key, mine[0].key, mine[2].key]
    assert {key: t.seconds for key, t in taken.items()} == {mine[0].key: 0.5, mine[2].key: 1.5}


def test_predictions_follow_the_factor_of_the_open_half(grid: list[Point]) -> None:
    best = predictions.at_best(grid, launch=0.0)
    taken = {p.key: 3 * best[p.key] for p in grid if not p.held_back}
    guessed = predictions.predicted(grid, best, taken)
    assert set(guessed) == {p.key for p in grid if p.held_back}
    assert all(seconds == pytest.approx(3 * best[key]) for key, seconds in guessed.items())


def test_a_factor_goes_over_from_one_open_point_to_the_next() -> None:
    known = [(0.0, 1.0), (2.0, 4.0), (3.0, 1.0)]
    assert [predictions._between(x, known) for x in (-1.0, 0.0, 1.0, 2.0, 2.5, 9.0)] == [1.0, 1.0, 2.0, 4.0, 2.0, 1.0]


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


class TestGrowth:
    """On `linear`, whose ridge on an H100 in fp32 is at b = 41: work grows as b, the bytes hardly at all."""

    @pytest.fixture
    def line(self, grid: list[Point]) -> list[Point]:
        return [p for p in grid if p.case.name == "linear"]

    def test_what_the_roofline_says_is_confirmed_but_near_the_ridge(self, line: list[Point]) -> None:
        found = findings.growths(line, {p.key: took(p.seconds) for p in line})
        sides = {(s["from"].split()[2], s["to"].split()[2], s["verdict"]) for s in found["steps"]}
        assert {("b=1", "b=2", "confirmed"), ("b=3", "b=6", "confirmed"), ("b=128", "b=256", "confirmed")} <= sides
        assert ("b=8", "b=16", "confirmed") in sides
        assert ("b=16", "b=32", "near the ridge") in sides
        assert found["refuted"] == found["not_told"]["within the spread"] == 0
        assert found["confirmed"] + found["not_told"]["near the ridge"] == len(found["steps"])

    def test_the_other_growth_refutes(self, line: list[Point]) -> None:
        a, b = line[:2]
        (one,) = findings.growths([a, b], {a.key: took(a.seconds), b.key: took(1.9 * b.seconds)})["steps"]
        assert (one["predicted"], one["grows_like"], one["verdict"]) == ("memory", "compute", "refuted")
        flat = {p.key: took(1.5 * line[-2].seconds) for p in line}
        assert findings.growths(line[-2:], flat)["refuted"] == 1

    def test_what_takes_more_than_twice_the_roof_is_bound_by_neither(self, line: list[Point]) -> None:
        found = findings.growths(line[-2:], {p.key: took(2.1 * p.seconds) for p in line})
        assert found["not_told"] == {"near the ridge": 0, "far from the roof": 1, "within the spread": 0}

    def test_within_the_spread_nothing_is_told(self, line: list[Point]) -> None:
        a, b = line[-2:]
        middle = took(1.42 * a.seconds)
        exact = findings.growths([a, b], {a.key: took(a.seconds), b.key: middle})
        assert exact["not_told"]["within the spread"] == 0
        wide = took(0.9 * a.seconds, a.seconds, 1.1 * a.seconds)
        assert findings.growths([a, b], {a.key: wide, b.key: middle})["not_told"]["within the spread"] == 1

    def test_steps_go_as_far_as_they_must(self, grid: list[Point]) -> None:
        mine = [p for p in grid if p.case.name == "square"]
        found = findings.growths(mine, {p.key: took(p.seconds) for p in mine})
        sizes = [(s["from"].split("=")[1], s["to"].split("=")[1]) for s in found["steps"]]
        assert sizes == [(str(n), str(2 * n)) for n in (200, 300, 400, 600, 800, 1200)]

    def test_where_work_and_bytes_grow_alike_there_is_no_step(self, grid: list[Point]) -> None:
        mine = [p for p in grid if p.case.name == "relu"]
        assert findings.growths(mine, {p.key: took(p.seconds) for p in mine})["steps"] == []


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
    medians = timings.seconds_of(taken)
    guessed = predictions.predicted(grid, best, medians)
    found: dict[str, Any] = {
        "device": "a made up machine",
        "software": "torch",
        "date": "2026-11-30",
        "operations": 5,
        "points_measured": len(taken),
        "digest": fixed_digest(guessed),
        "rounds": 1,
        "noise": findings.noise(taken),
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
