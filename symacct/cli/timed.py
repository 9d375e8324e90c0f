"""The commands about time on a device: rooflines, why not more, what bounds where, and this machine measured."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import typer

from symacct.accounting import Account
from symacct.cli.accounts import counted
from symacct.cli.options import ConventionName, DtypeNames, FuseName, Json, ParamNames, SizeWords, WhatWord, examples
from symacct.cli.output import emit
from symacct.cli.words import is_file, read_sizes
from symacct.errors import ConventionError, SizeError

timed = typer.Typer(rich_markup_mode=None)

DeviceName: TypeAlias = Annotated[
    str, typer.Option("--device", "-D", help="A device of `symacct devices`, or a TOML file of `symacct calibrate`.")
]
ComputeName: TypeAlias = Annotated[
    str | None, typer.Option("--compute", help="Format of products; by default the widest of their operands.")
]
EnginesName: TypeAlias = Annotated[
    str, typer.Option("--engines", help="apart: products and other work have roofs of their own; matrix: one roof.")
]
LaunchTime: TypeAlias = Annotated[str, typer.Option("--launch", help="Time to launch a kernel, such as '5 us'.")]
TileSize: TypeAlias = Annotated[
    str | None, typer.Option("--tile", help="Products are computed in such tiles, as in 128x256: sizes are rounded up.")
]
UnitCount: TypeAlias = Annotated[
    int | None, typer.Option("--units", help="So many tiles at once: their number is rounded up too.")
]
PlotPath: TypeAlias = Annotated[str | None, typer.Option("--plot", help="Draw it: a .svg, .png or .pdf file.")]


def _account(what: str, sizes: dict[str, str], dtype: str, **options: Any) -> tuple[Account, dict[str, str]]:
    """Return the account and numbers for its sizes: none where some are no numbers, and are put into it."""
    if not is_file(what) and options["fuse"] != "none":
        msg = "--fuse is of a file; a pattern is one operation, or steps that do not share kernels"
        raise ConventionError(msg)
    account = counted(what, {}, dtype, **options)
    if set(sizes) == set(account.names) and all(size.isdecimal() for size in sizes.values()):
        return account, sizes
    return (counted(what, sizes, dtype, **options), {}) if sizes else (account, {})


def _step(forward: Account, *, training: bool, recompute: bool) -> tuple[Account, Account | None]:
    """Return what is run, and what is run again."""
    if recompute and not training:
        msg = "--recompute is of a step of training: give --training too"
        raise ConventionError(msg)
    if not training:
        return forward, None
    step = forward.training()
    return step.total, step.forward if recompute else None


def _tile(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    sides = text.lower().split("x")
    if len(sides) > 2 or not all(side.strip().isdecimal() for side in sides):
        msg = f"a tile of {text[:40]!r}; write 128x256, or 128 for a square"
        raise SizeError(msg)
    return int(sides[0]), int(sides[-1])


def _drawn(path: str | None, what: Any, of: str | None = None) -> list[str]:
    """Draw where a path is given; return what to say of it."""
    if path is None:
        if of not in (None, "roofline"):
            msg = f"--of {of} is of a picture; say where it goes with --plot"
            raise ConventionError(msg)
        return []
    from symacct.plot import draw

    return [f"drawn: {draw(what, path, of=of)}"]


@timed.command(
    epilog=examples(
        "roofline 'i j, j k -> i k' i=n j=n k=n --device h100",
        "roofline 'b d, d k -> b k' b=64 d=4096 k=4096 --device h100 --plot roof.svg",
        "roofline graphs/mlp.py b=64 s=1024 d=4096 f=16384 --device h100 --of time --plot time.svg",
    )
)
def roofline(
    what: WhatWord,
    sizes: SizeWords = None,
    *,
    device: DeviceName,
    compute: ComputeName = None,
    engines: EnginesName = "apart",
    launch: LaunchTime = "0 s",
    tile: TileSize = None,
    units: UnitCount = None,
    fuse: FuseName = "none",
    params: ParamNames = None,
    convention: ConventionName = "2n",
    dtype: DtypeNames = "bf16",
    of: Annotated[str, typer.Option("--of", help="What is drawn: roofline, or time by operation.")] = "roofline",
    plot: PlotPath = None,
    json: Json = False,
) -> None:
    """Print what bounds each operation on a device: formulas, and with a number for every size the times."""
    account, given = _account(what, read_sizes(sizes), dtype, convention=convention, fuse=fuse, params=params)
    roof = account.roofline(device, compute=compute, engines=engines, launch=launch, tile=_tile(tile), units=units)
    answer = roof.at(sizes=given) if given or not account.names or plot else roof
    notes = _drawn(plot, answer, of)
    emit(lambda: str(answer), answer.to_json, as_json=json, notes=notes)


@timed.command(
    epilog=examples(
        "waterfall graphs/mlp.py b=64 s=1024 d=4096 f=16384 --device h100",
        "waterfall graphs/mlp.py b=64 s=1024 d=4096 f=16384 --device h100 --training --recompute --plot why.svg",
    )
)
def waterfall(
    what: WhatWord,
    sizes: SizeWords = None,
    *,
    device: DeviceName,
    training: Annotated[bool, typer.Option("--training", help="Of a step: forward and backward.")] = False,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="With --training: everything is checkpointed, and runs forward again.")
    ] = False,
    overlap: Annotated[
        str, typer.Option("--overlap", help="perfect: a kernel takes what its longest part takes; none: the sum.")
    ] = "perfect",
    communication: Annotated[
        str, typer.Option("--communication", help="Time of communication that nothing hides, such as '10 ms'.")
    ] = "0 s",
    compute: ComputeName = None,
    engines: EnginesName = "apart",
    launch: LaunchTime = "0 s",
    tile: TileSize = None,
    units: UnitCount = None,
    fuse: FuseName = "none",
    params: ParamNames = None,
    convention: ConventionName = "2n",
    dtype: DtypeNames = "bf16",
    plot: PlotPath = None,
    json: Json = False,
) -> None:
    """Print why a run does not reach the peak: products at the peak, what each loss adds, the MFU that is left."""
    forward, given = _account(what, read_sizes(sizes), dtype, convention=convention, fuse=fuse, params=params)
    step, again = _step(forward, training=training, recompute=recompute)
    options: dict[str, Any] = {"compute": compute, "engines": engines, "launch": launch, "units": units}
    options |= {"overlap": overlap, "communication": communication, "recompute": again}
    fall = step.mfu_bound(device, tile=_tile(tile), sizes=given, **options)
    emit(lambda: str(fall), fall.to_json, as_json=json, notes=_drawn(plot, fall))


@timed.command(
    epilog=examples(
        "regimes 'b d, d k -> b k' k=4096 --over b,d",
        "regimes 'b d, d k -> b k' k=8192 --over b,d --device h100 --plot map.svg",
    )
)
def regimes(
    what: WhatWord,
    sizes: SizeWords = None,
    *,
    over: Annotated[str, typer.Option("--over", help="The size that varies, or two apart by a comma.")],
    device: Annotated[
        str | None, typer.Option("--device", "-D", help="A device: what bounds the time there, instead of terms.")
    ] = None,
    of: Annotated[str, typer.Option("--of", help="Without a device: bytes, flops or matmul_flops.")] = "bytes",
    by: Annotated[
        str | None, typer.Option("--by", help="What the terms are: op, kind, scope or family; tensors for bytes.")
    ] = None,
    engines: EnginesName = "apart",
    fuse: FuseName = "none",
    convention: ConventionName = "2n",
    dtype: DtypeNames = "bf16",
    plot: PlotPath = None,
    json: Json = False,
) -> None:
    """Print which term is the largest along one size, or in the plane of two, and the borders as formulas."""
    axes = [name.strip() for name in over.split(",")]
    given = read_sizes(sizes)
    account, _ = _account(what, {}, dtype, convention=convention, fuse=fuse)
    if device is None:
        found = account.regimes(*axes, of=of, by=by, sizes=given)
    elif by is not None or of != "bytes":
        msg = "--of and --by choose terms; with a device the terms are what bounds the time"
        raise ConventionError(msg)
    else:
        found = account.roofline(device, engines=engines).regimes(*axes, sizes=given)
    emit(lambda: str(found), found.to_json, as_json=json, notes=_drawn(plot, found))


@timed.command(epilog=examples("calibrate", "calibrate --device cuda --save here.toml"))
def calibrate(
    *,
    device: Annotated[str | None, typer.Option("--device", "-D", help="cpu or cuda; CUDA where there is one.")] = None,
    seconds: Annotated[float, typer.Option("--seconds", help="About how long each rate is measured.")] = 1.0,
    save: Annotated[
        str | None, typer.Option("--save", help="A .toml file to keep it in, for --device elsewhere.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure this machine: matrix peaks by format, the vector rate, and its bandwidth; needs torch."""
    import sys

    from symacct.measuring.calibration import calibrate as measured

    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("measuring") as status:
            found = measured(device, seconds=seconds, tell=lambda name: status.update(f"measured {name}"))
    else:
        found = measured(device, seconds=seconds)
    notes = [] if save is None else [f"saved: {found.save(save)}"]
    emit(lambda: str(found), found.to_json, as_json=json, notes=notes)
