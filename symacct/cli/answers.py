"""The command about answers: what a person wrote against the truth."""

from __future__ import annotations

from typing import Annotated

import typer

from symacct.cli.options import Json, examples
from symacct.cli.output import emit
from symacct.errors import AnswerError

answers = typer.Typer(rich_markup_mode=None)


@answers.command(
    epilog=examples(
        "check 2BDK 'b d, d k -> b k'",
        "check 'BDK' '2*B*D*K' --symbols 'B=rows,D=width,K=outputs' --unit FLOPs",
        "check '~n/3' '(2*n - 1)/6' --mode asymptotic",
        "check '143.9 days' '6*70e9*15e12/(1024*989.5e12*0.5)/86400' --mode numeric --unit days",
    )
)
def check(
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="What was answered, as it was written.")],
    truth: Annotated[str, typer.Argument(metavar="TRUTH", help="A formula, a pattern, or a file (.py, .json).")],
    *,
    symbols: Annotated[
        str, typer.Option("--symbols", "-s", help="The question's symbols: 'B D K' or 'B=rows,D=width'.")
    ] = "",
    mode: Annotated[str, typer.Option("--mode", "-m", help="exact, asymptotic, order or numeric.")] = "exact",
    rtol: Annotated[
        float | None, typer.Option("--rtol", help="Relative tolerance of numbers; 0.01 by default.")
    ] = None,
    var: Annotated[str, typer.Option("--var", help="What grows, names apart by commas; all by default.")] = "",
    at: Annotated[str, typer.Option("--at", help="Given sizes, such as 'B=8,D=1024'.")] = "",
    unit: Annotated[str, typer.Option("--unit", "-u", help="The unit asked for, such as bytes or FLOPs/token.")] = "",
    of: Annotated[
        str, typer.Option("--of", help="flops, matmul_flops, bytes or intensity of a pattern or file.")
    ] = "flops",
    show_derivation: Annotated[
        bool, typer.Option("--show-derivation", help="Print how the right answer comes about.")
    ] = False,
    lang: Annotated[str, typer.Option("--lang", help="en or zh.")] = "en",
    json: Json = False,
) -> None:
    """Tell whether an answer is right, with a counterexample and the likely mistake; exit code 1 if it is wrong."""
    from symacct.answers import check as compare
    from symacct.answers.mistakes import told

    verdict = compare(
        answer,
        truth,
        _pairs(symbols) or symbols,
        mode,
        rtol,
        [v for v in var.replace(",", " ").split() if v] or None,
        _pairs(at) or None,
        unit=unit,
        quantity=of,
        show_derivation=show_derivation,
    )
    lines = told(verdict, lang)
    lines += [w.text for w in verdict.warnings]
    lines += [f"the truth: {verdict.truth}", *verdict.derivation] if show_derivation else []
    emit(lambda: "\n".join(lines), verdict.to_json, as_json=json)
    if not verdict.correct:
        raise typer.Exit(1)


def _pairs(text: str) -> dict[str, str]:
    """Read ``B=rows,D=model width`` into a mapping; nothing where there is no equals sign."""
    if "=" not in text:
        return {}
    pairs = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
    if len(pairs) != len([part for part in text.split(",") if part.strip()]):
        msg = f"{text[:60]!r} is not NAME=VALUE,NAME=VALUE with each name once"
        raise AnswerError(msg)
    return {name.strip(): value.strip() for name, value in pairs.items()}
