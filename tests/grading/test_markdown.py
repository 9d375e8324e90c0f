"""Answers in Markdown: headings, lines, tables, and prose that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from symacct.grading import read_submissions
from symacct.grading.submissions import left_out

IDS = ("matmul", "square")


def read(folder: Path) -> dict[str, dict[str, str]]:
    return {s.student: dict(s.answers) for s in read_submissions([folder], IDS)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("alice.md", "# Homework 2\n\n## matmul\n\n2BDK\n\n## square: intensity\nn/3\n"),
        ("alice.md", "## matmul\nEach term is two.\n\n**Answer:** 2BDK\n\n## square\nSo it is so.\n\nAnswer:\n\nn/3\n"),
        ("x.md", "Name: alice\n\n- matmul: 2BDK\n- square: n/3\n"),
        ("x.md", "# 学生：alice\n## matmul\n```\n2BDK\n```\n## square\n答案：n/3"),
        ("alice.md", "| Question | Answer |\n|---|---|\n| matmul | 2BDK |\n| `square` | n/3 |\n"),
        ("x.md", "| Student | matmul | square |\n|:--|:-:|--:|\n| alice | 2BDK | n/3 |\n"),
        ("alice.md", "| matmul | square |\n|---|---|\n| 2BDK | n/3 |\n"),
        ("alice.md", "**matmul**\n\n2BDK\n\nsquare\n------\nn/3\n"),
        ("alice.md", "## 1. matmul\n2BDK\n\n---\n## Question square:\n> n/3\n***\n"),
        ("alice.md", "## matmul\n### Derivation\nmuch\n### Answer\n2BDK\n## square\nmuch\n## Answer: n/3\n"),
        ("alice.md", "- [x] matmul: 2BDK\n* square = <b>n/3</b>\n"),
        ("x.md", "---\nstudent: alice\n---\n## matmul\n2BDK\n## square\n**Answer: n/3**\n"),
        ("x.markdown", "# Student: alice\n1. matmul: 2BDK\n2. square：n/3"),
    ],
)
def test_one_student(handed_in, name: str, text: str) -> None:
    assert read(handed_in(name, text)) == {"alice": {"matmul": "2BDK", "square": "n/3"}}


def test_several_paragraphs_are_kept_with_a_note(handed_in) -> None:
    folder = handed_in("a.md", "## matmul\none\n\ntwo\n")
    (found,) = read_submissions([folder], IDS)
    assert found.answers == {"matmul": "one two"}
    assert found.notes == ("several paragraphs below 'matmul'; begin the answer with 'Answer:'",)


def test_two_marked_answers_are_noted(handed_in) -> None:
    (found,) = read_submissions([handed_in("a.md", "## matmul\nAnswer: one\n\nAnswer: two\n")], IDS)
    assert found.answers == {"matmul": "one"}
    assert found.notes == ("several lines 'Answer:' below 'matmul'; the first counts",)


def test_what_stands_in_a_section_is_no_table_of_answers(handed_in) -> None:
    table = "| matmul | square |\n|---|---|\n| a | b |\n"
    assert read(handed_in("a.md", f"## matmul\n{table}\nAnswer: 2BDK\n")) == {"a": {"matmul": "2BDK"}}


def test_escapes_of_markdown_are_no_part_of_a_formula(handed_in) -> None:
    folder = handed_in("a.md", "## matmul\n2\\*B\\*d\\_ff\n## square\n2*B*(K+1)[D](K)\n")
    assert read(folder) == {"a": {"matmul": "2*B*d_ff", "square": "2*B*(K+1)[D](K)"}}


@pytest.mark.parametrize(
    "text",
    [
        "# Square root of all evil\n\nInstall it.\n",
        "## Matmul benchmarks\n\n    pip install it\n",
        "A matmul: is a product.\n",
        "##matmul\nx\n",
    ],
)
def test_prose_is_no_answer(handed_in, text: str) -> None:
    (found,) = read_submissions([handed_in("a.md", text)], IDS)
    assert found.problem == "a.md holds no answers"


def test_headings_that_only_begin_alike(handed_in) -> None:
    folder = handed_in("a.md", "## matmul2\nx\n## matmul-b\ny\n## matmul, first\nz\n")
    assert read(folder) == {"a": {"matmul": "z"}}


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("## matmul\n2BDK\n## squaer\nn/3\n", ("the key has no question 'squaer'. Did you mean 'square'?",)),
        ("matmul: 2BDK\nsquaer: n/3\n", ("the key has no question 'squaer'. Did you mean 'square'?",)),
        ("# Homework\n## matmul\n2BDK\n", ()),
        ("## matmul\n2BDK\n## Sources\nA book.\n", ("these are no questions of the key: Sources",)),
        (
            "Hello.\n# Setup\nx\n# Use\ny\n## matmul\n2BDK\n### Note\nz\nAnswer: 2BDK",
            ("these are no questions of the key: Setup, Use",),
        ),
    ],
)
def test_names_that_are_no_questions_are_noted(handed_in, text: str, notes: tuple[str, ...]) -> None:
    (found,) = read_submissions([handed_in("a.md", text)], IDS)
    assert (found.answers, found.notes) == ({"matmul": "2BDK"}, notes)


def test_a_hand_in_of_mistyped_names_alone_says_what_they_may_mean(handed_in) -> None:
    (found,) = read_submissions([handed_in("a.md", "## Matmull\n2BDK\n")], IDS)
    assert found.problem == "a.md: none of the key's questions is answered; they are matmul, square"
    assert found.notes == ("the key has no question 'Matmull'. Did you mean 'matmul'?",)


@pytest.mark.parametrize("written", ["2. 2BDK", "2) 2BDK", "(2) 2BDK", "\n 12. 2BDK\n", "Answer: 2BDK"])
def test_the_number_of_a_list_is_no_factor(handed_in, written: str) -> None:
    assert read(handed_in("a.md", f"## matmul\n{written}\n")) == {"a": {"matmul": "2BDK"}}


@pytest.mark.parametrize("written", ["2.5 GB", "2.", "(2)", "(2)*B", "2.B", "1. 2.5 GB"])
def test_numbers_that_are_no_markers_stay(handed_in, written: str) -> None:
    assert read(handed_in("a.md", f"## matmul\n{written}\n")) == {"a": {"matmul": written.removeprefix("1. ")}}


def test_a_readme_is_no_student_unless_it_answers(handed_in) -> None:
    handed_in("zoe.toml", 'matmul = "2BDK"')
    folder = handed_in("README.md", "# Homework\n\n## Setup\n\nInstall it.\n")
    found = read_submissions([folder], IDS)
    assert [s.student for s in found] == ["zoe"]
    assert left_out([folder], found) == [f"in {str(folder)!r} these are not read: README.md"]
    assert [s.student for s in read_submissions([folder / "README.md"], IDS)] == ["README"]
    handed_in("README.md", "## matmul\n2BDK\n")
    found = read_submissions([folder], IDS)
    assert [s.student for s in found] == ["README", "zoe"]
    assert left_out([folder], found) == []
