"""The commands about hardware and runs: what they print, and mistakes."""

from __future__ import annotations

import json

import pytest

LECTURE = ["params=70B", "tokens=15T", "devices=1024", "device=h100", "mfu=0.5"]


@pytest.mark.claim("S7")
def test_days(run) -> None:
    ran = run("days", *LECTURE)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("time = 143.93 days\n")
    for part in ("70.000 billion params", "6.300 YFLOP", "h100: bf16, fp32 sums, matrix, dense", "71.96 days"):
        assert part in " ".join(ran.out.split())
    assert max(map(len, ran.out.splitlines())) <= 80


def test_days_of_a_range_and_of_another_unknown(run) -> None:
    assert run("days", *LECTURE[:4], "mfu=0.3..0.5").out.startswith("time = 143.93 days to 239.88 days\n")
    asked = run("days", "params=70B", "days=30", "devices=1024", "device=h100", "mfu=0.5").out
    assert asked.startswith("tokens = 3.127 trillion tokens\n")
    asked = run("days", "params=70B", "tokens=15T", "days=30", "device=h100", "mfu=0.5", "price=$2/h").out
    assert asked.startswith("devices = 4912.69, so 4,913 whole ones\n")
    assert "$7,074,279" in asked


@pytest.mark.parametrize("time", ["days=300", "hours=7200", "seconds=25920000", "time=300 days"])
def test_a_time_in_whatever_unit_is_given_and_not_asked_for(run, time: str) -> None:
    assert run("days", *LECTURE[:4], time).out.startswith("mfu = 0.239878\n")


def test_mfu(run) -> None:
    ran = run("mfu", "flops=6.3e24", "days=144", "devices=1024", "device=h100")
    assert ran.out.startswith("mfu = 0.49974")
    data = json.loads(run("mfu", "flops=6.3e24", "days=144", "devices=1024", "device=h100", "--json").out)
    assert data["quantities"]["mfu"]["float"] == pytest.approx(0.49974, abs=1e-5)


def test_a_dtype_and_a_file(run, tmp_path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[[device]]\nname = "mine"\nmemory = "1 GB"\nbandwidth = "1 GB/s"\n'
        'peaks = [{ dtypes = ["fp8"], dense = "1 TFLOP/s" }]\n'
    )
    asked = ("mfu", "flops=5e11", "time=1 s", "devices=1", "dtype=fp8")
    assert run(*asked, f"device={path}").out.startswith("mfu = 0.5\n")
    assert run("peak", str(path), "fp8").out.startswith("mine: fp8_e4m3fn")


def test_devices(run) -> None:
    every = run("devices").out
    assert every.count("\n") > 40
    assert max(map(len, every.splitlines())) <= 80
    one = run("devices", "tpu-v5e", "m1").out
    assert max(map(len, one.splitlines())) <= 80
    assert "or         810 GB/s" in one
    assert "scaling-book" in one
    assert "(recalled)" in one
    data = json.loads(run("devices", "h100", "--json").out)[0]
    assert data["bandwidth"][0]["value"] == 3.35e12
    assert [f["value"] / 10**9 for f in data["bandwidth"]] == [3350, 3072, 3400]
    assert data["links"][0] == data["links"][0] | {"name": "nvlink4", "count": 18}
    assert {f["evidence"] for p in data["peaks"] for f in (*p["dense"], *p["sparse"])} == {"seen"}
    assert len(json.loads(run("devices", "--json").out)) > 40


def test_peak(run) -> None:
    shown = run("peak", "h100", "bf16").out
    for part in (
        "dense        989.5 TFLOP/s",
        "or         989.4 TFLOP/s",
        "sparse 2:4   1,979 TFLOP/s",
        "295.373 FLOP/B",
    ):
        assert part in shown
    assert "528 units * 1024 operations * 1.83 GHz" in shown
    (data,) = json.loads(run("peak", "rtx4090", "fp16", "--accumulation", "fp16", "--json").out)
    assert (data["accumulation"], data["dense"][0]["value"]) == ("fp16", 330.3e12)
    assert run("peak", "h100", "bf16", "--engine", "vector").out.startswith("h100: bf16, bf16 sums, vector")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["days"], ["time does not follow", "devices*peak*mfu*time"]),
        (["days", "params"], ["'params' is no NAME=VALUE", "params=70B"]),
        (["days", "params=70B", "params=7B"], ["two values, 70B and 7B"]),
        (["days", *LECTURE, "target=mfu"], ["no 'target'"]),
        (["days", *LECTURE[:4], "mfu=1.5"], ["mfu = 1.5", "synchronise"]),
        (["days", *LECTURE[:4], "mfu=half"], ["mfu: 'half' is no quantity"]),
        (["days", "params=70GB", *LECTURE[1:]], ["params: '70GB' is a size in bytes"]),
        (["days", *LECTURE[:3], "device=h101", "mfu=0.5"], ["unknown device 'h101'", "Did you mean", "h100-pcie"]),
        (["days", *LECTURE[:3], "device=none.toml", "mfu=0.5"], ["device: cannot read none.toml"]),
        (["mfu", "flops=6e24", "days=1", "devices=1024", "device=h100"], ["mfu = 68", "causal mask"]),
        (["devices", "h101"], ["unknown device 'h101'"]),
        (["peak", "h100", "fp4"], ["no peak of fp4_e2m1", "It has bf16"]),
        (["peak", "h100", "bf16", "-e", "tensor"], ["unknown engine 'tensor'"]),
        (["peak"], ["Missing argument 'DEVICE'"]),
    ],
)
def test_mistakes(run, words: list[str], says: list[str]) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    for part in says:
        assert part in ran.err
    assert "Traceback" not in ran.err
