"""The verb `draw`: a picture of a graph, of a roofline, of where time is lost, of totals along sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from symacct.accounting import Account, Formats
from symacct.accounting.numbers import concrete
from symacct.accounting.regimes import Regimes
from symacct.accounting.roofline import Roofline, RooflineFigures
from symacct.accounting.roofline.losses import Waterfall
from symacct.accounting.sweep import Sweep
from symacct.conventions import convention_of
from symacct.dtypes import as_format
from symacct.errors import ConventionError, SizeError
from symacct.expr import collect_sizes
from symacct.graph import Graph
from symacct.graph.export import titled_parts
from symacct.memory import Ledger, Timeline
from symacct.plot.bounds import figures
from symacct.plot.style import check_path, need_matplotlib, save
from symacct.units import Quantity, quantity


def draw(
    what: Any,
    path: str | Path | None = None,
    *,
    sizes: Mapping[str, Any] | None = None,
    ridge: float | Quantity | None = None,
    of: str | None = None,
) -> Any:
    """Draw what was worked out: a graph, a roofline, a waterfall, a sweep, or which term rules.

    Parameters
    ----------
    what
        An `Account` or a `Graph`: operations as boxes coloured by what bounds them, shapes along the lines.
        ``account.roofline(device).at(...)``: intensity against speed, or with ``of="time"`` the time by operation.
        ``account.mfu_bound(device, ...)``: from the peak down to the predicted MFU. ``account.sweep(...)``: the total
        `of` along a size. ``account.regimes(...)`` and ``account.roofline(device).regimes(...)``: the largest term
        along a size, or in the plane of two. ``account.training(...).memory``: what is alive over a step of training.
    path
        A file to write, ``.svg``, ``.png`` or ``.pdf``; None for none.
    sizes
        Of a graph, a roofline or a memory, a number for every name; a graph without them shows the formulas.
    ridge
        Of a graph, FLOP/B at which a machine computes as fast as it loads (H100 in bf16: 295). An operation below is
        memory-bound, at or above compute-bound; grey without it, or where the sizes decide and are not given.
    of
        Of a roofline ``"roofline"`` or ``"time"``, of a sweep a total such as ``"intensity"``; by default the first
        and ``"flops"``.

    Returns
    -------
    A matplotlib figure where `path` is None, else the path that was written.

    Raises
    ------
    MissingPackageError
        Without matplotlib.
    ConventionError
        For another kind of file, or what cannot be drawn.
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
    >>> at = sa.account(mlp).roofline("h100").at(b=64, d=4096, f=16384)
    >>> sa.draw(at).axes[0].get_xlabel()
    'arithmetic intensity, FLOP/B'

    """
    check_path(path)
    if isinstance(what, Account | Graph):
        if of is not None:
            msg = f"of={of!r} is of a roofline or a sweep; a graph is drawn with sizes and ridge"
            raise ConventionError(msg)
        return save(_graph(what, sizes, ridge), path)
    if ridge is not None or (sizes is not None and not isinstance(what, Roofline | Ledger)):
        msg = "ridge is of a graph, and sizes of a graph, a roofline or a memory; what was worked out has its own"
        raise ConventionError(msg)
    if isinstance(what, Roofline | Ledger):
        what = what.at(sizes=sizes) if isinstance(what, Roofline) else what.timeline(sizes=sizes)
    return save(_chart(what, of), path)


def _chart(what: Any, of: str | None) -> Any:
    need_matplotlib()
    from symacct.plot import bars, curves, memory, roofs

    if isinstance(what, RooflineFigures) and of in (None, "roofline", "time"):
        return bars.time_chart(what) if of == "time" else roofs.roofline_chart(what)
    if isinstance(what, Sweep):
        return curves.sweep_chart(what, of or "flops")
    if isinstance(what, Waterfall | Regimes) and of is None:
        return bars.waterfall_chart(what) if isinstance(what, Waterfall) else curves.regimes_chart(what)
    if isinstance(what, Timeline) and of is None:
        return memory.memory_chart(what)
    kind = type(what).__name__
    msg = f"cannot draw {kind} with of={of!r}; help(symacct.draw) lists what can be drawn"
    raise ConventionError(msg)


def _graph(what: Account | Graph, sizes: Mapping[str, Any] | None, ridge: float | Quantity | None) -> Any:
    if isinstance(ridge, Quantity):
        ridge = float(quantity(ridge, "FLOP/B"))
    number = isinstance(ridge, int | float) and not isinstance(ridge, bool)
    if ridge is not None and not (number and 0 < ridge < float("inf")):
        msg = f"a ridge of {ridge!r} FLOP/B; it is a positive number"
        raise SizeError(msg)
    account = what if isinstance(what, Account) else _account(what)
    symbolic = sizes is None and account.names
    numbers = None if symbolic else concrete(account, collect_sizes(sizes, {}, account.names))
    need_matplotlib()
    from symacct.plot.panel import panel_of
    from symacct.plot.picture import paint

    panels = [
        panel_of(title, graph, figures(account, graph, numbers, ridge)) for title, graph in _graphs(account.graph)
    ]
    return paint(panels, account.title, _under(account, numbers), ridge)


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
        for inner, part in titled_parts(op):
            yield from _graphs(part, inner)
