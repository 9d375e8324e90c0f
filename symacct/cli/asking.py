"""The commands that ask an account for sizes and for numbers: solve, and sweep."""

from __future__ import annotations

import itertools
from typing import Annotated, Any, TypeAlias

import typer

from symacct.accounting.render import not_counted, told
from symacct.accounting.solve import Solution
from symacct.accounting.sweep import Sweep
from symacct.cli.accounts import counted
from symacct.cli.options import (
    ConventionName,
    DtypeNames,
    FuseName,
    Json,
    LayoutName,
    OrderName,
    SizeWords,
    TrafficName,
    WhatWord,
    examples,
)
from symacct.cli.output import emit
from symacct.cli.words import read_sizes, read_values
from symacct.errors import ConventionError, SizeError
from symacct.expr import from_sympy, to_json, to_text
from symacct.show import table

asking = typer.Typer(rich_markup_mode=None)

Reached: TypeAlias = Annotated[
    str, typer.Option("--reach", help="A total and its value: 'intensity=295.37', 'flops=10**12', 'bytes=80 GB'.")
]
ValueWords: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME=N,N,...", help="Numbers for each size: one, or several with commas, such as b=1,8,64."
    ),
]
MOST = 10_000
"""As many points are printed."""


@asking.command(
    epilog=examples(
        "solve 'i j, j k -> i k' i=n j=n k=n --for n --reach intensity=295.37",
        "solve graphs/multi_head_attention.py b=1 d=512 h=8 k=64 --for s --reach flops=10**12",
    )
)
def solve(
    what: WhatWord,
    sizes: SizeWords = None,
    *,
    axis: Annotated[str, typer.Option("--for", help="The size that is unknown.")],
    reach: Reached,
    convention: ConventionName = "2n",
    dtype: DtypeNames = "bf16",
    order: OrderName = "left",
    traffic: TrafficName = "unfused",
    layout: LayoutName = "ideal",
    fuse: FuseName = "none",
    json: Json = False,
) -> None:
    """Print from which size on a total reaches a value: a closed form, and whole sizes where it is the only unknown."""
    how = {"convention": convention, "traffic": traffic, "order": order, "layout": layout, "fuse": fuse}
    account = counted(what, read_sizes(sizes), dtype, **how)
    found = account.solve(axis, **read_values([reach]))
    emit(lambda: str(found), lambda: _solution_json(found), as_json=json)


def _solution_json(found: Solution) -> dict[str, Any]:
    return {
        "quantity": found.quantity,
        "target": found.target,
        "for": found.axis,
        "roots": [to_json(from_sympy(root)) for root in found.roots],
        "regions": None if found.regions is None else [list(ends) for ends in found.regions],
        "smallest": found.smallest,
        "conditions": [str(c) for c in found.conditions],
    }


@asking.command(
    epilog=examples(
        "sweep 'b d, d k -> b k' b=1,8,64 d=4096 k=4096",
        "sweep graphs/mlp.py b=1 s=128,512 d=64 f=256 --fuse pointwise --json",
    )
)
def sweep(
    what: WhatWord,
    values: ValueWords = None,
    *,
    pairs: Annotated[bool, typer.Option("--zip", help="Take lists in step, not in all combinations.")] = False,
    convention: ConventionName = "2n",
    dtype: DtypeNames = "bf16",
    order: OrderName = "left",
    traffic: TrafficName = "unfused",
    layout: LayoutName = "ideal",
    fuse: FuseName = "none",
    json: Json = False,
) -> None:
    """Print operations, bytes and intensity at many sizes: all combinations of the numbers that are given."""
    how = {"convention": convention, "traffic": traffic, "order": order, "layout": layout, "fuse": fuse}
    account = counted(what, {}, dtype, **how)
    lists = {name: _numbers(name, text) for name, text in read_sizes(values).items()}
    points = account.sweep(sizes=lists, zip=pairs, exact=True)
    rows = _rows(points)
    totals = ["flops", "bytes", "intensity"]
    names = [*points.axes, *totals]
    uncounted = {name: to_json(times) for name, times in account.uncounted.items()}
    emit(
        lambda: table(
            [*points.axes, *(told(account, q) for q in totals)],
            [[*map(str, row[:-1]), _decimal(row[-1])] for row in rows],
            account.title,
        ),
        lambda: {
            "title": account.title,
            "units": [account.unit(q) for q in totals],
            "uncounted": uncounted,
            "names": names,
            "rows": rows,
        },
        as_json=json,
        notes=[
            f"under {account.convention.label}, {account.traffic}",
            *(f"NOT COUNTED: {text}" for text in not_counted(account)),
        ],
    )


def _numbers(name: str, text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        msg = f"{name}={text[:60]} is not a list of whole numbers, such as {name}=1,8,64"
        raise SizeError(msg)
    return [int(part) for part in parts]


def _rows(points: Sweep) -> list[list[Any]]:
    """Return the sizes of each point and its totals."""
    values = list(points.axes.values())
    sizes = zip(*values, strict=True) if points.pairs else itertools.product(*values)
    totals = [points.values(q).reshape(-1).tolist() for q in ("flops", "bytes")]
    if len(totals[0]) > MOST:
        msg = f"{len(totals[0])} points; {MOST} are printed at most: use sweep of an account in Python"
        raise ConventionError(msg)
    ratios = [float(f / b) if b else None for f, b in zip(*totals, strict=True)]
    return [[*map(int, at), *(_plain(x) for x in rest)] for at, *rest in zip(sizes, *totals, ratios, strict=True)]


def _decimal(x: float | None) -> str:
    return "none" if x is None else f"{x:.6g}"


def _plain(x: Any) -> int | float | str | None:
    """Return a number as JSON has it; a fraction of a byte as text."""
    return x if x is None or isinstance(x, int | float) else to_text(x)
