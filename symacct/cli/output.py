"""One answer as text, as LaTeX or as JSON; and the totals, which need nothing else and answer fastest."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from symacct.accounting import Account
from symacct.accounting.render import formats
from symacct.api import account
from symacct.cli.words import read_pattern, read_sizes
from symacct.errors import ConventionError
from symacct.expr import to_json, to_latex, to_text


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show how far some work is, on a terminal; elsewhere give None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def emit(
    text: Callable[[], str],
    data: Callable[[], Any],
    formula: Callable[[], str] | None = None,
    *,
    as_json: bool,
    as_latex: bool = False,
    notes: Iterable[str] = (),
) -> None:
    """Print one answer in the form that was asked for; notes to text and LaTeX go to standard error.

    Raises
    ------
    ConventionError
        If both JSON and LaTeX were asked for.

    """
    if as_json and as_latex:
        msg = "--json and --latex are two forms of one answer; ask for one of them"
        raise ConventionError(msg)
    if as_json:
        import json

        _say(json.dumps(data(), indent=2), sys.stdout)
        return
    _say(formula() if as_latex and formula else text(), sys.stdout)
    for note in notes:
        _say(note, sys.stderr)


def _say(text: str, stream: TextIO | None) -> None:
    if stream is None:  # closed before the command began
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    stream.write(text + "\n")
    stream.flush()  # a closed pipe must show here, where it is handled


def print_total(
    quantity: str,
    pattern: str,
    sizes: Iterable[str] | None,
    *,
    as_json: bool = False,
    as_latex: bool = False,
    **options: Any,
) -> None:
    """Print one total of a pattern; `options` are those of `symacct.account`."""
    counted = account(read_pattern(pattern), sizes=read_sizes(sizes), **options)
    amount = counted.total(quantity)
    emit(
        lambda: to_text(amount),
        lambda: total_json(counted, quantity),
        lambda: to_latex(amount),
        as_json=as_json,
        as_latex=as_latex,
        notes=[*wheres(counted.conditions), f"{counted.unit(quantity)}, {under(counted, quantity)}"],
    )


def wheres(conditions: Iterable[object]) -> list[str]:
    """Return conditions as notes."""
    return [f"where {condition}" for condition in conditions]


def under(account: Account, quantity: str) -> str:
    """Return how one quantity was counted: under which convention, in which formats, by which traffic and order."""
    said = [] if quantity == "bytes" else [account.convention.label]
    said += [formats(account), account.traffic] if quantity in ("bytes", "intensity") else []
    said += [f"order {account.order}"] if account.order and len(account.graph.inputs) > 2 else []
    return "under " + ", ".join(said)


def total_json(account: Account, quantity: str) -> dict[str, Any]:
    """Return one total and under what it holds; the keys are those of `Account.to_json`."""
    return {
        "title": account.title,
        "quantity": quantity,
        "formula": to_json(account.total(quantity)),
        "unit": account.unit(quantity),
        "convention": account.convention.to_json(),
        "dtype": [account.formats[i].name for i in (*account.graph.inputs, *account.graph.outputs)],
        "traffic": account.traffic,
        "order": account.order,
        "conditions": [str(c) for c in account.conditions],
    }
