"""The command `symacct checkpoint`: what is recomputed, what that holds, and the curve between the two."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from symacct.cli.options import ConventionName, DtypeNames, Json, Latex, SizeWords, examples
from symacct.cli.output import emit
from symacct.cli.words import read_dtype, read_sizes
from symacct.errors import ConventionError, SizeError

recomputing = typer.Typer(rich_markup_mode=None)


@recomputing.command(
    epilog=examples(
        "checkpoint graphs/gpt2.py 'k=d/h' 'f=4*d'",
        "checkpoint graphs/deep_network.py --strategy sqrt --dtype fp32",
        "checkpoint graphs/deep_network.py b=64 d=1024 L=1000 --budget 16MB --curve curve.svg",
        "checkpoint layers layers=L boundary=B*D residual=B*D --every k",
    )
)
def checkpoint(
    pattern: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A worked graph, file.py or file.py:function; or `layers` for equal ones."),
    ],
    sizes: SizeWords = None,
    *,
    strategy: Annotated[
        str | None,
        typer.Option("--strategy", "-s", help="none, block, sqrt, even, recursive, input, selective or least."),
    ] = None,
    every: Annotated[
        str | None, typer.Option("--every", help="Segments of so many blocks: a number or a name.")
    ] = None,
    stages: Annotated[
        str | None, typer.Option("--stages", help="Blocks that are recomputed, from 0; segments as first-last: 0,2-5.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", help="The fewest operations again within so many bytes, such as 80GB.")
    ] = None,
    curve: Annotated[
        str | None, typer.Option("--curve", help="Write memory against recomputed operations: .svg, .png or .pdf.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--no-early-stop", help="Recompute segments whole, not to their last saved tensor.")
    ] = False,
    device: Annotated[str, typer.Option("--device", help="What masks and statistics take: cpu or cuda.")] = "cpu",
    convention: ConventionName = "2n",
    dtype: DtypeNames = "bf16",
    json: Json = False,
    latex: Latex = False,
) -> None:
    """Print what activation checkpointing holds and executes again; of every strategy where none is named.

    A file of Python is executed; the turns of its repeats are the blocks. `layers` takes the amounts of equal layers as
    sizes: layers=, boundary=, residual=, flops=, tail=.
    """
    from symacct.checkpointing import checkpoint as plan_of
    from symacct.checkpointing import checkpoint_curve
    from symacct.checkpointing.overview import overview
    from symacct.plot.style import check_path

    what, layers = _asked(pattern, sizes, convention, dtype)
    ask = partial(plan_of, what, layers=layers, device=device, early_stop=not whole)
    if curve is not None:
        if strategy or every or stages or budget or latex:
            raise ConventionError(
                "--curve shows all plans; give it without --strategy, --every, --stages, --budget, --latex"
            )
        check_path(curve)
        found = checkpoint_curve(what, layers=layers, device=device, early_stop=not whole)
        found.draw(curve)
        emit(lambda: str(found), found.to_json, as_json=json)
        return
    if not (strategy or every or stages or budget):
        every_one = overview(ask)
        if latex:
            raise ConventionError("--latex is for one strategy; name it with --strategy")
        emit(lambda: str(every_one), every_one.to_json, as_json=json)
        return
    plan = ask(strategy, every=every, stages=_stages(stages), budget=budget)
    emit(lambda: str(plan), plan.to_json, plan.latex, as_json=json, as_latex=latex)


AMOUNTS = ("boundary", "residual", "flops", "tail")


def _asked(pattern: str, sizes: list[str] | None, convention: str, dtype: str) -> tuple[Any, str | None]:
    """Return an account of a file, or one of equal layers and how many of them."""
    from symacct.checkpointing import Stage
    from symacct.worked import account_of_file

    given = read_sizes(sizes)
    if pattern != "layers":
        return account_of_file(pattern, sizes=given, convention=convention, dtype=read_dtype(dtype)), None
    if "layers" not in given or (unknown := [n for n in given if n not in ("layers", *AMOUNTS)]):
        told = f"unknown {unknown[0]!r}" if "layers" in given else "no layers="
        raise SizeError(f"{told}; equal layers have layers= and {', '.join(AMOUNTS)}, as in layers=L boundary=B*D")
    amounts: dict[str, Any] = {"boundary": 1, "residual": 1, **{n: x for n, x in given.items() if n in AMOUNTS}}
    return Stage(**amounts), given["layers"]


def _stages(text: str | None) -> list[int | tuple[int, int]] | None:
    """Read ``0,2-5``.

    Raises
    ------
    SizeError
        For what is no number or range.

    Examples
    --------
    >>> _stages("0, 2-5")
    [0, (2, 5)]

    """
    if text is None:
        return None
    out: list[int | tuple[int, int]] = []
    for word in text.split(","):
        ends = [part.strip() for part in word.split("-")]
        if len(ends) > 2 or not all(end.isdecimal() for end in ends):
            raise SizeError(f"{word.strip()[:60]!r} names no stages; write numbers from 0 and ranges, such as 0,2-5")
        out.append(int(ends[0]) if len(ends) == 1 else (int(ends[0]), int(ends[1])))
    return out
