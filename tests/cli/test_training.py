"""`symacct train`, `memory` and `fit`: what they print, as text and as JSON, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DEEP = str(Path(__file__).parents[2] / "graphs" / "deep_network.py")


def test_train_prints_phases_update_and_memory(run):
    code, out, _ = run("train", DEEP, "--optimizer", "adagrad", "--policy", "bf16", "b=2", "d=4", "L=3")
    assert code == 0
    for row in ("update     336 FLOP", "peak 432 B, backward", "optimizer state   192 B"):
        assert row in out


def test_train_in_names(run):
    out = run("train", DEEP, "--accumulate", "4").out
    assert "17*L*d**2" in out
    assert "each mean loss times 1/4" in out
    assert "where L >= 6" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_train_with_a_number_of_micro_batches_that_is_a_name(run):
    sizes = ("b=2", "d=4", "L=3", "--accumulate", "n")
    assert "n micro-batches a step" in run("train", DEEP, *sizes).out
    assert "peak" in run("train", DEEP, *sizes, "n=3").out
    assert run("memory", DEEP, *sizes).code == 0


def test_train_as_json(run):
    data = json.loads(run("train", DEEP, "b=2", "d=4", "L=3", "--json").out)
    assert data["totals"]["update"]["flops"] == str(14 * 48)
    assert data["memory"]["peak"] == sum(t["bytes"] for t in data["memory"]["held"])
    names = json.loads(run("train", DEEP, "--json").out)
    assert names["memory"]["roles"]["optimizer state"]["text"] == "8*L*d**2"


@pytest.mark.parametrize(("by", "row"), [("tensor", "sum of weights"), ("dtype", "fp32"), ("module", "block")])
def test_memory_by_group(run, by, row):
    code, out, _ = run("memory", DEEP, "--optimizer", "adagrad", "b=2", "d=4", "L=3", "--by", by)
    assert (code, row in out) == (0, True)


def test_the_largest_batch_and_its_parts(run):
    assert "b <= 3,344 in 300.000 MB" in run("memory", DEEP, "d=1024", "L=16", "--largest", "b", "--in", "300 MB").out
    parts = run("memory", DEEP, "d=64", "L=16", "--largest", "b", "--in", "4 MB", "--batch", "4096").out
    assert parts.startswith("4 micro-batches of b = 1024")


def test_json_says_under_what_and_writes_expressions_as_such(run):
    under = {"policy": "amp", "optimizer": "momentum", "kernel": "fused"}
    chosen = ("--policy", "amp", "--optimizer", "momentum", "--json")
    for words in ((), ("b=2", "d=4", "L=3"), ("d=4", "L=3", "--largest", "b", "--in", "1 GB")):
        data = json.loads(run("memory", DEEP, *words, *chosen).out)
        assert {key: data[key] for key in under} == under
    data = json.loads(run("memory", DEEP, "--largest", "d", "--in", "M", *chosen).out)
    assert data["memory"] == {"text": "M", "srepr": "Symbol('M')", "symbols": ["M"]}
    assert all(set(form["symbols"]) == {"L", "M", "b"} for form in data["forms"])
    assert data["conditions"] == ["L >= 6"]


def test_memory_as_a_picture(run, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "memory.svg"
    assert run("memory", DEEP, "b=2", "d=4", "L=3", "--plot", str(path)).code == 0
    assert "optimizer state" in path.read_text()


@pytest.mark.claim("S9", "S10")
def test_fit_is_the_largest_model_of_the_lecture(run):
    out = run("fit", "devices=8", "memory=80 GB").out
    assert out.startswith("at most 53,333,333,333 parameters: an upper bound")
    assert "at most 57,266,230,613 parameters" in out
    assert json.loads(run("fit", "params=70B", "memory=80 GB", "--json").out)["value"]["text"] == "11"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("train", "b d, d k -> b k"), "no file of Python"),
        (("train", "nowhere.py"), "no file"),
        (("train", DEEP, "--optimizer", "adamx"), "Did you mean 'adam"),
        (("train", DEEP, "--policy", "bf-16"), "torch-bf16"),
        (("train", DEEP, "--policy", "param=bf16,grads=fp32"), "Did you mean 'grad'"),
        (("train", DEEP, "--kernel", "slow"), "fused, foreach, forloop"),
        (("train", DEEP, "--accumulate", "0"), "'accumulate'"),
        (("train", DEEP, "z=3"), "'z'"),
        (("memory", DEEP, "--by", "tensor"), "still names"),
        (("memory", DEEP, "--largest", "b"), "--in"),
        (("memory", DEEP, "d=4", "L=3", "--largest", "z", "--in", "1 GB"), "'z'"),
        (("memory", DEEP, "b=2", "d=4", "L=3", "--plot", "memory.txt"), ".svg"),
        (("memory", DEEP, "d=64", "L=8", "--largest", "b", "--in", "100 B", "--batch", "8"), "not even b = 1"),
        (("memory", DEEP, "d=4", "L=3", "--largest", "b", "--in", "1 GB", "--plot", "x.svg"), "--plot"),
        (("memory", DEEP, "d=4", "b=3", "L=3", "--largest", "b", "--in", "1 GB", "--batch", "8"), "given too"),
        (("fit", "devices=2.5", "memory=80 GB"), "a whole number"),
        (("fit", "devices=8"), "give two"),
        (("fit", "devices=8", "speed=3"), "'speed'"),
        (("fit", "devices=8", "memory=80 GB", "--stage", "7"), "stage 7"),
        (("fit", "devices=8", "memory=80 GB", "--optimizer", "adafactor"), "rows"),
    ],
)
def test_what_is_asked_wrongly(run, words, why):
    code, out, err = run(*words)
    assert code == 2
    assert why in err
    assert err.startswith("symacct: ")
    assert not out


OWN = "def own(x: 'b d', w: 'd f', v: 'f d'):\n    return (x @ w) @ v\n"


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(OWN, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("names", ["w,v", "w v"])
def test_parameters_of_a_file_are_named(run, own, names):
    """4*d*f weights of bf16 and as many gradients, 16*d*f of state; what is kept without them is x and x @ w."""
    roles = json.loads(run("memory", own, "--params", names, "--json").out)["roles"]
    assert [roles[role]["text"] for role in ("parameters", "gradients", "optimizer state")] == [
        "4*d*f",
        "4*d*f",
        "16*d*f",
    ]
    account = json.loads(run("account", own, "--params", names, "-d", "param=fp32,act=bf16", "--json").out)
    assert (account["params"]["text"], account["dtype"]) == ("2*d*f", ["bf16", "fp32", "fp32", "bf16"])
    assert account["bytes"]["text"] == "4*(b*d + b*f + 2*d*f)"
    kept = run("residuals", own, "--params", names).out
    assert "2*b*(d + f)" in kept
    # backward: two products of w and v, one of x @ w; none of x, which is no parameter
    assert "10*b*d*f" in run("account", own, "--params", names, "--training").out
    assert "12*b*d*f" in run("account", own, "--training").out
    for words in (("roofline", "-D", "h100"), ("waterfall", "-D", "h100", "b=8", "d=64", "f=256"), ("checkpoint",)):
        assert run(words[0], own, *words[1:], "--params", names).code == 0


@pytest.mark.parametrize("command", ["memory", "train"])
def test_an_optimizer_of_no_parameters_is_refused(run, own, command):
    ran = run(command, own, "--optimizer", "adamw")
    assert (ran.code, ran.out) == (2, "")
    assert "--params w" in ran.err
    assert "no argument 'q' to be a parameter" in run(command, own, "--params", "w,q").err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["account", "-d", "param="], "'param=' is no ROLE=FORMAT"),
        (["account", "-d", "param=fp32,param=bf16"], "'param' has two formats"),
        (["account", "-d", "act=bf16,parm=fp32"], "Did you mean 'param'?"),
        (["account", "-d", "param=fp32"], "no argument is known to be a parameter"),
        (["memory", "--policy", "params=bf16", "--params", "w"], "Did you mean 'param'?"),
        (["memory", "--policy", "param=bf16,state", "--params", "w"], "'state' is no ROLE=FORMAT"),
    ],
)
def test_formats_by_role_that_do_not_read(run, own, words, says):
    ran = run(words[0], own, *words[1:])
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_parameters_of_a_pattern_have_no_names(run):
    assert "--params is of a file" in run("account", "b d, d k -> b k", "--params", "w").err
