"""solve, sweep, compare and account of files: what is printed, as JSON, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import symacct as sa

GRAPHS = Path(__file__).resolve().parents[2] / "graphs"
MLP, GATED, HEADS = (str(GRAPHS / f"{name}.py") for name in ("mlp", "gated_mlp", "multi_head_attention"))
SQUARE = ("i j, j k -> i k", "i=n", "j=n", "k=n")


def test_solve_says_from_which_size_on(run) -> None:
    """n/3 - 1/6 = 295.37 at n = 886.6."""
    ran = run("solve", *SQUARE, "--for", "n", "--reach", "intensity=295.37", "-c", "exact")
    assert (ran.code, ran.out) == (0, "intensity >= 295.37 for n >= 887\n")
    told = json.loads(run("solve", *SQUARE, "--for", "n", "--reach", "intensity=295.37", "-c", "exact", "--json").out)
    assert list(told) == ["quantity", "target", "for", "roots", "regions", "smallest", "conditions"]
    assert (told["regions"], told["smallest"]) == ([[887, None]], 887)
    assert told["roots"][0]["text"] == "88661/100"


def test_solve_of_a_file_at_numbers(run) -> None:
    """The smallest s at which attention of 8 heads of 64 executes 10**12: the one before does not."""
    sizes = ("b=1", "d=512", "h=8", "k=64")
    ran = run("solve", HEADS, *sizes, "--for", "s", "--reach", "flops=10**12", "--json")
    smallest = json.loads(ran.out)["smallest"]
    at = [8 * s * 512 * 512 + (4 * 64 + 6) * 8 * s * s for s in (smallest - 1, smallest)]
    assert at[0] < 10**12 <= at[1]


def test_sweep_is_a_table_of_all_combinations(run) -> None:
    ran = run("sweep", "b d, d k -> b k", "b=1,8", "d=16", "k=2,4", "--json")
    told = json.loads(ran.out)
    assert told["names"] == ["b", "d", "k", "flops", "bytes", "intensity"]
    by_hand = [[b, 16, k, 2 * b * 16 * k, 2 * (b * 16 + 16 * k + b * k)] for b in (1, 8) for k in (2, 4)]
    assert [row[:-1] for row in told["rows"]] == by_hand
    assert [row[-1] for row in told["rows"]] == [row[3] / row[4] for row in by_hand]
    text = run("sweep", "b d, d k -> b k", "b=1,8", "d=16", "k=2,4").out
    assert "1024" in text
    assert max(map(len, text.splitlines())) <= 80
    pairs = json.loads(run("sweep", "b d, d k -> b k", "b=1,8", "d=16", "k=2,4", "--zip", "--json").out)
    assert [row[:3] for row in pairs["rows"]] == [[1, 16, 2], [8, 16, 4]]
    views = json.loads(run("sweep", "b d -> d b", "b=2", "d=3", "--json").out)
    assert views["rows"] == [[2, 3, 0, 24, 0.0]]


def test_layouts_and_kernels_of_a_file(run) -> None:
    flash = str(GRAPHS / "flash_attention.py")
    told = {fuse: json.loads(run("account", flash, "--fuse", fuse, "--json").out) for fuse in ("none", "flash")}
    gap = [told[fuse]["bytes"]["text"] for fuse in ("none", "flash")]
    assert sa.same(f"{gap[0]} - ({gap[1]})", "8*b*h*s^2")
    assert told["flash"]["fuse"] == "flash"
    assert json.loads(run("account", MLP, "--layout", "torch", "--json").out)["layout"] == "torch"


def test_files_are_compared_too(run) -> None:
    ran = run("compare", MLP, GATED)
    assert ran.code == 0
    assert "a is cheaper  17 < 2*d" in ran.out
    assert ran.err == "under 2n\n"
    told = json.loads(run("compare", MLP, "b s d, d f -> b s f", "b=2", "--json").out)
    assert sa.same(told["difference"]["text"], "4*s*d*f - 4*2*f*s*(d + 5)")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sweep", "b d -> b", "b=3"], "no values for d"),
        (["sweep", "b d -> b", "b=3,x", "d=1"], "b=3,x is not a list of whole numbers, such as b=1,8,64"),
        (["sweep", "b d -> b", "b=3,4", "d=1,2,3", "--zip"], "all lists have one length, not b: 2, d: 3"),
        (["sweep", "b d -> b", "b=" + ",".join("1" * 200), "d=" + ",".join("1" * 99)], "19800 points; 10000"),
        (["solve", "b d -> b", "--for", "q", "--reach", "flops=3"], "no free size 'q'"),
        (["solve", "b d -> b", "--for", "b", "--reach", "time=3"], "known: flops, matmul_flops, bytes, intensity"),
        (["solve", "b d -> b", "--for", "b", "--reach", "3"], "NAME=VALUE"),
        (["account", "b d -> b", "--fuse", "flash"], "those of a function, not of a pattern"),
        (["account", MLP, "--fuse", "all"], "unknown fuse 'all'"),
        (["account", MLP, "--layout", "jax"], "unknown layout 'jax'"),
        (["compare", MLP, "nothing.py"], "there is no file 'nothing.py'"),
    ],
)
def test_mistakes_are_one_message(run, words, said) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_target_has_a_unit(run) -> None:
    """Of n numbers of bf16 read, 2*n bytes."""
    assert run("solve", "n -> n", "--for", "n", "--reach", "bytes=80 GB").out == "bytes >= 80 GB for n >= 20000000000\n"
    assert run("solve", *SQUARE, "--for", "n", "--reach", "flops=2 TFLOP").out == "flops >= 2 TFLOP for n >= 10000\n"
    assert run("solve", *SQUARE, "--for", "n", "--reach", "bytes=1 TFLOP").code == 2


PARTLY = """
import symacct as sa

def partly(x: 'b d', w: 'd k'):
    y = x @ w
    return sa.opaque('mystery', [y], [y.shape])
"""


def test_what_is_not_counted_is_said(run, tmp_path: Path) -> None:
    file = tmp_path / "partly.py"
    file.write_text(PARTLY, encoding="utf-8")
    ran = run("solve", str(file), "--for", "b", "--reach", "flops=100")
    assert (ran.code, ran.out) == (2, "")
    assert "flops is partial" in ran.err
    assert "mystery" in ran.err
    ran = run("sweep", str(file), "b=1,2", "d=3", "k=4")
    assert "flops (partial)" in ran.out
    assert "intensity (partial)" in ran.out
    assert "bytes (partial)" not in ran.out
    assert "NOT COUNTED: 1 mystery" in ran.err
    data = json.loads(run("sweep", str(file), "b=1,2", "d=3", "k=4", "--json").out)
    assert data["uncounted"]["mystery"]["text"] == "1"
