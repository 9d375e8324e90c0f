"""Rates from scripted times, and the device that they make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import symacct as sa
from symacct.errors import HardwareError
from symacct.hardware import Source
from symacct.measuring import Measurement, calibration, rates

torch = pytest.importorskip("torch")

SECONDS, ARRAY = 0.5, 2**20


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every run takes 0.5 to 0.7 s, and is written down."""
    seen: list[dict[str, Any]] = []

    def measure(fn: Any, *inputs: Any, **options: Any) -> Measurement:
        fn(*inputs)
        seen.append(options | {"shapes": [tuple(t.shape) for t in inputs]})
        return Measurement((0.7, 0.6, SECONDS, 0.6, 0.6), "cpu", cold=False)

    monkeypatch.setattr(rates, "measure", measure)
    monkeypatch.setattr(rates, "LARGEST", 256)
    monkeypatch.setattr(rates, "ARRAY", ARRAY)
    monkeypatch.setattr(rates, "LONG", 2**19)  # in the same time fewer calls, so not the better rate
    clock = rates.Clock("cpu", 2**10, lambda c: c() is None, int, tuple)
    monkeypatch.setattr(calibration, "clock_of", lambda _device: clock)
    return seen


@pytest.mark.usefixtures("scripted")
def test_rates_are_work_over_the_shortest_time() -> None:
    found = {(r.meter, r.name): r for r in sa.calibrate("cpu").rates}
    assert found["matmul", "fp32"].value == 256**3 * 2 / SECONDS
    assert found["vector", "add"].value == 2**20 / SECONDS
    assert found["vector", "multiply-add"].value == 2 * 2**20 / SECONDS
    assert found["function", "gelu"].value == 2**20 / SECONDS
    assert found["function", "exp"].unit == "calls/s"
    passes = {"copy": 2, "read": 1, "write": 1, "add": 3}
    assert {n: r.value * SECONDS / ARRAY for (m, n), r in found.items() if m == "memory"} == passes
    assert found["memory", "copy"].spread == 0.0
    assert ("matmul", "tf32") not in found


@pytest.mark.usefixtures("scripted")
def test_functions_are_timed_on_long_arrays_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "LONG", 2**21)
    found = {r.name: r.value for r in sa.calibrate("cpu").rates if r.meter == "function"}
    assert found["exp"] == 2**21 / SECONDS


@pytest.mark.usefixtures("scripted")
def test_the_best_of_one_kind_is_the_peak_and_the_others_are_kept() -> None:
    made = sa.calibrate("cpu")
    assert made.device.bandwidth == 3 * ARRAY / SECONDS
    assert [f.note for f in made.device.bandwidths] == ["add", "copy", "read", "write"]
    assert [f.note for f in made.device.peak("fp32", engine="vector").dense] == ["fp32", "multiply-add", "add"]
    assert made.device.peak("fp32", engine="vector").speed == 2 * 256**3 / SECONDS
    assert made.device.peak("fp32").engine == "matrix"
    assert made.device.peak("fp64").accumulation == "fp64"
    assert made.device.bandwidths[0].source.evidence == "measured"
    assert made.launch == SECONDS / 200


@pytest.mark.usefixtures("scripted")
def test_saved_and_read_again(tmp_path: Path) -> None:
    made = sa.calibrate("cpu")
    read = sa.device(made.save(tmp_path / "here.toml"))
    assert read == made.device
    with pytest.raises(HardwareError, match=r"\.toml"):
        made.save(tmp_path / "here.json")
    with pytest.raises(HardwareError, match="cannot write"):
        made.save(tmp_path / "nowhere" / "here.toml")


@pytest.mark.usefixtures("scripted")
def test_weights_make_the_peak_give_the_time() -> None:
    made = sa.calibrate("cpu")
    calls = 2**20
    assert made.weights["exp"] == 2 * 256**3 // 2**20 == 32
    account = sa.account(sa.exp, x="n", dtype="fp32", convention=sa.Convention("2n", weights=made.weights))
    assert float(account.roofline(made.device).at(n=calls).kernels[0].times.vector) == SECONDS


def test_a_catalogue_device_is_not_written_as_measured() -> None:
    h100 = sa.device("h100")
    other = (replace(h100.bandwidths[0], source=Source("elsewhere", "2026-01-01", "recalled")),)
    with pytest.raises(HardwareError, match="figures of"):
        calibration.to_toml(replace(h100, bandwidths=h100.bandwidths + other))


@pytest.mark.usefixtures("scripted")
def test_progress_and_table() -> None:
    told: list[str] = []
    made = sa.calibrate("cpu", tell=told.append)
    assert told[0] == "matmul fp64"
    assert len(told) == len(made.rates)
    assert "copy" in str(made)
    assert made.to_json()["rates"][0]["unit"] == "FLOP/s"


def test_precision_of_products_is_put_back() -> None:
    before = torch.get_float32_matmul_precision()
    inside = []

    def fails() -> None:
        with rates._fp32_products("high"):
            inside.append(torch.get_float32_matmul_precision())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert inside == ["high"]
    assert torch.get_float32_matmul_precision() == before
