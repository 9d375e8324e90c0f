"""`symacct checkpoint`: what it prints, as text, JSON, LaTeX and pictures; and mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import symacct as sa

GRAPHS = Path(__file__).resolve().parents[2] / "graphs"
NETWORK = str(GRAPHS / "deep_network.py")


@pytest.mark.claim("S67")
def test_every_strategy_side_by_side(run) -> None:
    ran = run("checkpoint", "layers", "layers=1000")
    assert (ran.code, ran.err) == (0, "")
    rows = {line.split()[0]: line.split()[1:] for line in ran.out.splitlines() if line.strip()}
    # 1001 tensors by block; 31 + 32 by segments of 32; a tensor a level, 10 levels, and one block; 46 by the best cuts
    assert [rows[name][0] for name in ("sqrt", "even", "recursive", "input", "least")] == ["63", "63", "12", "3", "46"]
    assert rows["block"][2:4] == ["(1001", "B)"]
    assert rows["input"][2:4] == ["500.500", "kFLOP"]
    assert max(map(len, ran.out.splitlines())) <= 80


def test_formulas_of_a_worked_graph(run) -> None:
    ran = run("checkpoint", NETWORK, "--dtype", "fp32")
    assert ran.code == 0
    assert " sqrt        8*sqrt(L)*b*d " in ran.out
    assert "sqrt: sqrt(L) divides L" in ran.out
    assert "there are no attention scores to recompute" in ran.out
    one = run("checkpoint", NETWORK, "--dtype", "fp32", "--every", "k")
    assert "segments of k blocks" in one.out
    assert "4*b*d*(k**2 + L)/k" in one.out


def test_layers_of_one_block(run) -> None:
    ran = run("checkpoint", str(GRAPHS / "transformer.py"), "--layers", "L", "--strategy", "block")
    assert ran.out.startswith("L x transformer\n")
    assert "held by forward        2*L*b*d*s " in ran.out


def test_one_plan_as_json_and_latex(run) -> None:
    asked = ["checkpoint", NETWORK, "b=4", "d=8", "L=6", "--dtype", "fp32", "--stages", "0,2-3"]
    data = json.loads(run(*asked, "--json").out)
    assert data["strategy"] == "stages that are recomputed: 0, (2, 3)"
    assert [s["recomputed"] for s in data["segments"]] == [True, False, True, False, False]
    # x, what 1 takes and makes, 2 and 3 recomputed, what 4 and 5 make: 1 + (2) + 2 of 4*8*4 bytes, 3 of the rest
    assert sa.loads(data)["recomputed"]["matmul_flops"] == 3 * 2 * 4 * 8 * 8
    assert r"\sqrt{L}" in run("checkpoint", NETWORK, "--strategy", "sqrt", "--latex").out
    everything = json.loads(run("checkpoint", NETWORK, "--json").out)
    assert list(everything["plans"]) == ["none", "block", "sqrt", "even", "recursive", "input"]
    assert list(everything["missing"]) == ["selective", "least"]


def test_early_stop_is_a_switch(run, tmp_path: Path) -> None:
    file = tmp_path / "first.py"
    file.write_text(
        "import symacct as sa\n"
        "def network(x: 'b d', w: 'L d d'):\n"
        "    return sa.repeat('L', lambda x, w: sa.relu(x) @ w, x, xs=w)\n"
        "worked = sa.Worked(network, params=('w',))\n",
        encoding="utf-8",
    )
    asked = ["checkpoint", str(file), "--strategy", "block"]
    assert " matmul_flops again     0 " in run(*asked).out
    assert " matmul_flops again     2*L*b*d**2 " in run(*asked, "--no-early-stop").out


def test_the_curve_as_a_table_and_a_picture(run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "curve.svg"
    ran = run("checkpoint", NETWORK, "b=64", "d=1024", "L=16", "--plot", str(path))
    assert ran.code == 0
    assert "executed again, % of the forward pass" in path.read_text(encoding="utf-8")
    shares = [float(line.split("%")[0].split()[-1]) for line in ran.out.splitlines() if "% " in line]
    assert shares[0] == 0
    assert shares == sorted(shares)


EMPTY = {"strategy": "unknown strategy ''", "every": "", "stages": "'' names no stages", "budget": "''"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((NETWORK, "--strategy", "squirt"), "unknown strategy 'squirt'"),
        ((NETWORK, "--strategy", "sqrt", "--every", "2"), "give one of them"),
        ((NETWORK, "--strategy", "least"), "no number for L, b, d"),
        ((NETWORK, "L=4", "--stages", "4"), "blocks 0 to 3"),
        ((NETWORK, "L=4", "--stages", "1-2-3"), "names no stages"),
        ((NETWORK, "b=2", "d=3", "L=4", "--budget", "10 B"), "no cuts fit in 10 bytes; the least"),
        ((NETWORK, "--plot", "curve.txt"), "cannot write"),
        ((NETWORK, "b=2", "d=3", "L=4", "--plot", "x.svg", "--every", "2"), "--plot shows all plans"),
        *(((NETWORK, "b=2", "d=3", "L=4", f"--{word}", ""), said) for word, said in EMPTY.items()),
        ((NETWORK, "--latex"), "--latex is for one plan"),
        (("layers",), "no layers="),
        (("layers", "layers=3", "width=4"), "unknown 'width'"),
        ((NETWORK, "--device", "tpu"), "unknown device 'tpu'"),
        (("no_such.py",), "no_such.py"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(run, words: tuple[str, ...], said: str) -> None:
    ran = run("checkpoint", *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "Traceback" not in ran.err
