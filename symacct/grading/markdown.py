"""Answers in Markdown: a heading a question, below it the answer; or lines such as ``matmul: 2BDK``; or a table."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from symacct.errors import FileError, nearest, one_of
from symacct.grading.layouts import RESERVED, STUDENT, Handed, from_rows

MOST_LINES = 100_000
LONGEST_HEADING = 200
LONGEST_ID = 60
_STUDENT = re.compile(r"(?:[-*+]\s+)?\**(?:student|name|学生|学号|姓名)\**\s*[:：]\s*(.+)$", re.IGNORECASE)
_ANSWER = re.compile(r"(?:[-*+]\s+)?\**(?:final\s+answer|answer|答案|答|解答)\**\s*[:：]\s*\**\s*(.*)$", re.IGNORECASE)
_FENCE = re.compile(r"\s*(```+|~~~+)")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|={3,})\s*$")
_MARKS = re.compile(r"^[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(?:\[[ xX]\]\s+)?")
_LINK = re.compile(r"\[([^\[\]]*)\]\(https?:[^()\s]*\)|</?(?:b|i|em|strong|code|br|p)\s*/?>")
_ESCAPED = re.compile(r"\\([*_])")
_NUMBERED = re.compile(r"\s*\(?\d{1,3}[.)]\s+(?=\S)")
_BEFORE = r"(?:(?:question|problem|exercise|题目|问题)\s*)?(?:\d+[.)、]\s*)?"
_AFTER = r"(?=\s*$|\s*[:,;.)](?:\s|$)|\s*[：，；。、（(\[]|\s+[-–—]\s)"


def from_markdown(text: str, name: str, questions: tuple[str, ...]) -> list[Handed]:
    r"""Read Markdown.

    A heading that is a question's id begins its answer: the line after ``Answer:``, or else the one paragraph below.
    Without such a heading, lines of ``id: answer``, or a table of them. A heading ``Student: ...`` begins a student.

    Examples
    --------
    >>> from_markdown("## matmul\nEach output sums D products.\n\nAnswer: $2BDK$", "a.md", ("matmul",))
    [Handed(student='', answers=(('matmul', '$2BDK$'),), problem='', notes=())]

    """
    if text.count("\n") > MOST_LINES:
        msg = f"{name} has more than {MOST_LINES:,} lines, the most that are read"
        raise FileError(msg)
    lines = _without_comments(text).split("\n")
    students: list[_Student] = [_Student("", [], [], [], [])]
    question, title, level, section, fenced = "", "", 0, list[str](), ""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if fence := _FENCE.match(line):
            fenced = "" if fenced and fence[1].startswith(fenced) else fenced or fence[1]
            continue
        depth, heading = (0, "") if fenced else _heading(line, below, questions)
        named = _STUDENT.match(heading or line.strip()) if heading or not (question or fenced) else None
        asked = _id_of(heading, questions)
        if named or (depth and not (question and not asked and (depth > level or _answered(heading)))):
            students[-1].add(question, title, section, questions)
            question, title, level, section = ("", "", depth, []) if named else (asked, heading, depth, [])
            if named:
                students.append(_Student(named[1].strip("*_ "), [], [], [], []))
        else:
            section += ["", _answered(heading)] if depth else ["" if _RULE.match(line) else line]
    students[-1].add(question, title, section, questions)
    return [h for s in students for h in s.handed(name, questions)]


def _without_comments(text: str) -> str:
    first, *rest = text.split("<!--")
    return first + "".join(part.partition("-->")[2] for part in rest)


def _heading(line: str, below: str, questions: tuple[str, ...]) -> tuple[int, str]:
    """Return the depth and the text of a heading, or 0; without a pattern, which would take long over a line of blanks.

    A bold line, and one with a rule below it, are headings if they name a question.
    """
    text = line.lstrip("#")
    depth = len(line) - len(text)
    if 1 <= depth <= 6 and text[:1].isspace():
        return depth, text.strip().rstrip("#").strip("*_ ")[:LONGEST_HEADING]
    text = line.strip()
    bold = text.startswith(("**", "__")) and text.endswith(("**", "__"))
    if len(text) <= LONGEST_HEADING and (bold or (text and _RULE.match(below))) and _id_of(text, questions):
        return 6, text.strip("*_ ")
    return 0, ""


def _id_of(heading: str, questions: tuple[str, ...]) -> str:
    """Return the question that a heading names, or "" for a heading of something else."""
    found = _named(questions).match(_bare(heading).strip("`*_ ").replace("`", "").casefold())
    return next(q for q in questions if q.casefold() == found[1]) if found else ""


@lru_cache(maxsize=8)
def _named(questions: tuple[str, ...]) -> re.Pattern[str]:
    ids = "|".join(re.escape(q.casefold()) for q in sorted(questions, key=len, reverse=True))
    return re.compile(f"{_BEFORE}({ids}){_AFTER}")


def _answered(heading: str) -> str:
    """Return a heading that announces the answer as the line that does so, or nothing."""
    marked = _ANSWER.match(heading) or _ANSWER.match(f"{heading}:")
    return marked[0] if marked else ""


class _Student(NamedTuple):
    name: str
    answers: list[tuple[str, str]]
    notes: list[str]
    tables: list[list[list[str]]]
    strange: list[str]

    def add(self, question: str, title: str, lines: list[str], questions: tuple[str, ...]) -> None:
        """Take the marked answer, or the one paragraph; several without a mark are kept whole, with a note."""
        if not question:
            self._add_others(title, lines, questions)
            return
        lines = _without_numbers(lines)
        paragraphs = _paragraphs(lines)
        marked = [(at, found[1].strip("* ")) for at, line in enumerate(lines) if (found := _ANSWER.match(line.strip()))]
        if marked:
            at, answer = marked[0]
            paragraphs = [_bare(answer)] if answer else _paragraphs(lines[at + 1 :])[:1]
        if len(marked) > 1:
            self.notes.append(f"several lines 'Answer:' below {question!r}; the first counts")
        if len(paragraphs) > 1:
            self.notes.append(f"several paragraphs below {question!r}; begin the answer with 'Answer:'")
        if paragraphs:
            self.answers.append((question, " ".join(paragraphs)))

    def _add_others(self, title: str, lines: list[str], questions: tuple[str, ...]) -> None:
        """Take lines and tables of answers from what stands below no question, and names that are no question's."""
        tables = _wide_tables(lines, questions)
        self.tables.extend(tables)
        found, others = _plain(lines, questions)
        self.answers.extend(() if self.tables else found)
        if tables:
            return
        self.strange.extend(others)
        if title and not found and not others and _paragraphs(lines):
            self.strange.append(re.sub(f"^{_BEFORE}", "", _bare(title).strip("`*_ "), flags=re.IGNORECASE))

    def handed(self, file: str, questions: tuple[str, ...]) -> list[Handed]:
        """Return what was handed in; a table may hold the answers of many."""
        meant = {name: bool(nearest(name, questions)) for name in dict.fromkeys(self.strange)}
        mistyped = [(name, "") for name, near in meant.items() if near]
        notes = list(self.notes)
        if others := [name for name, near in meant.items() if not near]:
            notes.append(f"these are no questions of the key: {one_of([shown[:60] for shown in others])}")
        given = (*self.answers, *mistyped)
        own = [Handed(self.name, given, "", tuple(notes))] if given else []
        return [*own, *(h for t in self.tables for h in from_rows(list(enumerate(t, 1)), file))]


def _paragraphs(lines: list[str]) -> list[str]:
    text = "\n".join(line.strip().removeprefix("> ") for line in lines).strip()
    return [_bare(" ".join(p.split())) for p in re.split(r"\n\n+", text)] if text else []


def _without_numbers(lines: list[str]) -> list[str]:
    """Return lines without the numbers of a list, an item a paragraph: ``2. B`` is B, not a product with 2."""
    out: list[str] = []
    for line in lines:
        number = _NUMBERED.match(line)
        out += ["", line[number.end() :]] if number else [line]
    return out


def _bare(text: str) -> str:
    """Return text without links, plain tags of HTML and escapes of ``*`` and ``_``."""
    return _ESCAPED.sub(r"\1", _LINK.sub(r"\1", text))


def _plain(lines: list[str], questions: tuple[str, ...]) -> tuple[list[tuple[str, str]], list[str]]:
    """Read lines ``id: answer``, ``id = answer`` and ``| id | answer |``; and return other words that stand so."""
    named = {q.casefold(): q for q in questions}
    out: list[tuple[str, str]] = []
    others: list[str] = []
    for line in lines:
        if cells := _cells(line):
            pairs = [(cells[0], cells[1])] if len(cells) > 1 else []
        else:
            bare = _MARKS.sub("", line, count=1).replace("：", ":")
            pairs = [(head, answer) for head, mark, answer in (bare.partition(":"), bare.partition("=")) if mark]
        pairs = [(head.strip("`*_ "), answer) for head, answer in pairs]
        found = [(named[head.casefold()], answer) for head, answer in pairs if head.casefold() in named][:1]
        out += [(question, _bare(answer).strip().strip("*").strip()) for question, answer in found]
        others += [head for head, answer in pairs[:1] if not found and answer.strip() and _is_name(head)]
    return out, others


def _is_name(head: str) -> bool:
    """Whether it could be meant as a question's id: one word that no table has at its head."""
    return (
        0 < len(head) <= LONGEST_ID and len(head.split()) == 1 and head.casefold() not in RESERVED and "/" not in head
    )


def _cells(line: str) -> list[str]:
    line = line.strip()
    if not line.startswith("|"):
        return []
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))]


def _wide_tables(lines: list[str], questions: tuple[str, ...]) -> list[list[list[str]]]:
    """Return the tables with a column a question, or a column of students, without the rule below the header."""
    ids = {q.casefold() for q in questions}
    tables: list[list[list[str]]] = [[]]
    for line in lines:
        if cells := _cells(line):
            tables[-1] += [cells] if set("".join(cells)) - set(":- ") else []
        elif tables[-1]:
            tables.append([])
    heads = [[cell.casefold() for cell in t[0]] if t else [] for t in tables]
    return [
        t for t, head in zip(tables, heads, strict=True) if ids & set(head[-1:] + head[1:]) or set(STUDENT) & set(head)
    ]
