"""What students hand in: four formats, one student a file or many, and files that mean harm."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from symacct.errors import FileError
from symacct.grading import read_submissions
from symacct.grading.submissions import left_out

IDS = ("matmul", "square")


def read(folder: Path) -> dict[str, dict[str, str]]:
    return {s.student: dict(s.answers) for s in read_submissions([folder], IDS)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("alice.toml", 'matmul = "2BDK"\nsquare = "n/3"'),
        ("alice.toml", '[answers]\nmatmul = "2BDK"\nsquare = "n/3"'),
        ("x.toml", 'student = "alice"\nMatMul = "2BDK"\nsquare = "n/3"'),
        ("x.toml", '[students.alice]\nmatmul = "2BDK"\nsquare = "n/3"'),
        ("x.toml", '[alice]\nmatmul = "2BDK"\nsquare = "n/3"'),
        ("alice.json", '{"matmul": "2BDK", "square": "n/3"}'),
        ("x.json", '{"student": "alice", "answers": {"matmul": "2BDK", "square": "n/3"}}'),
        ("x.json", '[{"student": "alice", "matmul": "2BDK", "square": "n/3"}]'),
        ("x.json", '{"alice": {"matmul": "2BDK", "square": "n/3"}}'),
        ("x.csv", "student,matmul,square\nalice,2BDK,n/3\n"),
        ("x.csv", "\ufeffstudent;matmul;square\r\nalice;2BDK;n/3\r\n"),
        ("x.csv", '学号\tsquare\tmatmul\nalice\t"n/3"\t2BDK\n'),
        ("alice.csv", "question,answer\nmatmul,2BDK\nsquare,n/3\n"),
        ("x.csv", "student,question,answer\nalice,square,n/3\nalice,matmul,2BDK\n"),
        ("x.toml", 'Student = "alice"\nmatmul = "2BDK"\nsquare = "n/3"'),
        ("alice.json", '[{"question": "matmul", "answer": "2BDK"}, {"Question": "square", "Answer": "n/3"}]'),
        (
            "x.json",
            '{"Name": "alice", "answers": [{"id": "matmul", "answer": "2BDK"}, {"id": "square", "answer": "n/3"}]}',
        ),
        ("x.json", '{"students": [{"student": "alice", "matmul": "2BDK", "square": "n/3", "step": null}]}'),
        ("x.csv", "sep=;\nName;Question;Answer\nalice;matmul;2BDK\nalice;square;n/3\n"),
        ("x.csv", "student,matmul,square,,\nalice,2BDK,n/3,,\n"),
        (
            "alice.md",
            "## [matmul](https://x.org)\n2BDK\n## `square`\n<!-- here:\n## matmul\n-->\n[n/3](https://y.org)\n",
        ),
        (
            "x.md",
            "- **Name:** alice\n\n## matmul – FLOPs\n2BDK\n## square (intensity)\n$$\nn/3\n$$\n".replace("$$\n", ""),
        ),
    ],
)
def test_one_student(handed_in, name: str, text: str) -> None:
    assert read(handed_in(name, text)) == {"alice": {"matmul": "2BDK", "square": "n/3"}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("all.toml", '[alice]\nmatmul = "a"\n[bob]\nmatmul = "b"\nsquare = "c"'),
        ("all.json", '{"students": {"alice": {"matmul": "a"}, "bob": {"matmul": "b", "square": "c"}}}'),
        ("all.csv", "matmul,student,square\na,alice,\nb,bob,c\n"),
        ("all.md", "# Student: alice\n## matmul\na\n# Student: bob\n## matmul\nb\n## square\nc\n"),
    ],
)
def test_many_students_in_a_file(handed_in, name: str, text: str) -> None:
    assert read(handed_in(name, text)) == {"alice": {"matmul": "a"}, "bob": {"matmul": "b", "square": "c"}}


def test_numbers_keep_their_spelling(handed_in) -> None:
    handed_in("a.toml", "matmul = 6.30e24\nsquare = 1_000")
    folder = handed_in("b.json", '{"matmul": 6.30e24, "square": 0.10}')
    assert read(folder) == {
        "a": {"matmul": "6.30e24", "square": "1000"},
        "b": {"matmul": "6.30e24", "square": "0.10"},
    }


def test_nothing_and_blanks_are_no_answer(handed_in) -> None:
    handed_in("a.json", '{"matmul": null, "square": "x"}')
    handed_in("b.toml", "matmul = '  '\nsquare = 'x'")
    handed_in("c.csv", "question,answer\nmatmul,\nsquare,x\n")
    assert read(handed_in("d.md", "matmul:\nsquare: x\n")) == {name: {"square": "x"} for name in "abcd"}


def test_one_name_in_two_spellings_of_its_letters(handed_in) -> None:
    folder = handed_in(
        "all.json", json.dumps({"Zo\u00eb": {"matmul": "a"}, "Zoe\u0308": {"matmul": "b"}, " ": {"matmul": "c"}})
    )
    found = {s.student: s.problem for s in read_submissions([folder], IDS)}
    assert found == {"Zo\u00eb": "'Zo\u00eb' handed in 2 times (all.json); leave one", "all": ""}


def test_what_is_not_read_is_named(handed_in, tmp_path: Path, monkeypatch) -> None:
    folder = handed_in(*GOOD)
    for name in ("alice.pdf", "bob.zip", ".hidden", "notes"):
        handed_in(name, "x")
    (folder / "carol").mkdir()
    assert left_out([folder, folder / "zoe.toml"]) == [
        f"in {str(folder)!r} these are not read: alice.pdf, bob.zip, carol, notes"
    ]
    assert left_out([tmp_path / "none"]) == []

    def refused(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(FileError, match=r"the folder .* cannot be read: Permission denied"):
        read_submissions([folder], IDS)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "# " + "# " * 500_000 + "x"),
        ("a.md", "## matmul" + " " * 500_000 + "#" * 500_000 + "x\n" + "*" * 500_000 + ":" + " " * 500_000),
        ("a.md", "## matmul\nAnswer" + " " * 500_000 + "x\n" + "- " * 500_000 + "\n" + "name" + " " * 500_000),
        ("a.md", "\n" * 99_000 + "x\n- matmul:y"),
        ("a.md", "# matmul\n" + "## x\n" * 90_000),
        ("a.md", "|" * 3_900_000),
        ("a.md", "| matmul | square |\n" + "|a|b|\n" * 90_000),
        ("a.md", "<!--" * 900_000),
        ("a.md", "**" + "*" * 3_900_000 + "\n" + "> " * 1_900_000),
        ("a.md", "[" * 1_900_000 + "](http:" * 200_000),
        ("a.json", '{"matmul": "x", ' + ", ".join(f'"question {i}": ""' for i in range(50_000)) + "}"),
        ("a.toml", 'matmul = "x"\n' + "a".ljust(19_000) + "= 1\n" + "b . " * 5 + "c = 1\n"),
        ("a.csv", "question,answer\n" + "x,y\n" * 400_000),
        ("a.csv", "student,matmul\n" + ",\n" * 400_000),
        ("a.csv", "student," + ",".join(f"c{i}" for i in range(100_000))),
    ],
)
def test_long_files_take_no_long_time(handed_in, name: str, text: str) -> None:
    folder = handed_in(name, text)
    started = time.process_time()
    read_submissions([folder], IDS)
    assert time.process_time() - started < 5


def test_many_unknown_questions_are_summed_up(handed_in) -> None:
    (found,) = read_submissions(
        [handed_in("a.json", json.dumps({"matmul": "x"} | {f"u{i}": "" for i in range(30)}))], IDS
    )
    assert len(found.notes) == 6
    assert found.notes[-1] == "nor 25 others"


def test_an_unknown_question_is_noted(handed_in) -> None:
    (found,) = read_submissions([handed_in("a.toml", 'matmull = "x"\nsquare = "y"')], IDS)
    assert found.notes == ("the key has no question 'matmull'. Did you mean 'matmul'?",)
    assert (found.answers, found.problem) == ({"square": "y"}, "")


GOOD = ("zoe.toml", 'matmul = "2BDK"')
HOSTILE = {
    "huge.md": (b"#" * 10_000_000, "huge.md has more than 4,000,000 bytes, the most that are read"),
    "huge.toml": (b"a = 1\n" * 2_000_000, "huge.toml has more than 1,000,000 bytes, the most that are read"),
    "latin.md": (
        "matmul: 2·B·D·K\n".encode("latin-1"),
        "latin.md, line 1: not UTF-8 (byte 10 is 0xb7); save it as UTF-8",
    ),
    "utf16.csv": ("student,matmul".encode("utf-16"), "utf16.csv is UTF-16, not UTF-8; save it as UTF-8"),
    "binary.json": (b"\x7fELF\0\0\0", "binary.json is binary, not text"),
    "noise.md": (bytes(range(256)) * 20, "noise.md is binary, not text"),
    "empty.toml": (b"", "empty.toml: none of the key's questions is answered; they are matmul, square"),
    "empty.csv": (b"", "empty.csv holds no answers"),
    "empty.md": (b"\n\n", "empty.md holds no answers"),
    "lines.md": (b"\n" * 3_000_000, "lines.md has more than 100,000 lines, the most that are read"),
    "prose.md": (b"# Sorry\n\nThe dog ate it.\n", "prose.md holds no answers"),
    "nested.toml": (
        b"a = " + b"[" * 15_000,
        "nested.toml: not TOML that is read: nested too deeply, or a number of thousands",
    ),
    "tables.toml": (b"a = " + b"{b = " * 3_000, "tables.toml: not TOML that is read: nested too deeply"),
    "dots.toml": (
        b"a." * 9_000 + b"b = 1",
        "dots.toml, line 1: more than 20,000 characters, or names nested deeper than 12",
    ),
    "nested.json": (b"[" * 3_000_000, "nested.json: JSON that is nested too deeply"),
    "broken.json": (b'{"matmul": "2BDK"', "broken.json, line 1: not JSON: Expecting ',' delimiter"),
    "other.toml": (b"hello = 1", "other.toml: none of the key's questions is answered; they are matmul, square"),
    "crowd.json": (b"[" + b"0," * 1_000_000 + b"0]", "crowd.json has 1,000,001 students; at most 20,000"),
    "scalar.json": (b"3", "scalar.json: answers are a table of question and answer"),
    "twice.toml": (
        b'matmul = "a"\nmatmul = "b"\nsquare = "c"',
        "twice.toml, line 2: not TOML: Cannot overwrite a value",
    ),
    "twice.json": (b'{"matmul": "a", "matmul": "b"}', "twice.json: the key 'matmul' stands twice"),
    "twice.csv": (b"question,answer\nmatmul,a\nmatmul,b\n", "twice.csv: the question 'matmul' is answered twice"),
    "header.csv": (b"student,matmul,Matmul\na,b,c\n", "header.csv, line 1: a column stands twice in the header"),
    "twice.md": (b"## matmul\na\n## MATMUL\nb\n", "twice.md: the question 'matmul' is answered twice"),
    "list.toml": (b'matmul = ["2BDK"]', "list.toml: the answer to 'matmul' is no text"),
    "truth.json": (b'{"matmul": true}', "truth.json: the answer to 'matmul' is no text"),
    "quotes.csv": (b'student,matmul\n"a,b\n', "quotes.csv, line 2: not CSV: unexpected end of data"),
    "cell.csv": (
        b"question,answer\nmatmul," + b"x" * 200_000,
        "cell.csv, line 2: not CSV: field larger than field limit",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_file_is_one_line_and_the_others_are_read(handed_in, name: str) -> None:
    content, said = HOSTILE[name]
    handed_in(*GOOD)
    started = time.perf_counter()
    found = {s.student: s for s in read_submissions([handed_in(name, content)], IDS)}
    assert time.perf_counter() - started < 5
    assert found["zoe"].answers == {"matmul": "2BDK"}
    bad = found[name.partition(".")[0]]
    assert bad.problem.startswith(said)
    assert "\n" not in bad.problem
    assert (len(found), bad.answers) == (2, {})


def test_a_broken_row_is_the_problem_of_its_student(handed_in) -> None:
    folder = handed_in("all.csv", "student,matmul,square\nalice,a,b\nbob,a\n,c,d\n")
    handed_in("all.json", '{"carol": {"matmul": "a"}, "dan": {"matmul": "a", "matmul": "b"}, "eve": 3}')
    found = {s.student: (dict(s.answers), s.problem) for s in read_submissions([folder], IDS)}
    assert found == {
        "alice": ({"matmul": "a", "square": "b"}, ""),
        "bob": ({}, "all.csv: line 3 has 2 cells, the header 3"),
        "all": ({}, "all.csv: line 4 names no student"),
        "carol": ({"matmul": "a"}, ""),
        "dan": ({}, "all.json: the key 'matmul' stands twice"),
        "eve": ({}, "all.json: answers are a table of question and answer"),
    }


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.toml", 'square = "n"\nmatmul = true', "the answer to 'matmul' is no text"),
        ("a.json", '{"matmul": {"a": 1}, "square": "n"}', "the answer to 'matmul' is no text"),
        ("a.json", '{"matmul": "x", "square": "n", "matmul": "y"}', "the key 'matmul' stands twice"),
        ("a.json", '{"matmul": "x", "square": "n", "Matmul": "y"}', "the question 'matmul' is answered twice"),
        ("a.csv", "question,answer\nmatmul,x\nsquare,n\nmatmul,y\n", "the question 'matmul' is answered twice"),
        ("a.md", "matmul: x\nsquare: n\nmatmul: x", "the question 'matmul' is answered twice"),
    ],
)
def test_one_answer_that_is_not_graded_takes_no_other(handed_in, name: str, text: str, why: str) -> None:
    (found,) = read_submissions([handed_in(name, text)], IDS)
    assert (found.answers, found.refused, found.problem) == ({"square": "n"}, {"matmul": why}, "")


def test_a_student_in_two_files_is_graded_in_none(handed_in) -> None:
    handed_in("alice.toml", 'matmul = "2BDK"')
    (found,) = read_submissions([handed_in("alice.md", "## matmul\nBDK")], IDS)
    assert found.problem == "'alice' handed in 2 times (alice.md, alice.toml); leave one"
    assert found.answers == {}


def test_links_pipes_and_folders_are_not_followed(handed_in, tmp_path: Path) -> None:
    folder = handed_in(*GOOD)
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps({"matmul": "secret"}), encoding="utf-8")
    (folder / "link.json").symlink_to(secret)
    (folder / "loop.json").symlink_to(folder / "loop.json")
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    found = {s.student: s for s in read_submissions([folder], IDS)}
    assert found.pop("zoe").answers == {"matmul": "2BDK"}
    assert {s.problem for s in found.values()} == {
        "link.json is a link, which is not followed",
        "loop.json is a link, which is not followed",
        "folder.json is not a regular file",
        "pipe.json is not a regular file",
    }


def test_names_of_students_are_names_only(handed_in, tmp_path: Path) -> None:
    folder = handed_in("all.json", json.dumps({"../../etc/passwd": {"matmul": "x"}, "a\n\tb": {"matmul": "y"}}))
    assert set(read(folder)) == {"../../etc/passwd", "a b"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["answers"]


def test_where_there_is_nothing(handed_in, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="there is nothing at"):
        read_submissions([tmp_path / "none"], IDS)
    with pytest.raises(FileError, match=r"no answers in .*: its files end in .csv, .json"):
        read_submissions([handed_in("notes.txt", "x")], IDS)
    with pytest.raises(FileError, match=r"notes.txt ends in none of .csv, .json"):
        read_submissions([tmp_path / "answers" / "notes.txt"], IDS)
