"""The command check: verdicts, exit codes, languages, JSON."""

from __future__ import annotations

import json
import re

import pytest


def test_a_right_answer(run) -> None:
    assert run("check", "2BDK", "b d, d k -> b k") == (0, "right\n", "")


def test_a_wrong_answer_has_exit_code_1_a_counterexample_and_the_mistake(run) -> None:
    ran = run("check", "BDK", "2*B*D*K", "--symbols", "B=rows,D=width,K=outputs", "--unit", "FLOPs")
    assert ran.code == 1
    assert ran.out.splitlines()[0] == "wrong: at B=2, D=3, K=5: 30, not 60"
    assert "MACs" in ran.out


def test_modes_and_given_sizes(run) -> None:
    assert run("check", "~n/3", "(2*n - 1)/6", "--mode", "asymptotic", "--var", "n").code == 0
    assert run("check", "60", "2*B*D*K", "--at", "B=2,D=3,K=5").code == 0
    days = ("6*70e9*15e12/(1024*989.5e12*0.5)/86400", "--mode", "numeric", "--unit", "days")
    assert run("check", "143.9 days", *days).code == 0
    assert run("check", "150 days", *days).code == 1
    assert run("check", "150 days", *days, "--rtol", "0.1").code == 0


def test_chinese(run) -> None:
    out = run("check", "BDK", "2*B*D*K", "--lang", "zh").out
    assert out.startswith("错误")
    assert "当 B=2, D=3, K=5 时得 30，应为 60" in out
    ran = run("check", "2BDK(", "b d, d k -> b k", "--lang", "zh", "--show-derivation")
    assert not set(re.findall("[a-z]{4,}", ran.out)) - {"exact"}


def test_the_derivation_is_printed_when_asked_for(run) -> None:
    assert "summed: d" in run("check", "BDK", "b d, d k -> b k", "--show-derivation").out
    assert "summed: d" not in run("check", "BDK", "b d, d k -> b k").out


def test_json_has_stable_keys(run) -> None:
    data = json.loads(run("check", "BDK", "b d, d k -> b k", "--json").out)
    assert list(data) == [
        *("correct", "proof", "counterexample", "mistakes", "findings", "other_convention", "reading", "problem"),
        *("warnings", "truth", "derivation"),
    ]
    assert data["counterexample"] == {"sizes": {"b": 2, "d": 3, "k": 5}, "answer": 30, "truth": 60}


@pytest.mark.parametrize(
    "words",
    [
        ("2B", "2*("),
        ("2B", "2*B", "--mode", "exactly"),
        ("2B", "2*B", "--symbols", "B=,C"),
        ("2B", "2*B", "--lang", "fr"),
        ("2B", "2*B", "--at", "B=x"),
        ("2B", "nothing.py"),
    ],
)
def test_a_bad_question_has_exit_code_2_and_one_message(run, words) -> None:
    ran = run("check", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("symacct: ")


@pytest.mark.parametrize("name", ["graphs", "key.toml", "n", "link"])
def test_a_path_is_no_formula(run, tmp_path, monkeypatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "graphs").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    for file in ("key.toml", "n"):
        (tmp_path / file).write_text("x", encoding="utf-8")
    ran = run("check", "2B", name)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"symacct: {name!r} is a ")
    assert run("check", "2n", "2*n", "--symbols", "n").code == 0
    assert run("check", "n", "n", "--symbols", "n").code == 0


def test_an_answer_that_does_not_read_is_wrong(run) -> None:
    ran = run("check", "2B(", "2*B")
    assert ran.code == 1
    assert "the formula ends here" in ran.out


def test_the_list_of_mistakes_is_published(run) -> None:
    from symacct.answers import MISTAKES

    out = run("mistakes").out
    assert all(code in out for code in MISTAKES)
    assert max(map(len, out.splitlines())) <= 80
    assert list(json.loads(run("mistakes", "--json", "--lang", "zh").out)) == list(MISTAKES)
