"""The commands about assignments: what they print and write, and what they refuse."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tests.grading.conftest import KEY


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    (tmp_path / "key.toml").write_text(KEY, encoding="utf-8")
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "alice.toml").write_text('matmul = "2BDK"\nsquare = "n/3"', encoding="utf-8")
    (tmp_path / "answers" / "bob.md").write_text("## matmul\nBDK\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_class_is_graded_and_reported(run, folder: Path) -> None:
    reports = ("--report", "out.html", "--csv", "out.csv", "--gradescope", "results.json")
    ran = run("grade", "key.toml", "answers", *reports, "--jobs", "1")
    assert (ran.code, ran.err) == (0, "")
    assert " bob       1        matmul, 1 not answered" in ran.out
    assert sorted(p.name for p in folder.iterdir()) == ["answers", "key.toml", "out.csv", "out.html", "results.json"]
    assert "<h1>Products</h1>" in (folder / "out.html").read_text(encoding="utf-8")
    assert "bob,1,5,1,,,bob.md" in (folder / "out.csv").read_text(encoding="utf-8")
    assert json.loads((folder / "results.json").read_text(encoding="utf-8"))["alice"]["score"] == 5


def test_the_key_beside_the_answers_is_no_answer(run, folder: Path) -> None:
    (folder / "notes.pdf").write_bytes(b"%PDF")
    (folder / "all.csv").write_text("student,matmul,email\nzoe,2BDK,z@z\nyan,BDK,y@y\n", encoding="utf-8")
    ran = run("grade", "key.toml", ".", "--json")
    assert [s["student"] for s in json.loads(ran.out)["students"]] == ["yan", "zoe"]
    assert ran.err.splitlines() == [
        "symacct: all.csv: the key has no question 'email'.",
        "symacct: in '.' these are not read: answers, notes.pdf",
    ]
    ran = run("grade", "key.toml", ".", "--json", "--lang", "zh")
    assert ran.err.splitlines() == [
        "symacct: all.csv：没有题目“email”",
        "symacct: 文件夹“.”中以下各项未读取：answers, notes.pdf",
    ]


@pytest.mark.usefixtures("folder")
def test_one_answer_is_told_in_full(run) -> None:
    ran = run("grade", "key.toml", "answers/bob.md", "--lang", "zh")
    assert ran.code == 0
    assert "matmul  1/4  部分正确  BDK" in ran.out
    assert "反例：当 B=2, D=3, K=5 时得 30，应为 60" in ran.out


@pytest.mark.usefixtures("folder")
def test_json(run) -> None:
    ran = run("grade", "key.toml", "answers", "--json")
    assert [(s["student"], s["points"]) for s in json.loads(ran.out)["students"]] == [("alice", 5), ("bob", 1)]


def test_wrong_answers_and_bad_files_are_no_error(run, folder: Path) -> None:
    (folder / "answers" / "eve.json").write_bytes(b"\0\0")
    (folder / "answers" / "mallory.csv").write_text("question,answer\nmatmul,9**9**9**9\n", encoding="utf-8")
    ran = run("grade", "key.toml", "answers")
    assert (ran.code, ran.err) == (0, "symacct: eve.json is binary, not text\n")
    assert " alice" in ran.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("grade", "none.toml", "answers"), "none.toml cannot be read"),
        (("grade", "bad.toml", "answers"), "bad.toml, line 4: unknown key 'formulae'"),
        (("grade", "--lint", "bad.toml"), "bad.toml, line 4: unknown key 'formulae'"),
        (("ask", "bad.toml"), "bad.toml, line 4: unknown key 'formulae'"),
        (("grade", "key.toml"), "no answers to grade"),
        (("grade", "k" * 5000), "File name too long"),
        (("grade", "key.toml", "a" * 5000), "there is nothing at"),
        (("grade", "key.toml", "none"), "there is nothing at 'none'"),
        (("grade", "key.toml", "answers", "--lang", "fr"), "no language 'fr'; known: en, zh"),
        (("ask", "key.toml", "--lang", "fr"), "no language 'fr'"),
        (("grade", "key.toml", "answers", "--lint"), "--lint tries the key alone"),
        (("grade", "key.toml", "answers", "--csv", "key.toml"), "would overwrite what is graded"),
        (("grade", "key.toml", "answers", "--csv", "answers/alice.toml"), "would overwrite what is graded"),
        (("grade", "key.toml", "answers", "--csv", "link.csv"), "would overwrite what is graded"),
        (("grade", "key.toml", "answers", "--csv", "answers/new.csv"), "or stand among it"),
        (("grade", "key.toml", "answers/alice.toml", "--csv", "answers/../key.toml"), "would overwrite"),
        (("grade", "key.toml", "answers", "--csv", "a", "--report", "./a"), "two reports would be written to 'a'"),
        (("grade", "key.toml", "answers", "--csv", "none/a"), "lies in 'none', which is no folder"),
        (("grade", "key.toml", "answers", "--csv", "answers"), "is a folder"),
        (("grade", "key.toml", "answers", "--csv", "loop/a.csv"), "which is no folder"),
    ],
)
def test_what_is_refused_changes_nothing(run, folder: Path, words: tuple[str, ...], said: str) -> None:
    (folder / "bad.toml").write_text('[[question]]\nid = "a"\nprompt = "?"\nformulae = "2"\n', encoding="utf-8")
    (folder / "loop").symlink_to("loop")
    (folder / "link.csv").hardlink_to(folder / "key.toml")
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_a_report_takes_the_place_of_an_older_one(run, folder: Path) -> None:
    for _ in range(2):
        assert run("grade", "key.toml", "answers", "--csv", "out.csv").code == 0
    (folder / "elsewhere.csv").write_text("mine", encoding="utf-8")
    (folder / "link.csv").symlink_to(folder / "elsewhere.csv")
    assert run("grade", "key.toml", "answers", "--csv", "link.csv").code == 0
    assert (folder / "elsewhere.csv").read_text(encoding="utf-8") == "mine"


def test_lint(run, folder: Path) -> None:
    ran = run("grade", "--lint", "key.toml")
    assert (ran.code, ran.out) == (0, "key.toml: 2 questions, 11 statements tried, all hold\n")
    assert run("grade", "--lint", "key.toml", "--lang", "zh").out == "key.toml：2 道题，检验 11 条陈述，全部成立\n"
    (folder / "key.toml").write_text(KEY.replace('right = ["2BDK"', 'right = ["2BDK + 1"'), encoding="utf-8")
    ran = run("grade", "--lint", "key.toml")
    assert ran.code == 2
    assert "key.toml, line 3 (matmul): the right form '2BDK + 1' is rejected" in ran.out
    assert (
        "key.toml 第 3 行（matmul）：正确写法“2BDK + 1”被判为错误"
        in run("grade", "--lint", "key.toml", "--lang", "zh").out
    )
    assert json.loads(run("grade", "--lint", "key.toml", "--json").out)["complaints"][0]["line"] == 3


@pytest.mark.usefixtures("folder")
def test_ask(run, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("BDK\n2BDK\nn/3\n"))
    ran = run("ask", "key.toml")
    assert (ran.code, ran.err) == (0, "")
    assert "partly right" in ran.out
    assert ran.out.endswith("\n5 of 5 points\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("2BDK\n"))
    ran = run("ask", "key.toml", "--json")
    assert json.loads(ran.out)["students"][0]["points"] == 4
    assert "[2/2]" in ran.err


@pytest.mark.usefixtures("folder")
def test_what_is_typed_in_another_encoding_is_an_answer_that_does_not_read(run, monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\n2BDK\n"), encoding="utf-8"))
    ran = run("ask", "key.toml")
    assert (ran.code, ran.err) == (0, "")
    assert "cannot be read as a formula" in ran.out
    assert ran.out.endswith("\n4 of 5 points\n")


def test_a_file_of_another_kind_is_no_hand_in(run, tmp_path: Path) -> None:
    key = Path(__file__).resolve().parents[2] / "examples" / "lecture" / "key.toml"
    file = tmp_path / "code.py"
    file.write_text("print(1)\n", encoding="utf-8")
    ran = run("grade", str(key), str(file))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "symacct: code.py ends in none of .csv, .json, .markdown, .md, .toml\n"


@pytest.mark.parametrize("name", ["prose.md"])
def test_where_nothing_is_answered_the_exit_code_is_2(run, tmp_path: Path, name: str) -> None:
    key = Path(__file__).resolve().parents[2] / "examples" / "lecture" / "key.toml"
    file = tmp_path / name
    file.write_text("The dog ate it.\n", encoding="utf-8")
    ran = run("grade", str(key), str(file))
    assert ran.code == 2
    assert name in ran.err
    assert "nothing here answers a question of the key" in ran.err
    assert "这里没有回答任何题目" in run("grade", str(key), str(file), "--lang", "zh").err
