"""The command about answers: what a person wrote against the truth."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from symacct.cli.options import Json, Language, examples
from symacct.cli.output import emit
from symacct.errors import AnswerError, FileError

answers = typer.Typer(rich_markup_mode=None)

AnswerWord: TypeAlias = Annotated[str, typer.Argument(metavar="ANSWER", help="What was answered, as it was written.")]
TruthWord: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="TRUTH", help="A formula, a pattern, or a file (.py of a worked graph, .json of a graph)."),
]
Symbols: TypeAlias = Annotated[
    str, typer.Option("--symbols", "-s", help="The question's symbols: 'B D K' or 'B=rows,D=width'.")
]
Mode: TypeAlias = Annotated[str, typer.Option("--mode", "-m", help="exact, asymptotic, order or numeric.")]
Tolerance: TypeAlias = Annotated[
    float | None, typer.Option("--rtol", help="Relative tolerance of numbers; 0.01 by default.")
]
Growing: TypeAlias = Annotated[
    str, typer.Option("--var", help="What grows (asymptotic, order), names apart by commas; all by default.")
]
Given: TypeAlias = Annotated[str, typer.Option("--at", help="Given sizes, such as 'B=8,D=1024'.")]
UnitName: TypeAlias = Annotated[str, typer.Option("--unit", "-u", help="The unit asked for: bytes, FLOPs/token, days.")]
Total: TypeAlias = Annotated[
    str, typer.Option("--of", help="Which total of a pattern or file: flops, matmul_flops, bytes or intensity.")
]
Derived: TypeAlias = Annotated[bool, typer.Option("--show-derivation", help="Print how the right answer comes about.")]


@answers.command(
    epilog=examples(
        "check 2BDK 'b d, d k -> b k'",
        "check 'BDK' '2*B*D*K' --symbols 'B=rows,D=width,K=outputs' --unit FLOPs",
        "check '~n/3' '(2*n - 1)/6' --mode asymptotic",
        "check '143.9 days' '6*70e9*15e12/(1024*989.5e12*0.5)/86400' --mode numeric --unit days",
    )
)
def check(
    answer: AnswerWord,
    truth: TruthWord,
    *,
    symbols: Symbols = "",
    mode: Mode = "exact",
    rtol: Tolerance = None,
    var: Growing = "",
    at: Given = "",
    unit: UnitName = "",
    of: Total = "flops",
    show_derivation: Derived = False,
    lang: Language = "en",
    json: Json = False,
) -> None:
    """Tell whether an answer is right, with a counterexample and the likely mistake; exit code 1 if it is wrong."""
    from symacct.answers import check as compare
    from symacct.answers.mistakes import check_language, spoken, told

    check_language(lang)
    if not symbols:
        _refuse_other_files(truth)
    named, growing, sizes = _pairs(symbols) or symbols, var.replace(",", " ").split() or None, _pairs(at) or None
    verdict = compare(
        *(answer, truth, named, mode, rtol, growing, sizes), unit=unit, quantity=of, show_derivation=show_derivation
    )
    lines = [*told(verdict, lang), *dict.fromkeys(spoken(w.text, lang) for w in verdict.warnings)]
    lines += [spoken(line, lang) for line in (f"the truth: {verdict.truth}", *verdict.derivation) if show_derivation]
    emit(lambda: "\n".join(lines), verdict.to_json, as_json=json)
    if not verdict.correct:
        raise typer.Exit(1)


@answers.command(epilog=examples("mistakes", "mistakes --lang zh"))
def mistakes(*, lang: Language = "en", json: Json = False) -> None:
    """Print the codes that `check` gives for likely mistakes, each with its sentence."""
    from symacct.answers import MISTAKES, Finding, sentence
    from symacct.show import table

    rows = [[code, sentence(Finding(code, "..."), lang)] for code in MISTAKES]
    emit(lambda: table(["code", "meaning"], rows), lambda: dict(rows), as_json=json)


def _refuse_other_files(truth: str) -> None:
    """Refuse a path that would read as a formula in the names of its parts."""
    if os.path.lexists(truth) and not (Path(truth).is_file() and truth.endswith((".py", ".json"))):
        kind = "folder" if Path(truth).is_dir() else "file, but neither .py nor .json"
        msg = f"{truth[:60]!r} is a {kind}; where it is meant as a formula, name its symbols with --symbols"
        raise FileError(msg)


def _pairs(text: str) -> dict[str, str]:
    """Read ``B=rows,D=model width`` into a mapping; nothing where there is no equals sign."""
    if "=" not in text:
        return {}
    parts = [part for part in text.split(",") if part.strip()]
    pairs = {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in parts)}
    if len(pairs) < len(parts) or not all(name and value for name, value in pairs.items()):
        msg = f"{text[:60]!r} is not NAME=VALUE,NAME=VALUE with each name once"
        raise AnswerError(msg)
    return pairs
