"""The arguments and options that the commands share."""

from __future__ import annotations

import re
from typing import Annotated, TypeAlias

import typer

from symacct.accounting import FUSES, LAYOUTS, TRAFFICS
from symacct.conventions import PRESETS
from symacct.dtypes.catalogue import FORMATS
from symacct.einsum import ORDERS
from symacct.pattern import NOTATIONS

COLUMNS = 78
"""Of an example; the help moves it in by two."""


def examples(*commands: str) -> str:
    """Return the end of a command's help: commands to copy, long ones in several lines."""
    return "\b\nExamples:\n" + "\n".join(_wrapped(f"  symacct {c}") for c in commands)


def _wrapped(command: str) -> str:
    """Break a command between its words, as a shell reads on."""
    lines = ["  symacct"]
    for word in re.findall(r"(?:'[^']*'|[^\s'])+", command.removeprefix(lines[0])):
        if len(f"{lines[-1]} {word} \\") > COLUMNS:
            lines[-1] += " \\"
            lines.append("     ")
        lines[-1] += f" {word}"
    return "\n".join(lines)


PatternWord: TypeAlias = Annotated[str, typer.Argument(metavar="PATTERN", help="In quotes, such as 'b d, d k -> b k'.")]
SizeWords: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME=SIZE", help="Sizes: numbers, names or expressions, such as b=64 'd=4*k'."),
]
ConventionName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--convention",
        "-c",
        help=f"How operations are counted: {', '.join(PRESETS)}; or with switches: 'exact, attention=half, gelu=9'.",
        autocompletion=lambda: list(PRESETS),
    ),
]
DtypeNames: TypeAlias = Annotated[
    str,
    typer.Option(
        "--dtype",
        "-d",
        help="Storage format; of a pattern also one an operand and the output, 'bf16,int4,bf16', "
        "of a file by role or argument, 'param=fp32,act=bf16'. See `symacct dtypes`.",
        autocompletion=lambda: [f.name for f in FORMATS],
    ),
]
OrderName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--order",
        "-o",
        help=f"Which operands of three and more are multiplied first: {', '.join(ORDERS)}.",
        autocompletion=lambda: list(ORDERS),
    ),
]
TrafficName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--traffic",
        "-t",
        help=f"Whether intermediates are written and read: {' (yes), '.join(TRAFFICS)} (no).",
        autocompletion=lambda: list(TRAFFICS),
    ),
]
LayoutName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--layout",
        help="Of a file: ideal (nothing is copied to be laid out), torch (with the copies that torch makes).",
        autocompletion=lambda: list(LAYOUTS),
    ),
]
FuseName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--fuse", help=f"Of a file, what shares a kernel: {', '.join(FUSES)}.", autocompletion=lambda: list(FUSES)
    ),
]
WhatWord: TypeAlias = Annotated[
    str, typer.Argument(metavar="PATTERN|FILE", help="A pattern in quotes, or a file of Python, or file.py:function.")
]
ParamNames: TypeAlias = Annotated[
    str | None,
    typer.Option("--params", help="Of a file: which arguments are parameters, 'w,v'; by default what it says itself."),
]
NotationName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--notation",
        "-n",
        help="How the pattern is written: einops ('b d, d k -> b k') or numpy ('bd,dk->bk').",
        autocompletion=lambda: list(NOTATIONS),
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON with stable keys.")]
Latex: TypeAlias = Annotated[bool, typer.Option("--latex", help="Print the formulas as LaTeX.")]
Language: TypeAlias = Annotated[str, typer.Option("--lang", help="Language of verdicts and reports: en, zh.")]
