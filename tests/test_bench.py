"""The bench sums up what it measured: no clock is asserted here."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

import symacct as sa
from bench import fresh, report
from bench.rounds import Comparison, Count, interleave

BENCH = Path(report.__file__).parent


def test_ratios_are_taken_round_by_round() -> None:
    row = report.summary(Comparison("g", "t", [1.0, 2.0, 30.0], [2.0, 8.0, 10.0], at_most=0.5))
    assert row["ratio"] == {"median": 0.5, "quartiles": [0.375, 1.75], "best": 0.5}
    assert (row["this"], row["peer"]) == ({"median": 2.0, "min": 1.0}, {"median": 8.0, "min": 2.0})


@pytest.mark.parametrize(
    ("at_most", "seconds", "met"), [(0.5, None, True), (0.49, None, False), (None, 1.0, True), (None, 0.9, False)]
)
def test_a_target_is_a_ratio_or_a_time(at_most: float | None, seconds: float | None, *, met: bool) -> None:
    row = report.summary(Comparison("g", "t", [1.0, 1.0], [2.0, 2.0], at_most, seconds))
    assert row["met"] is met
    assert report.target(row).endswith("ok" if met else "MISS")


def test_without_a_target_there_is_no_verdict() -> None:
    assert report.summary(Comparison("g", "t", [1.0, 1.0], [2.0, 2.0]))["met"] is None


@pytest.mark.parametrize("ours", [3e-8, 9.996e-7, 9.996e-4, 1e-3, 0.9996, 1.0, 9.96, 59.0])
@pytest.mark.parametrize("peer", [9.996e-3, 1.0, 9.996, 99.96, 999.4])
def test_the_table_has_80_columns(ours: float, peer: float) -> None:
    targets = [(0.02, None), (None, 0.3)]
    rows = [report.summary(Comparison("group", 23 * "t", [ours, 1.1 * ours], [peer, peer], *t)) for t in targets]
    lines = report.table(rows).splitlines()
    assert [len(line) for line in lines if line != "group"] == [80] * 4


def test_contenders_take_turns_and_the_first_round_only_warms_up() -> None:
    ran: list[str] = []
    turns = {name: (lambda item, name=name: ran.append(name + item), ["1", "2"]) for name in ("a", "b")}
    samples = interleave([turns] * 3, lambda: ran.append("-"))
    assert ran == ["-", "b1", "b2", "-", "a1", "a2", "-", "a1", "a2", "-", "b1", "b2", "-", "b1", "b2", "-", "a1", "a2"]
    assert {name: len(s) for name, s in samples.items()} == {"a": 2, "b": 2}


def test_new_patterns_are_new_and_forgotten() -> None:
    drawn = list(islice(fresh.renamed(fresh.MATMUL), 200))
    assert len({frozenset(p) for p in drawn}) == 200
    first = sa.account(drawn[0])
    assert sa.account(drawn[0]) is first
    fresh.forget_patterns()
    assert sa.account(drawn[0]) is not first


def test_the_readme_shows_the_results() -> None:
    readme = (BENCH / "README.md").read_text(encoding="utf-8")
    results = json.loads((BENCH / "results.json").read_text(encoding="utf-8"))
    assert report.refreshed(readme, results) == readme
    assert max(map(len, report.text(results).splitlines())) == 80
    assert all(results["byte_code"].values())


def test_a_readme_without_marks_is_refused() -> None:
    results = json.loads((BENCH / "results.json").read_text(encoding="utf-8"))
    with pytest.raises(SystemExit, match="results"):
        report.refreshed("no marks", results)


def test_counts_stand_beside_what_is_executed_and_who_is_absent_is_named() -> None:
    counts = [Count("GPT-2", 200, "this", 200), Count("GPT-2", 200, "other", 100)]
    counts += [Count("GPT-2", 200, "near", 200_001), Count("GPT-2", 200, "gone", None, "No module named 'gone'")]
    _, row, why = report.counted([c._asdict() for c in counts]).splitlines()
    assert row.split() == ["GPT-2", "200", "exact", "0.5000", "1000.0050", "none"]
    assert why.strip() == "gone: No module named 'gone'"


def test_what_stops_a_peer_is_told() -> None:
    modules = pytest.importorskip("bench.modules", exc_type=ImportError)

    def refuses() -> int:
        raise ModuleNotFoundError("No module named 'fvcore'")

    assert modules.counted(refuses) == (None, "ModuleNotFoundError: No module named 'fvcore'")
    assert modules.counted(lambda: 7) == (7, "")


def test_the_module_and_the_function_execute_what_is_derived_by_hand() -> None:
    """Ours at the sizes of the bench, with attention written out and as one operation."""
    modules = pytest.importorskip("bench.modules", exc_type=ImportError)
    sizes = {"b": 1, "s": 128, "d": modules.WIDTH, "v": modules.VOCABULARY}
    for attention in modules.ATTENTIONS:
        assert modules.ours(attention).at(sizes=sizes).matmul_flops == modules.executed(128)
    tokens = 12 * (4 * 768 * 768 + 2 * 4 * 768 * 768) + 768 * 50257
    assert modules.executed(128) == 2 * 128 * tokens + 2 * 2 * 12 * 128 * 128 * 768
