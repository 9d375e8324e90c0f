"""The commands about time on a device: what they print, what they draw, and mistakes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

MATMUL = "b d, d k -> b k"
MLP = str(Path(__file__).resolve().parents[2] / "graphs" / "mlp.py")
MLP_SIZES = ["b=64", "s=1024", "d=4096", "f=16384"]


@pytest.mark.claim("S43", "S48")
def test_a_roofline_in_names(run) -> None:
    ran = run("roofline", "i j, j k -> i k", "i=n", "j=n", "k=n", "--convention", "exact", "--device", "h100")
    assert ran.code == 0
    assert "n >= 887" in ran.out
    assert "295.373 FLOP/B" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_a_roofline_in_numbers(run) -> None:
    ran = run("roofline", MATMUL, "b=64", "d=4096", "k=4096", "--device", "h100")
    assert "memory   21.0%     10.33 us" in ran.out
    assert "b = 64, d = 4096, k = 4096" in ran.out
    data = json.loads(run("roofline", MATMUL, "b=64", "d=4096", "k=4096", "--device", "h100", "--json").out)
    assert data["bound"] == "memory"
    assert data["kernels"][0]["flops"] == 2 * 64 * 4096 * 4096


def test_a_file(run) -> None:
    data = json.loads(run("roofline", MLP, *MLP_SIZES, "--device", "h100", "--json").out)
    assert [k["bound"] for k in data["kernels"]] == ["compute", "memory", "compute"]
    fused = json.loads(run("roofline", MLP, *MLP_SIZES, "--device", "h100", "--fuse", "pointwise", "--json").out)
    assert fused["times"]["per op"] == data["times"]["fused"]


@pytest.mark.claim("S2")
def test_a_waterfall(run) -> None:
    words = [MLP, *MLP_SIZES, "--device", "h100", "--communication", "2 ms", "--json"]
    data = json.loads(run("waterfall", *words).out)
    assert data["losses"][-1] == {"cause": "communication", "seconds": 0.002, "points": 0.002 / data["seconds"]}
    assert sum(x["points"] for x in data["losses"]) == pytest.approx(1 - data["mfu"])
    tiled = json.loads(
        run("waterfall", MLP, "b=1", "s=129", "d=128", "f=128", "-D", "h100", "--tile", "128x64", "--json").out
    )
    assert "sizes rounded up to tiles" in [x["cause"] for x in tiled["losses"]]


def test_a_waterfall_of_a_step(run) -> None:
    words = [MLP, *MLP_SIZES, "--device", "h100", "--json"]
    forward = json.loads(run("waterfall", *words).out)
    step = json.loads(run("waterfall", *words, "--training").out)
    again = json.loads(run("waterfall", *words, "--training", "--recompute").out)
    assert step["products_at_the_peak"] == pytest.approx(2.5 * forward["products_at_the_peak"])  # x has no gradient
    assert again["products_at_the_peak"] == step["products_at_the_peak"]
    assert "recompute" in [x["cause"] for x in again["losses"]]
    assert again["mfu"] < step["mfu"]


def test_regimes(run) -> None:
    assert "b = k" in run("regimes", MATMUL, "k=4096", "--over", "b,d").out
    data = json.loads(run("regimes", MATMUL, "k=8192", "d=4096", "--over", "b", "--device", "h100", "--json").out)
    assert data["borders"][0]["at"] == "b = d*k*ridge/(d*k - d*ridge - k*ridge)"


def test_pictures(run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    sizes = ["b=64", "d=4096", "k=4096"]
    for words in (
        ["roofline", MATMUL, *sizes, "--device", "h100"],
        ["roofline", MATMUL, *sizes, "--device", "h100", "--of", "time"],
        ["waterfall", MATMUL, *sizes, "--device", "h100"],
        ["regimes", MATMUL, "k=64", "--over", "b,d"],
    ):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.svg"
        ran = run(*words, "--plot", str(path))
        assert (ran.code, ran.err) == (0, f"drawn: {path}\n")
        assert path.read_text(encoding="utf-8").startswith("<?xml")


def test_calibrate(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from symacct.measuring import Measurement, rates

    def second(fn: Callable[..., object], *inputs: object, **_: object) -> Measurement:
        fn(*inputs)
        return Measurement((1.0,), "cpu", cold=False)

    monkeypatch.setattr(rates, "measure", second)
    monkeypatch.setattr(rates, "LARGEST", 256)
    monkeypatch.setattr(rates, "ARRAY", 2**20)
    path = tmp_path / "here.toml"
    ran = run("calibrate", "--device", "cpu", "--save", str(path))
    assert ran.err == f"saved: {path}\n"
    assert "33.554 MFLOP/s" in ran.out  # 2 * 256**3 in a second
    assert "compute" in run("roofline", MATMUL, "b=64", "d=64", "k=64", "-D", str(path), "-d", "fp32").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["roofline", MATMUL, "--device", "h101"], "Did you mean 'h100'?"),
        (["roofline", MATMUL, "--device", "h100", "--plot", "x.svg"], "no number for b, d, k"),
        (["roofline", MATMUL, "b=1", "d=1", "k=1", "-D", "h100", "--plot", "x.txt"], "cannot write"),
        (["roofline", MATMUL, "--device", "h100", "--launch", "5 B"], "a time (s) is wanted"),
        (["roofline", MATMUL, "--device", "h100", "--tile", "axb"], "write 128x256"),
        (["roofline", MATMUL, "--device", "h100", "--tile", "0"], "tile"),
        (["roofline", MATMUL, "--device", "h100", "--fuse", "pointwise"], "--fuse is of a file"),
        (["roofline", MATMUL, "--device", "h100", "--engines", "three"], "apart, matrix"),
        (["waterfall", MATMUL, "b=2", "--device", "h100"], "no number for d, k"),
        (["waterfall", MATMUL, "b=2", "d=2", "k=2", "--device", "h100", "--overlap", "some"], "perfect, none"),
        (["waterfall", MATMUL, "b=2", "d=2", "k=2", "--device", "h100", "--recompute"], "give --training too"),
        (["regimes", MATMUL, "--over", "b,z"], "no free size 'z'"),
        (["regimes", MATMUL, "d=2", "--over", "b"], "no number for k"),
        (["regimes", MATMUL, "k=2", "--over", "b,d", "--device", "h100", "--of", "flops"], "--of and --by"),
        (["calibrate", "--device", "abacus"], "no clock"),
    ],
)
def test_mistakes(run, words: list[str], told: str) -> None:
    if words[0] == "calibrate":
        pytest.importorskip("torch")
    ran = run(*words)
    assert ran.code == 2
    assert told in ran.err
    assert ran.out == ""
