"""Answers in Markdown: a heading a question, below it the answer; or lines such as ``matmul: 2BDK``."""

from __future__ import annotations

import re
from typing import NamedTuple

from symacct.errors import FileError
from symacct.grading.layouts import Handed

MOST_LINES = 100_000
_STUDENT = re.compile(r"(?:student|name|学生|学号|姓名)\s*[:：]\s*(.+)$", re.IGNORECASE)
_ANSWER = re.compile(r"(?:[-*+]\s+)?\**(?:final\s+answer|answer|答案|答|解答)\**\s*[:：]\s*\**\s*(.*)$", re.IGNORECASE)
_FENCE = re.compile(r"\s*(```+|~~~+)")


def from_markdown(text: str, name: str, questions: tuple[str, ...]) -> list[Handed]:
    r"""Read Markdown.

    A heading whose first word is a question's id begins its answer: the line after ``Answer:``, or else the one
    paragraph below. Without such a heading, lines of ``id: answer``. A heading ``Student: ...`` begins a student.

    Examples
    --------
    >>> from_markdown("## matmul\nEach output sums D products.\n\nAnswer: $2BDK$", "a.md", ("matmul",))
    [Handed(student='', answers=(('matmul', '$2BDK$'),), problem='', notes=())]

    """
    if text.count("\n") > MOST_LINES:
        msg = f"{name} has more than {MOST_LINES:,} lines, the most that are read"
        raise FileError(msg)
    students: list[_Student] = [_Student("", [], [])]
    question, section, fenced = "", list[str](), ""

    def end_section() -> None:
        if question:
            students[-1].add(question, section)
        else:
            students[-1].answers.extend(_plain(section, questions))

    for line in text.split("\n"):
        if fence := _FENCE.match(line):
            fenced = "" if fenced and fence[1].startswith(fenced) else fenced or fence[1]
            continue
        heading = "" if fenced else _heading(line)
        said = (heading or line).strip("*_ ")
        named = _STUDENT.match(said) if heading or not (question or fenced) else None
        if heading or named:
            end_section()
            question, section = _id_of(said, questions) if not named else "", []
            if named:
                students.append(_Student(named[1].strip("*_ "), [], []))
        else:
            section.append(line)
    end_section()
    return [Handed(s.name, tuple(s.answers), "", tuple(s.notes)) for s in students if s.answers]


def _heading(line: str) -> str:
    """Return the text of a heading, or nothing; without a pattern, which would take long over a line of blanks."""
    text = line.lstrip("#")
    marks = len(line) - len(text)
    return text.strip().rstrip("#").rstrip() if 1 <= marks <= 6 and text[:1].isspace() else ""


class _Student(NamedTuple):
    name: str
    answers: list[tuple[str, str]]
    notes: list[str]

    def add(self, question: str, lines: list[str]) -> None:
        """Take the marked answer, or the one paragraph; several without a mark are kept whole, with a note."""
        paragraphs = _paragraphs(lines)
        for at, line in enumerate(lines):
            if marked := _ANSWER.match(line.strip()):
                paragraphs = [marked[1].strip()] if marked[1].strip() else _paragraphs(lines[at + 1 :])[:1]
                break
        if len(paragraphs) > 1:
            self.notes.append(f"several paragraphs below {question!r}; begin the answer with 'Answer:'")
        if paragraphs:
            self.answers.append((question, " ".join(paragraphs)))


def _id_of(heading: str, questions: tuple[str, ...]) -> str:
    """Return the question that a heading begins with, or "" for a heading of something else."""
    folded = heading.strip("`*_ ").casefold()
    fits = [q for q in questions if re.match(re.escape(q.casefold()) + r"(?![\w-])", folded)]
    return max(fits, key=len, default="")


def _paragraphs(lines: list[str]) -> list[str]:
    text = "\n".join(line.strip() for line in lines).strip()
    return [" ".join(p.split()) for p in re.split(r"\n\n+", text)] if text else []


def _plain(lines: list[str], questions: tuple[str, ...]) -> list[tuple[str, str]]:
    out: list[tuple[str, str]] = []
    for line in lines:
        head, colon, answer = re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+", "", line).replace("：", ":").partition(":")
        question = _id_of(head.strip("`*_ "), questions)
        if colon and question and head.strip("`*_ ").casefold() == question.casefold():
            out.append((question, answer.strip().strip("*").strip()))
    return out
