"""The command: exit codes, results that can be compared, and evidence that is out of date."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import strategies as st

from verify import __main__ as command
from verify.check import Check, DisagreementError, agree, at_most, number
from verify.rooms import ROOMS


def _refuse(case: int) -> None:
    agree(case < 7, case < 100, "a number below 7")


GOOD = Check("good", "x = x", "itself", lambda x: agree(x, x, "x"), st.integers(), (1, 2))
BAD = Check("bad", "x < 7", "nothing", _refuse, st.integers(0, 50))
ABSENT = Check("absent", "", "", _refuse, fixed=(9,), needs=("no_such_module",))


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    return tmp_path


def test_agreement_is_written_and_is_the_same_on_every_run(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROOMS, "conventions", (GOOD, ABSENT))
    texts = []
    for seed in ("1", "2"):
        assert command.main(["--room", "conventions", "--examples", "20", "--seed", seed]) == 0
        texts.append((results / "conventions.json").read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    written = json.loads(texts[0])
    assert [c["status"] for c in written["checks"]] == ["agrees", "not run here: no no_such_module"]
    assert written["checks"][0]["examples"] == 22
    assert written["cuda"] == "not run here"
    assert {"python", "numpy", "torch", "opt_einsum", "symacct"} <= set(written["versions"])


def test_disagreement_fails_and_shows_the_smallest_case(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(ROOMS, "conventions", (BAD, GOOD))
    assert command.main(["--room", "conventions", "--examples", "200"]) == 1
    assert "case=7" in capsys.readouterr().out
    statuses = [c["status"] for c in json.loads((results / "conventions.json").read_text())["checks"]]
    assert statuses == ["disagrees", "agrees"]


def test_ci_writes_nothing_and_notices_old_evidence(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "ROOMS", {"conventions": (GOOD,)})
    assert command.main(["--ci"]) == 1  # no results yet
    assert list(results.iterdir()) == []
    assert command.main(["--examples", "5"]) == 0
    assert command.main(["--ci"]) == 0
    monkeypatch.setattr(command, "ROOMS", {"conventions": (GOOD, Check("new", "", "", lambda _: None, fixed=(1,)))})
    assert command.stale() == ["conventions: results of other checks"]
    monkeypatch.setattr(command, "ROOMS", {})
    assert command.stale() == ["conventions: results of a room that is gone"]


@pytest.mark.usefixtures("results")
def test_ci_tries_the_same_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = [[], []]
    for out in seen:
        keep = Check("keep", "", "", out.append, st.integers())
        monkeypatch.setattr(command, "ROOMS", {"conventions": (keep,)})
        command.main(["--ci"])
    assert seen[0] == seen[1]
    assert len(seen[0]) == command.EXAMPLES_IN_CI


def test_agree_and_at_most() -> None:
    with pytest.raises(DisagreementError, match="flops: symacct says 1, the oracle 2"):
        agree(1, 2, "flops")
    with pytest.raises(DisagreementError, match="bound: 3 is more than 2"):
        at_most(3, 2, "bound")
    at_most(2, 2, "bound")


def test_number_is_exact_and_needs_every_size() -> None:
    import symacct as sa

    form = sa.flops("b d, d k -> b k")
    assert number(form, {"b": 10**30, "d": 3, "k": 5}) == 30 * 10**30
    assert str(number(sa.intensity("n, n ->", convention="exact", dtype="int8"), {"n": 3})) == "5/7"
    with pytest.raises(DisagreementError, match="names without a size"):
        number(form, {"b": 1, "d": 2})
