"""What the commands share: their arguments and options, and how the words of a command line are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, TypeAlias

import typer

from symacct.accounting import TRAFFICS
from symacct.conventions import PRESETS
from symacct.dtypes import FORMATS
from symacct.einsum import ORDERS
from symacct.errors import AxisConflictError, SizeError
from symacct.pattern import NOTATIONS

PatternWord: TypeAlias = Annotated[
    str, typer.Argument(metavar="PATTERN", help="In quotes, such as 'b d, d k -> b k'.")
]
SizeWords: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME=SIZE]...", help="Sizes: numbers, names or expressions, such as b=64 'd=4*k'."),
]
ConventionName: TypeAlias = Annotated[
    str,
    typer.Option(
        "--convention",
        "-c",
        help=f"How operations are counted: {', '.join(PRESETS)}.",
        autocompletion=lambda: list(PRESETS),
    ),
]
DtypeNames: TypeAlias = Annotated[
    str,
    typer.Option(
        "--dtype",
        "-d",
        help="Storage format; or one for each operand and the output: 'bf16,int4,bf16'. See `symacct dtypes`.",
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


def read_sizes(words: Iterable[str] | None) -> dict[str, str]:
    """Read ``b=64`` and ``d=4*k`` into a mapping of texts; what a size may be is the engine's to say.

    Raises
    ------
    SizeError
        For a word that is not NAME=SIZE, and for Python's constants, which would read as names.
    AxisConflictError
        For one name with two sizes.

    Examples
    --------
    >>> read_sizes(["b=64", "in = 4*k"])
    {'b': '64', 'in': '4*k'}

    """
    sizes: dict[str, str] = {}
    for word in words or ():
        name, equals, size = (part.strip() for part in word.partition("="))
        if not (name and equals and size):
            missing = "has no '='" if not equals else "has no size" if name else "has no name"
            hint = "" if equals else "; a pattern is one word, in quotes: 'b d, d k -> b k'"
            msg = f"{word[:60]!r} {missing}; a size is written NAME=SIZE, such as b=64 or 'd=4*k'{hint}"
            raise SizeError(msg)
        if size in ("True", "False", "None"):
            msg = f"the size of {name!r} is {size}; a size is a positive integer, a name, or an expression such as 4*k"
            raise SizeError(msg)
        if sizes.setdefault(name, size) != size:
            msg = f"the axis {name!r} has two sizes, {sizes[name]} and {size}"
            raise AxisConflictError(msg)
    return sizes


def read_dtype(text: str) -> Any:
    """Read one storage format, or a list of them apart by commas."""
    names = [part.strip() for part in text.split(",")]
    return names[0] if len(names) == 1 else names
