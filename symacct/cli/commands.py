"""The commands of `symacct`, one function each."""

from __future__ import annotations

from typing import Annotated

import typer

from symacct import __version__
from symacct.cli.accounts import accounts, counted, names_of
from symacct.cli.answers import answers
from symacct.cli.asking import asking
from symacct.cli.grading import assignments
from symacct.cli.machines import machines
from symacct.cli.options import (
    ConventionName,
    DtypeNames,
    Json,
    Latex,
    NotationName,
    OrderName,
    PatternWord,
    SizeWords,
    TrafficName,
    examples,
)
from symacct.cli.output import emit, print_total, under, wheres
from symacct.cli.recomputing import recomputing
from symacct.cli.tables import (
    bound_json,
    bound_latex,
    comparison_json,
    dtypes_json,
    dtypes_text,
    orders_json,
    orders_latex,
    orders_text,
)
from symacct.cli.timed import timed
from symacct.cli.training import steps
from symacct.cli.words import read_dtype, read_pattern, read_sizes
from symacct.dtypes import table
from symacct.expr import collect_sizes
from symacct.nests import lower_bound
from symacct.nests import orders as orders_of

app = typer.Typer(
    help="What a computation costs, as closed forms in named sizes.",
    epilog="Example: symacct flops 'b d, d k -> b k'",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
app.add_typer(accounts)
app.add_typer(asking)
app.add_typer(machines)
app.add_typer(answers)
app.add_typer(timed)
app.add_typer(assignments)
app.add_typer(recomputing)
app.add_typer(steps)


def _version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"symacct {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
) -> None:
    """Hold the options that belong to no command."""


def total(
    context: typer.Context,
    pattern: PatternWord,
    sizes: SizeWords = None,
    *,
    convention: ConventionName = "2n",
    dtype: DtypeNames = "bf16",
    order: OrderName = "left",
    traffic: TrafficName = "unfused",
    notation: NotationName = "einops",
    json: Json = False,
    latex: Latex = False,
) -> None:
    """Print the total that the command is called like."""
    print_total(
        context.command.name or "",
        pattern,
        sizes,
        as_json=json,
        as_latex=latex,
        convention=convention,
        dtype=read_dtype(dtype),
        order=order,
        traffic=traffic,
        notation=notation,
    )


for quantity, meaning, shown in (
    (
        "flops",
        "Print the operations of a pattern; as MACs under --convention mac.",
        ("flops 'b d, d k -> b k'", "flops 'b d, d k -> b k' b=64 'd=4*k' --convention exact"),
    ),
    (
        "bytes",
        "Print the bytes that a pattern moves: each step reads its operands and writes its result.",
        ("bytes 'b d, d k -> b k' --dtype bf16,nvfp4,bf16", "bytes 'i j, j k, k l -> i l' --traffic compulsory"),
    ),
    (
        "intensity",
        "Print the arithmetic intensity of a pattern: operations a byte.",
        ("intensity 'b d, d k -> b k'", "intensity 'i j, j k -> i k' i=n j=n k=n --convention exact"),
    ),
):
    app.command(quantity, help=meaning, epilog=examples(*shown))(total)


@app.command(epilog=examples("orders 'i j, j k, k l -> i l'", "orders 'i j, j k, k l -> i l' i=10 j=1000 k=20 l=500"))
def orders(
    pattern: PatternWord,
    sizes: SizeWords = None,
    *,
    convention: ConventionName = "2n",
    notation: NotationName = "einops",
    json: Json = False,
    latex: Latex = False,
) -> None:
    """Print the contraction orders that can be cheapest, and when each is; under mac as under 2n."""
    counted = "2n" if convention == "mac" else convention
    found = orders_of(read_pattern(pattern), sizes=read_sizes(sizes), convention=counted, notation=notation)
    emit(
        lambda: orders_text(found),
        lambda: orders_json(pattern, found, counted),
        lambda: orders_latex(found),
        as_json=json,
        as_latex=latex,
        notes=["under 2n, as which orders under mac are judged" if convention == "mac" else f"under {convention}"],
    )


@app.command(epilog=examples("bound 'i k, k j -> i j'", "bound 'i k, k j -> i j' i=4096 j=4096 k=4096 --memory 65536"))
def bound(
    pattern: PatternWord,
    sizes: SizeWords = None,
    *,
    memory: Annotated[str, typer.Option("--memory", "-m", help="Elements of fast memory: a name or a number.")] = "M",
    order: Annotated[
        str | None, typer.Option("--order", "-o", help="Bound each step of an order, left or best, by itself.")
    ] = None,
    notation: NotationName = "einops",
    json: Json = False,
    latex: Latex = False,
) -> None:
    """Print what any schedule moves at least through a fast memory, in elements, for the pattern as one loop nest."""
    found = lower_bound(read_pattern(pattern), memory=memory, order=order, sizes=read_sizes(sizes), notation=notation)
    bounds = found if isinstance(found, list) else [found]
    emit(
        lambda: "\n".join(str(b) for b in bounds),
        lambda: [bound_json(b) for b in found] if isinstance(found, list) else bound_json(found),
        lambda: "\n".join(bound_latex(b) for b in bounds),
        as_json=json,
        as_latex=latex,
    )


@app.command(epilog=examples("explain 'b d, d k -> b k' b=4 d=5 k=6", "explain 'b d, d k -> b k' --of intensity"))
def explain(
    pattern: PatternWord,
    sizes: SizeWords = None,
    *,
    of: Annotated[str, typer.Option("--of", help="flops, bytes or intensity.")] = "flops",
    dtype: DtypeNames = "bf16",
    order: OrderName = "left",
    notation: NotationName = "einops",
    json: Json = False,
    latex: Latex = False,
) -> None:
    """Print a quantity under each convention, and how it comes about, step by step."""
    from symacct.explanation import explain as explanation_of

    found = explanation_of(
        read_pattern(pattern), of=of, sizes=read_sizes(sizes), notation=notation, order=order, dtype=read_dtype(dtype)
    )
    emit(lambda: str(found), found.to_json, found.latex, as_json=json, as_latex=latex)


@app.command(
    epilog=examples(
        "compare 'b d, d k -> b k' 'b d, d r, r k -> b k'", "compare graphs/mlp.py graphs/gated_mlp.py --of bytes"
    )
)
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="The first pattern, in quotes, or a file of Python.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The second.")],
    sizes: SizeWords = None,
    *,
    of: Annotated[str, typer.Option("--of", help="flops, matmul_flops or bytes.")] = "flops",
    convention: ConventionName = "2n",
    dtype: DtypeNames = "bf16",
    order: OrderName = "left",
    traffic: TrafficName = "unfused",
    notation: NotationName = "einops",
    json: Json = False,
    latex: Latex = False,
) -> None:
    """Print what a second pattern or layer costs more than a first, and where the first is cheaper."""
    from symacct.accounting.comparison import compare as compare_accounts

    how = {"convention": convention, "order": order, "traffic": traffic, "notation": notation}
    names = [names_of(what, notation) for what in (first, second)]
    given = collect_sizes(read_sizes(sizes), {}, tuple(dict.fromkeys([n for own in names for n in own])))
    a, b = (
        counted(what, {n: size for n, size in given.items() if n in own}, dtype, **how)
        for what, own in zip((first, second), names, strict=True)
    )
    found = compare_accounts(a, b, of)
    emit(
        lambda: f"a: {a.title}\nb: {b.title}\n{found}",
        lambda: comparison_json(a, b, found),
        found.latex,
        as_json=json,
        as_latex=latex,
        notes=[*wheres(dict.fromkeys([*a.conditions, *b.conditions])), under(a, of)],
    )


@app.command(epilog=examples("dtypes", "dtypes bf16 e4m3 nvfp4"))
def dtypes(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Formats; all without.")] = None,
    *,
    json: Json = False,
) -> None:
    """Print storage formats: bits, sign/exponent/mantissa, range, precision, and what 1e-8 becomes."""
    rows = table(*(names or ()))
    emit(lambda: dtypes_text(rows), lambda: dtypes_json(rows), as_json=json)
