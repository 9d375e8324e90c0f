"""The command `symacct checkpoint`: what is recomputed, what that holds, and the curve between the two."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, TypeAlias

import typer

from symacct.cli.options import ConventionName, DtypeNames, Json, Latex, ParamNames, SizeWords, examples
from symacct.cli.output import emit, progress
from symacct.cli.words import read_dtype, read_sizes
from symacct.errors import ConventionError, SizeError

recomputing = typer.Typer(rich_markup_mode=None)


FileWord: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="FILE", help="A worked graph, file.py or file.py:function; or `layers` for equal layers."),
]
StrategyName: TypeAlias = Annotated[
    str | None,
    typer.Option("--strategy", "-s", help="none, block, sqrt, even, recursive, input, selective or least."),
]
SegmentSize: TypeAlias = Annotated[
    str | None, typer.Option("--every", help="Segments of so many blocks: a number or a name.")
]
BlockNumbers: TypeAlias = Annotated[
    str | None, typer.Option("--stages", help="Blocks that are recomputed, from 0; segments as first-last: 0,2-5.")
]
Budget: TypeAlias = Annotated[
    str | None, typer.Option("--budget", help="The fewest operations again within so many bytes, such as 80GB.")
]
CurvePath: TypeAlias = Annotated[
    str | None, typer.Option("--plot", help="Write memory against recomputed operations: .svg, .png or .pdf.")
]
Whole: TypeAlias = Annotated[
    bool, typer.Option("--no-early-stop", help="Recompute segments whole, not to their last saved tensor.")
]
Layers: TypeAlias = Annotated[
    str | None, typer.Option("--layers", help="So many blocks like the one of the file: a number or a name.")
]
DeviceName: TypeAlias = Annotated[str, typer.Option("--device", help="What masks and statistics take: cpu or cuda.")]


@recomputing.command(
    epilog=examples(
        "checkpoint graphs/deep_network.py --dtype fp32",
        "checkpoint graphs/transformer.py --layers L --strategy selective",
        "checkpoint graphs/deep_network.py b=64 d=1024 L=1000 --budget 16MB",
        "checkpoint layers layers=L boundary=B*D residual=B*D --every k",
    )
)
def checkpoint(
    file: FileWord,
    sizes: SizeWords = None,
    *,
    strategy: StrategyName = None,
    every: SegmentSize = None,
    stages: BlockNumbers = None,
    budget: Budget = None,
    layers: Layers = None,
    curve: CurvePath = None,
    no_early_stop: Whole = False,
    device: DeviceName = "cpu",
    params: ParamNames = None,
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
    from symacct.checkpointing.overview import overview

    what, layers = _asked(file, sizes, layers, convention=convention, dtype=read_dtype(dtype), params=params)
    told: dict[str, Any] = {"layers": layers, "device": device, "early_stop": not no_early_stop}
    named = any(word is not None for word in (strategy, every, stages, budget))
    if latex and not named:
        raise ConventionError("--latex is for one plan; name it with --strategy, --every, --stages or --budget")
    if curve is not None:
        if named:
            raise ConventionError("--plot shows all plans; give it without --strategy, --every, --stages and --budget")
        _print_curve(what, curve, told, as_json=json)
    elif named:
        plan = plan_of(what, strategy, every=every, stages=_stages(stages), budget=budget, **told)
        emit(lambda: str(plan), plan.to_json, plan.latex, as_json=json, as_latex=latex)
    else:
        found = overview(partial(plan_of, what, **told))
        emit(lambda: str(found), found.to_json, as_json=json)


def _print_curve(what: Any, path: str, told: dict[str, Any], *, as_json: bool) -> None:
    from symacct.checkpointing import checkpoint_curve
    from symacct.plot.style import check_path

    check_path(path)
    with progress("curve") as tick:
        found = checkpoint_curve(what, progress=tick, **told)
    found.draw(path)
    emit(lambda: str(found), found.to_json, as_json=as_json)


AMOUNTS = ("boundary", "residual", "flops", "tail")


def _asked(file: str, sizes: list[str] | None, layers: str | None, **options: Any) -> tuple[Any, str | None]:
    """Return an account of a file, or one of equal layers; and how many there are of it."""
    from symacct.checkpointing import Stage
    from symacct.worked import account_of_file

    given = read_sizes(sizes)
    if file != "layers":
        return account_of_file(file, sizes=given, **options), layers
    if layers is not None:
        given["layers"] = layers
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
