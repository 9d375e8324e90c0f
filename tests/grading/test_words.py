"""What is said about files and keys, in Chinese: every sentence of the code has one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import symacct.grading
from symacct.grading.words import spoken

ROOM = Path(symacct.grading.__file__).parent
ENGLISH = re.compile(r"(?<![\w.])[a-z]{2,}(?![\w.])")
PARTS = ("is a link, which is not followed", "cannot be read: Permission denied", "7 'X' is rejected: 7")
PARTS += ("its own truth", "the right form")
REFUSED = (
    "a process that judged answers was ended from outside; --jobs 1 does without",
    "there is nothing at 'X'",
    "no answers in 'X': its files end in 7",
    "7 files in 'X'; at most 7 are graded at a time",
)
"""Messages of a command that does nothing; they are English in every command."""
KEPT = {"student", "students", "question", "answer", "answers"}


def sentences(file: Path) -> Iterator[str]:
    """Yield the sentences in a file's code with their blanks filled, those of its docstrings left out."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    parts = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else _filled(part) for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts | docstrings:
            yield node.value


def _filled(part: ast.FormattedValue) -> str:
    blanks = {"error.strerror": "Permission denied", "_meant(name, questions)": " Did you mean 'Y'?"}
    return blanks.get(ast.unparse(part.value), "'X'" if part.conversion == ord("r") else "7")


@pytest.mark.parametrize("name", ["files", "layouts", "lint", "markdown", "marking", "submissions", "tables"])
def test_every_sentence_of_the_code_has_a_chinese_one(name: str) -> None:
    found = [text for text in sentences(ROOM / f"{name}.py") if len(ENGLISH.findall(text)) > 2 and "\\" not in text]
    assert found
    for text in found:
        if text not in PARTS + REFUSED:
            said = spoken(text, "zh")
            assert re.search(r"[一-鿿]", said), text
            assert set(ENGLISH.findall(said)) <= KEPT, text


@pytest.mark.parametrize(
    ("english", "said"),
    [
        ("a.md is a link, which is not followed", "a.md 是链接，不予读取"),
        ("a.md cannot be read: Permission denied", "无法读取 a.md：没有权限"),
        (
            "the right form '2n' is rejected: factor, at n=2: 6, not 4",
            "正确写法“2n”被判为错误：factor，当 n=2 时得 6，应为 4",
        ),
        (
            "its own truth 'a/0' is rejected: cannot read the answer: a division by zero",
            "标准答案“a/0”被判为错误：无法读取答案：除数为零",
        ),
        ("a.csv: line 3 has 2 cells, the header 3", "a.csv：第 3 行有 2 格，而表头有 3 格"),
        ("a and b.csv: the key has no question 'x and y'.", "a and b.csv：没有题目“x and y”"),
        ("<b>{0}</b>: the answer to '{0}' is no text", "<b>{0}</b>：题目“{0}”的答案不是文本"),
    ],
)
def test_sentences(english: str, said: str) -> None:
    assert spoken(english, "zh") == said
    assert spoken(english, "en") == english
