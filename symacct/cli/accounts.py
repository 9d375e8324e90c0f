"""The commands about accounts: of a pattern or a file, forward and backward, and what is kept in between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import typer

from symacct.accounting import Account
from symacct.api import account as account_of
from symacct.cli.options import (
    ConventionName,
    DtypeNames,
    FuseName,
    Json,
    Latex,
    LayoutName,
    NotationName,
    OrderName,
    ParamNames,
    PatternWord,
    SizeWords,
    TrafficName,
    examples,
)
from symacct.cli.output import emit
from symacct.cli.words import is_file, read_dtype, read_sizes
from symacct.errors import ConventionError, InconclusiveError
from symacct.pattern import parse
from symacct.training import POLICIES, Training
from symacct.worked import account_of_file

accounts = typer.Typer(rich_markup_mode=None)

WrtNames: TypeAlias = Annotated[
    str | None,
    typer.Option("--wrt", help="Which inputs get a gradient: 'w v'. By default the parameters, else every input."),
]


def counted(what: str, sizes: Mapping[str, Any], dtype: str, *, params: str | None = None, **options: Any) -> Account:
    """Return the account of a pattern, or of a file, in which parameters may be named."""
    if not is_file(what):
        if params is not None:
            msg = "--params is of a file: the operands of a pattern have no names"
            raise ConventionError(msg)
        return account_of(what, sizes=sizes, dtype=read_dtype(dtype), **options)
    return account_of_file(what, sizes=sizes, dtype=read_dtype(dtype), params=params, **options)


def names_of(pattern: str, notation: str) -> tuple[str, ...]:
    """Return the sizes of a pattern, or of a file, that are names."""
    return account_of_file(pattern).names if is_file(pattern) else parse(pattern, notation).names


@accounts.command(
    epilog=examples(
        "account 'b s d, d k -> b s k'",
        "account 'i j, j k, k l -> i l' --order naive --json",
        "account graphs/mlp.py b=8 --training",
        "account graphs/flash_attention.py --fuse flash --layout torch",
    )
)
def account(
    pattern: PatternWord,
    sizes: SizeWords = None,
    *,
    convention: ConventionName = "2n",
    dtype: DtypeNames = "bf16",
    order: OrderName = "left",
    traffic: TrafficName = "unfused",
    notation: NotationName = "einops",
    layout: LayoutName = "ideal",
    fuse: FuseName = "none",
    params: ParamNames = None,
    backward: Annotated[bool, typer.Option("--backward", help="Of the backward pass instead.")] = False,
    training: Annotated[bool, typer.Option("--training", help="Of both passes, and 6PT beside them.")] = False,
    wrt: WrtNames = None,
    json: Json = False,
    latex: Latex = False,
) -> None:
    """Print operations, bytes and intensity of a pattern as a table, and under what they hold.

    A file of Python, or file.py:function, is executed; its layer is accounted for.
    """
    if wrt is not None and not (backward or training):
        msg = "--wrt tells what gets a gradient: it goes with --backward or --training"
        raise ConventionError(msg)
    if backward and training:
        msg = "--backward is of one pass, --training of both; ask for one of them"
        raise ConventionError(msg)
    how = {"convention": convention, "traffic": traffic, "order": order, "notation": notation}
    found = counted(pattern, read_sizes(sizes), dtype, params=params, layout=layout, fuse=fuse, **how)
    if training:
        step = found.training(wrt)
        emit(lambda: _with_rule(step), step.to_json, step.latex, as_json=json, as_latex=latex)
        return
    answer = found.backward(wrt) if backward else found
    emit(lambda: str(answer), answer.to_json, answer.latex, as_json=json, as_latex=latex)


def _with_rule(step: Training) -> str:
    """Print a step, and 6PT beside it where it is clear what the tokens are."""
    try:
        return f"{step}\n\n{step.rule_of_thumb()}"
    except (ConventionError, InconclusiveError):
        return str(step)


@accounts.command(
    epilog=examples("residuals graphs/transformer.py 'd=h*k'", "residuals graphs/mlp.py --policy outputs --json")
)
def residuals(
    pattern: PatternWord,
    sizes: SizeWords = None,
    *,
    policy: Annotated[str, typer.Option("--policy", help=f"What is kept: {', '.join(POLICIES)}.")] = "torch",
    device: Annotated[str, typer.Option("--device", "-D", help="Keeps masks and statistics: cpu, cuda.")] = "cpu",
    dtype: DtypeNames = "bf16",
    params: ParamNames = None,
    wrt: WrtNames = None,
    json: Json = False,
) -> None:
    """Print what is kept from the forward pass for the backward one, tensor by tensor, with its bytes."""
    kept = counted(pattern, read_sizes(sizes), dtype, params=params).residuals(policy, wrt=wrt, device=device)
    emit(lambda: str(kept), kept.to_json, None, as_json=json, as_latex=False)
