"""Answers in Markdown: headings, lines, tables, and prose that is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from symacct.grading import read_submissions

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
        "# The matmul\nx\n",
        "A matmul: is a product.\n",
        "##matmul\nx\n",
    ],
)
def test_prose_is_no_answer(handed_in, text: str) -> None:
    (found,) = read_submissions([handed_in("README.md", text)], IDS)
    assert found.problem == "README.md holds no answers"


def test_headings_that_only_begin_alike(handed_in) -> None:
    folder = handed_in("a.md", "## matmul2\nx\n## matmul-b\ny\n## matmul, first\nz\n")
    assert read(folder) == {"a": {"matmul": "z"}}
