"""Answers in tables (TOML, JSON, CSV): whose they are, and to which question."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from symacct.errors import FileError
from symacct.grading.tables import Twice, read_json, read_toml

STUDENT = ("student", "student_id", "sid", "学生", "学号", "姓名", "name")
QUESTION = ("question", "question_id", "id", "题目", "题号")
ANSWER = ("answer", "答案", "回答")
ANSWERS = ("answers", "答案")
STUDENTS = "students"
RESERVED = frozenset((*STUDENT, *QUESTION, *ANSWER, *ANSWERS, STUDENTS))
"""What no question may be called: in a file of answers they mean something else."""
MOST_CELLS = 2_000_000
MOST_STUDENTS = 20_000

C = TypeVar("C", list[Any], dict[str, Any])


class Refused(NamedTuple):
    """An answer that is not graded, and why; the others of its student are."""

    why: str


class Handed(NamedTuple):
    """What one student handed in: question and answer in order; the student is "" where the file's name says it."""

    student: str
    answers: tuple[tuple[str, str | Refused], ...]
    problem: str = ""
    notes: tuple[str, ...] = ()


def from_toml(text: str, name: str, questions: tuple[str, ...]) -> list[Handed]:
    r"""Read TOML: ``matmul = "2BDK"``, under ``[answers]`` or not, or one table a student.

    Examples
    --------
    >>> from_toml('student = "alice"\nmatmul = "2BDK"', "a.toml", ("matmul",))
    [Handed(student='alice', answers=(('matmul', '2BDK'),), problem='', notes=())]

    """
    return _from_tables(read_toml(text, name), name, questions)


def from_json(text: str, name: str, questions: tuple[str, ...]) -> list[Handed]:
    """Read JSON: the tables of `from_toml`, or a list of them.

    Examples
    --------
    >>> from_json('{"alice": {"matmul": "2BDK"}, "bob": {"matmul": "BDK"}}', "all.json", ("matmul",))[1]
    Handed(student='bob', answers=(('matmul', 'BDK'),), problem='', notes=())

    """
    data = read_json(text, name)
    if isinstance(data, list) and not _pairs(data):
        return [_from_table("", entry) for entry in _few(data, name)]
    return _from_tables(data, name, questions)


def _from_tables(data: Any, name: str, questions: tuple[str, ...]) -> list[Handed]:
    if not isinstance(data, dict):
        return [_from_table("", data)]
    by_student = data.get(STUDENTS, data)
    named = {q.casefold() for q in (*questions, *RESERVED)}
    several = isinstance(by_student, dict) and any(isinstance(v, dict | Twice) for v in by_student.values())
    if by_student is not data and isinstance(by_student, list):
        return [_from_table("", table) for table in _few(by_student, name)]
    if by_student is not data or (several and not any(k.casefold() in named for k in by_student)):
        if not isinstance(by_student, dict):
            msg = f"{name}: 'students' is a table of one table a student"
            raise FileError(msg)
        return [_from_table(student, table) for student, table in _few(by_student, name).items()]
    return [_from_table("", data)]


def _few(students: C, name: str) -> C:
    if len(students) > MOST_STUDENTS:
        msg = f"{name} has {len(students):,} students; at most {MOST_STUDENTS:,} are graded at a time"
        raise FileError(msg)
    return students


def _pairs(value: Any) -> list[tuple[str, Any]]:
    """Return question and answer from a list of ``{"question": ..., "answer": ...}``, or nothing for another list."""
    pairs = [(_under(QUESTION, v), _under(ANSWER, v)) for v in value if isinstance(v, dict)]
    return pairs if len(pairs) == len(value) and all(isinstance(q, str) for q, _ in pairs) else []


def _under(names: tuple[str, ...], table: Mapping[str, Any]) -> Any:
    """Return what stands under the first of some names, in upper or lower case."""
    folded = {key.casefold(): value for key, value in table.items()}
    return next((folded[name] for name in names if name in folded), None)


def _from_table(student: str, table: Any) -> Handed:
    if isinstance(table, Twice):
        return Handed(student, (), _twice(table))
    pairs = _pairs(table) if isinstance(table, list) else []
    if not pairs and not isinstance(table, dict):
        return Handed(student, (), "answers are a table of question and answer")
    if not pairs:
        named = _under(STUDENT, table)
        student = student or _text(named) or ""
        rest = {k: v for k, v in table.items() if k.casefold() not in STUDENT}
        inner: Any = next((rest.pop(k) for k in ANSWERS if isinstance(rest.get(k), dict | list | Twice)), {})
        if isinstance(twice := inner if isinstance(inner, Twice) else named, Twice):
            return Handed(student, (), _twice(twice))
        pairs = [*rest.items(), *(inner.items() if isinstance(inner, dict) else _pairs(inner) or [("answers", inner)])]
    return Handed(student, tuple((question, _answer(question, value)) for question, value in pairs))


def _answer(question: str, value: Any) -> str | Refused:
    if isinstance(value, Twice):
        return Refused(_twice(value))
    answer = "" if value is None else _text(value)
    return Refused(f"the answer to {question[:60]!r} is no text") if answer is None else answer


def _twice(value: Twice) -> str:
    return f"the key {value.key[:60]!r} stands twice"


def _text(value: Any) -> str | None:
    """Return an answer as text: what was written, or a number; None for lists, tables and truth values."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def from_csv(text: str, name: str, _questions: tuple[str, ...]) -> list[Handed]:
    r"""Read CSV with a header: a column a question, or the columns question and answer; and a column student, or none.

    Examples
    --------
    >>> from_csv("student,matmul\nalice,2BDK\n", "all.csv", ("matmul",))
    [Handed(student='alice', answers=(('matmul', '2BDK'),), problem='', notes=())]
    >>> from_csv("question,answer\nmatmul,2BDK\n", "alice.csv", ("matmul",))
    [Handed(student='', answers=(('matmul', '2BDK'),), problem='', notes=())]

    """
    rows = _rows(text, name)
    return from_rows(rows, name) if rows else []


def from_rows(rows: list[tuple[int, list[str]]], name: str) -> list[Handed]:
    """Read the rows of a table, each with its line, the header first."""
    header = [cell.strip() for cell in rows[0][1]]
    folded = [cell.casefold() for cell in header]
    student, question, answer = (
        next((folded.index(k) for k in keys if k in folded), None) for keys in (STUDENT, QUESTION, ANSWER)
    )
    if len(set(folded) - {""}) < len([cell for cell in folded if cell]):
        msg = f"{name}, line 1: a column stands twice in the header"
        raise FileError(msg)
    handed: dict[str, list[tuple[str, str]]] = {}
    problems: dict[str, str] = {}
    for line, cells in rows[1:]:
        whose = cells[student].strip() if student is not None and student < len(cells) else ""
        if len(cells) != len(header):
            problems.setdefault(whose, f"line {line} has {len(cells)} cells, the header {len(header)}")
            continue
        if student is not None and not whose:
            problems.setdefault("", f"line {line} names no student")
            continue
        given = handed.setdefault(whose, [])
        if question is not None and answer is not None:
            given.append((cells[question].strip(), cells[answer]))
        else:
            given += [(header[i], cell) for i, cell in enumerate(cells) if i != student and cell.strip()]
    everyone = _few(dict.fromkeys([*handed, *problems]), name)
    return [Handed(s, tuple(handed.get(s, ())), problems.get(s, "")) for s in everyone]


def _rows(text: str, name: str) -> list[tuple[int, list[str]]]:
    """Return the rows that are not empty, each with the line it ends at; apart by commas, semicolons or tabs."""
    first = text.partition("\n")[0]
    if told := re.fullmatch(r"sep=(.)", first):  # for Excel, which writes such a line and reads it
        text, first = text[len(first) + 1 :], told[1]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    cells = 0
    try:
        for row in reader:
            cells += len(row)
            if cells > MOST_CELLS:
                msg = f"{name} has more than {MOST_CELLS:,} cells"
                raise FileError(msg)
            if any(cell.strip() for cell in row):
                rows.append((reader.line_num, row))
    except csv.Error as error:
        msg = f"{name}, line {reader.line_num}: not CSV: {error}"
        raise FileError(msg) from None
    return rows
