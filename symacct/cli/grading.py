"""The commands about assignments: grade answers, try a key against itself, ask its questions."""

from __future__ import annotations

import json as json_format
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from symacct.cli.options import Json, Language, examples
from symacct.cli.output import emit, progress
from symacct.errors import FileError

if TYPE_CHECKING:
    from symacct.grading import Graded, Key

KeyFile: TypeAlias = Annotated[str, typer.Argument(metavar="KEY", help="The key: a file of TOML.")]
assignments = typer.Typer(rich_markup_mode=None)


@assignments.command(
    epilog=examples(
        "grade examples/lecture/key.toml examples/lecture/answers",
        "grade examples/lecture/key.toml examples/lecture/answers/class.csv --lang zh",
        "grade --lint examples/lecture/key.toml",
    )
)
def grade(
    key: KeyFile,
    answers: Annotated[
        list[str] | None,
        typer.Argument(metavar="ANSWERS", help="Files (.toml .json .csv .md) or folders of them, one student or many."),
    ] = None,
    *,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page of HTML.")] = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write points for a gradebook.")] = None,
    gradescope: Annotated[Path | None, typer.Option("--gradescope", help="Write Gradescope's results.json.")] = None,
    lang: Language = "en",
    lint: Annotated[bool, typer.Option("--lint", help="Try the key against itself instead.")] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", help="Processes; one a core without.", min=1)] = None,
    json: Json = False,
) -> None:
    """Grade answers against a key; nothing in an answer is ever run.

    A key has a table [[question]] for each question, with id, prompt, symbols, a truth (formula, pattern or graph),
    mode, points and more: see examples/README.md. Exit code 0 whatever the answers are, 2 for a bad key or option, and
    where nothing at all was answered.
    """
    from symacct import grading
    from symacct.answers.mistakes import check_language
    from symacct.grading.submissions import left_out
    from symacct.grading.summary import to_text

    check_language(lang)
    read = grading.read_key(key)
    if lint:
        if answers or report or csv or gradescope:
            msg = "--lint tries the key alone; leave the answers and the reports out"
            raise FileError(msg)
        _lint(read, lang, as_json=json)
        return
    if not answers:
        msg = "no answers to grade: name a file or a folder, or try the key with --lint"
        raise FileError(msg)
    from symacct.grading.writing import check_places

    reports = {"html": report, "csv": csv, "gradescope": gradescope}
    check_places([path for path in reports.values() if path], map(Path, (key, *answers)))
    submissions = grading.read_submissions(answers, tuple(q.id for q in read.questions), key=key)
    with progress("grading") as tick:
        graded = grading.grade(read, submissions, jobs=jobs or os.cpu_count() or 1, progress=tick)
    _write(read, graded, {form: path for form, path in reports.items() if path}, lang)
    from symacct.grading.reports import to_json

    emit(lambda: to_text(read, graded, lang), lambda: to_json(read, graded, lang), as_json=json)
    _complain(graded, left_out(answers, submissions), lang)


def _write(key: Key, graded: list[Graded], reports: dict[str, Path], language: str) -> None:
    from symacct.grading.page import to_html
    from symacct.grading.reports import to_csv, to_gradescope
    from symacct.grading.writing import write_all

    forms: dict[str, Callable[[], str]] = {
        "html": lambda: to_html(key, graded, language),
        "csv": lambda: to_csv(key, graded, language),
        "gradescope": lambda: json_format.dumps(to_gradescope(key, graded, language), indent=2) + "\n",
    }
    write_all({path: forms[form]() for form, path in reports.items()})


def _complain(graded: list[Graded], others: list[str], language: str) -> None:
    from symacct.grading.display import visible
    from symacct.grading.words import say, spoken

    said = [g.submission for g in graded]
    lines = [
        line
        for s in said
        for line in (s.problem, *(f"{s.source}: {x}" for x in (*s.refused.values(), *s.notes)))
        if line
    ]
    for line in dict.fromkeys((*lines, *others)):  # a column that the key lacks is one of every student
        sys.stderr.write(f"symacct: {visible(spoken(line, language))}\n")
    if not any(s.answers for s in said):
        sys.stderr.write(f"symacct: {say('nothing', language)}\n")
        raise typer.Exit(2)


def _lint(key: Key, language: str, *, as_json: bool) -> None:
    from symacct.grading import lint as lint_key
    from symacct.grading.summary import lint_text

    linted = lint_key(key)
    emit(
        lambda: lint_text(key, linted, language),
        lambda: {"tried": linted.tried, "complaints": [c._asdict() for c in linted.complaints]},
        as_json=as_json,
    )
    if linted.complaints:
        raise typer.Exit(2)


@assignments.command(epilog=examples("ask examples/lecture/key.toml", "ask examples/lecture/key.toml --lang zh"))
def ask(key: KeyFile, *, lang: Language = "en", json: Json = False) -> None:
    """Ask the questions of a key one by one, and tell at once what is wrong with an answer.

    With --json the answers come a line each, and what became of them is printed at the end.
    """
    from symacct.answers.mistakes import check_language
    from symacct.grading import read_key
    from symacct.grading.asking import ask as ask_all
    from symacct.grading.reports import to_json

    check_language(lang)
    read = read_key(key)

    def write(line: str) -> None:
        (sys.stderr if json else sys.stdout).write(line + "\n")

    def typed() -> str:
        if sys.stdin.isatty():
            (sys.stderr if json else sys.stdout).write("> ")
            sys.stdout.flush()
        return input()

    done = ask_all(read, typed, write, lang)
    if json:
        emit(str, lambda: to_json(read, [done], lang), as_json=True)
