"""What the README shows is what happens: its Python blocks run, its commands print what stands below them."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
SYMACCT = Path(sys.executable).with_name("symacct")


class Block(NamedTuple):
    language: str
    line: int
    text: str


def blocks(language: str) -> list[Block]:
    text = README.read_text(encoding="utf-8")
    fences = re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    found = (Block(f[1], text.count("\n", 0, f.start(2)), f[2]) for f in fences)
    return [block for block in found if block.language == language]


def commands() -> list[tuple[int, str, str]]:
    """Line, command and what the README shows below it, for each `$ symacct ...`."""
    shown = re.compile(r"^\$ (symacct .*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
    return [
        (block.line + block.text.count("\n", 0, match.start()), match[1], match[2])
        for block in blocks("console")
        for match in shown.finditer(block.text)
    ]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """Names that earlier blocks defined: the README is read from top to bottom."""
    return {"__name__": "readme"}


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: f"line {block.line + 1}")
def test_python_block(block: Block, names: dict[str, Any]) -> None:
    if re.search(r"\btorch\b", block.text):
        pytest.importorskip("torch")
    if ">>>" not in block.text:
        exec(compile("\n" * block.line + block.text, README, "exec"), names)  # noqa: S102 - the text is ours
        return
    example = doctest.DocTestParser().get_doctest(block.text, names, "README", str(README), block.line)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=report.append, clear_globs=False)
    names.update(example.globs)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


@pytest.mark.parametrize(("line", "command", "shown"), commands())
def test_command(line: int, command: str, shown: str) -> None:
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    words = [str(SYMACCT), *shlex.split(command)[1:]]
    ran = subprocess.run(words, capture_output=True, text=True, check=False, env=environment, cwd=README.parent)
    printed = re.sub(r" +$", "", ran.stdout + ran.stderr, flags=re.MULTILINE)
    assert doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS), (
        f"line {line + 1}: {command}\nshown:\n{shown}\nprinted:\n{printed}"
    )


def test_something_is_shown() -> None:
    assert blocks("python")
    assert commands()


@pytest.mark.parametrize(
    "link", sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text(encoding="utf-8"))))
)
def test_what_is_linked_is_there(link: str) -> None:
    assert (README.parent / link).exists()
