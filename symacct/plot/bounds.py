"""What bounds each operation of a graph: the memory, the arithmetic, or nothing that is known."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

from symacct.accounting import Account
from symacct.accounting.costs import asker
from symacct.accounting.fusion import kernels
from symacct.accounting.steps import counts_of, summed
from symacct.accounting.totals import check_parted
from symacct.expr import Expr, Number, add, evaluate, multiply, sign, to_text
from symacct.graph import Graph
from symacct.plot.style import shortened

LONGEST = 28
"""Characters of a formula in a box."""

Bound: TypeAlias = Literal["memory", "compute", "free", "unknown"]


class Figure(NamedTuple):
    """An operation in a picture: what bounds it, and lines of text on what it costs."""

    bound: Bound
    lines: tuple[str, ...]


def figures(
    account: Account, graph: Graph, sizes: Mapping[str, Number] | None, ridge: float | None
) -> dict[int, Figure]:
    """Return a figure of every operation of a graph, or of a body or branch inside it, by id.

    Where kernels are fused, an operation is bound as the kernel that it is in. Operations that have graphs inside, and
    those without a rule, are unknown.

    Raises
    ------
    ConventionError
        Where bytes would be shown or compared and are of no operation, under compulsory traffic.

    """
    if sizes is not None or ridge is not None:
        check_parted(account)
    ask = asker(account.dtypes, account.layout, account.fuse, len(graph.ops))
    costs: dict[int, tuple[Expr, Expr]] = {}
    for op in graph.ops:
        cost = ask(op, graph)
        costs[op.id] = (_flop(account, cost.work), cost.bytes)
    together = dict(costs)
    if "pointwise" in account.fuse:
        for kernel in kernels(graph, free_copies=account.layout == "ideal"):
            work = summed([ask(op, graph).work for op in kernel.ops])
            moved = add([account.dtypes.bytes_of(r, graph) for r in (*kernel.reads, *kernel.writes)])
            together |= {op.id: (_flop(account, work), moved) for op in kernel.ops}
    unknown = {op.id for op in graph.ops if op.kind in ("repeat", "cond", "opaque")}
    return {
        op: Figure("unknown", ())
        if op in unknown
        else Figure(_bound(*together[op], sizes, ridge), _lines(*cost, sizes))
        for op, cost in costs.items()
    }


def _flop(account: Account, work: Any) -> Expr:
    """Return work in FLOP; a multiply-accumulate is two."""
    counted = counts_of([work], account.convention)
    return add([multiply(2 if unit == "MAC" else 1, amount) for unit, amount in counted.items()])


def _bound(flops: Expr, moved: Expr, sizes: Mapping[str, Number] | None, ridge: float | None) -> Bound:
    if flops == 0 and moved == 0:
        return "free"
    if ridge is None:
        return "unknown"
    gap = add((flops, multiply(-Fraction(str(ridge)), moved)))
    if sizes is not None:
        value = evaluate(gap, sizes)
        return "compute" if value >= 0 else "memory"
    direction = sign(gap)
    return "unknown" if direction is None else "compute" if direction >= 0 else "memory"


def _lines(flops: Expr, moved: Expr, sizes: Mapping[str, Number] | None) -> tuple[str, ...]:
    """Return what an operation costs: numbers with their intensity, or the formula of its work, cut if long."""
    if flops == 0 and moved == 0:
        return ()
    if sizes is None:
        return (f"{shortened(to_text(flops), LONGEST)} FLOP",) if flops != 0 else ()
    work, traffic = evaluate(flops, sizes), evaluate(moved, sizes)
    if not work:
        return (f"{short(traffic)}B",)
    told = f"{short(work)}FLOP, {short(traffic)}B"
    return (told, f"{digits(float(work / traffic))} FLOP/B") if traffic else (told,)


def short(value: Number | float) -> str:
    """Write a number in three digits with a prefix: ``8.59 T``."""
    for exponent, prefix in ((15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 10**exponent:
            return f"{digits(float(value / 10**exponent))} {prefix}"
    return f"{digits(float(value))} "


def digits(value: float) -> str:
    """Write a number in three digits, or whole."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
