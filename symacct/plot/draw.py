"""A graph as a picture: operations as boxes in layers, tensors as lines between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from symacct.accounting import Account, Formats
from symacct.accounting.numbers import concrete
from symacct.conventions import convention_of
from symacct.dtypes import as_format
from symacct.errors import ConventionError, MissingPackageError, SizeError, one_of
from symacct.expr import collect_sizes
from symacct.graph import Graph
from symacct.plot.bounds import figures

SUFFIXES = (".pdf", ".png", ".svg")


def draw(
    what: Account | Graph,
    path: str | Path | None = None,
    *,
    sizes: Mapping[str, Any] | None = None,
    ridge: float | None = None,
) -> Any:
    """Draw a graph: operations as boxes coloured by what bounds them, shapes along the lines.

    Parameters
    ----------
    what
        An `Account`, or a `Graph` (which is then counted as `symacct.account` does by default).
    path
        A file to write, ``.svg``, ``.png`` or ``.pdf``; None for none.
    sizes
        A number for every name; None leaves the formulas.
    ridge
        FLOP/B at which a machine computes as fast as it loads (H100 in bf16: 295). An operation below is memory-bound,
        at or above compute-bound; grey without it, or where the sizes decide and are not given.

    Returns
    -------
    A matplotlib figure where `path` is None, else the path that was written.

    Raises
    ------
    MissingPackageError
        Without matplotlib.
    ConventionError
        For another kind of file.
    SizeError
        For a ridge that is no positive number, or sizes that break a condition.

    Examples
    --------
    >>> import symacct as sa
    >>> def mlp(x: "b d", up: "d f", down: "f d"):
    ...     return sa.gelu(x @ up) @ down
    >>> figure = sa.draw(sa.account(mlp), ridge=295, sizes={"b": 64, "d": 4096, "f": 16384})
    >>> len(figure.axes)
    1

    """
    if path is not None and Path(path).suffix.lower() not in SUFFIXES:
        msg = f"cannot write {str(path)!r}; a picture is one of {one_of(SUFFIXES)}"
        raise ConventionError(msg)
    if ridge is not None and not 0 < ridge < float("inf"):
        msg = f"a ridge of {ridge!r} FLOP/B; it is a positive number"
        raise SizeError(msg)
    account = what if isinstance(what, Account) else _account(what)
    symbolic = sizes is None and account.names
    numbers = None if symbolic else concrete(account, collect_sizes(sizes, {}, account.names))
    try:
        import matplotlib as mpl
    except ImportError:
        msg = "drawing needs matplotlib: pip install 'symacct[plot]'"
        raise MissingPackageError(msg) from None
    from symacct.plot.panel import panel_of
    from symacct.plot.picture import paint

    panels = [
        panel_of(title, graph, figures(account, graph, numbers, ridge)) for title, graph in _graphs(account.graph)
    ]
    picture = paint(panels, account.title, _under(account, numbers), ridge)
    if path is None:
        return picture
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(Path(path).suffix.lower())
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "symacct", "pdf.fonttype": 42}):
        picture.savefig(path, dpi=200, metadata=undated)
    return Path(path)


def _under(account: Account, numbers: Mapping[str, Any] | None) -> str:
    """Say under what the picture holds."""
    sizes = ", ".join(f"{name} = {number}" for name, number in (numbers or {}).items())
    return "; ".join(part for part in (sizes, account.convention.label, account.dtypes.usual.name) if part)


def _account(graph: Graph) -> Account:
    return Account(graph, convention_of("2n"), Formats(as_format("bf16")), title="graph", order="")


def _graphs(graph: Graph, title: str = "") -> Iterator[tuple[str, Graph]]:
    """Yield a graph and those inside it, each with what to write above."""
    yield title, graph
    for op in graph.ops:
        if op.kind == "repeat":
            for body, turns in op.bodies:
                often = "" if turns == op.attrs["n"] else f", {turns} of them"
                yield from _graphs(body, f"body of: {op.label}{often}")
        for number, branch in enumerate(op.attrs["branches"], 1) if op.kind == "cond" else ():
            yield from _graphs(branch, f"branch {number} of: {op.label}")
