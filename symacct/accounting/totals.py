"""The totals of an account, one quantity at a time, and their units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.accounting.quantity import QUANTITIES
from symacct.accounting.steps import bytes_of, counts_of, one_unit
from symacct.conventions import matmul_work
from symacct.errors import ConventionError, GraphError, InconclusiveError, UndefinedSizeError, one_of
from symacct.expr import Expr, add, divide

if TYPE_CHECKING:
    from symacct.accounting.core import Account
    from symacct.graph import Graph, Tensor


def totals_of(account: Account) -> list[str]:
    """Return which totals an account has: under mac, mixed work has no flops and no intensity."""
    mixed = len(account.counts) > 1
    lacking = {"flops", "intensity"} if mixed else set()
    if account.total("bytes") == 0:
        lacking.add("intensity")
    if not _parameters(account.graph):
        lacking.add("params")
    return [q for q in QUANTITIES if q not in lacking]


def total_of(account: Account, quantity: str) -> Expr:
    """Work out one total; see `Account.total`."""
    if quantity == "flops":
        return one_unit(account.counts, account.convention)
    if quantity == "matmul_flops":
        works = [matmul_work(work) for work in account.works]
        return one_unit(counts_of(works, account.convention), account.convention)
    if quantity == "bytes":
        if account.traffic == "unfused" and "pointwise" not in account.fuse:
            return bytes_of(account.alike, account.dtypes, account.layout, account.fuse)
        return add(amount for _, amount in account.traffic_terms())
    if quantity == "intensity":
        if account.total("bytes") == 0:
            msg = "nothing is moved (views alone), so there is no arithmetic intensity"
            raise UndefinedSizeError(msg)
        return divide(account.total("flops"), account.total("bytes"))
    if quantity == "params":
        if found := _parameters(account.graph):
            return add(t.numel for t in found)
        msg = "no argument is known to be a parameter; name them: sa.account(layer, params=['w'])"
        raise GraphError(msg)
    msg = f"unknown quantity {quantity!r}; known: {one_of(QUANTITIES)}"
    raise ConventionError(msg)


def is_parted(account: Account) -> bool:
    """Whether bytes are those of the operations added up."""
    return account.traffic != "compulsory" or add(s.bytes for s in account.steps) == account.total("bytes")


def check_parted(account: Account, quantity: str = "bytes") -> None:
    """Check that a total is that of the operations added up: compulsory bytes of several are of the whole alone.

    Raises
    ------
    ConventionError
        Where they are not; names what else there is.

    """
    if quantity == "bytes" and not is_parted(account):
        msg = (
            "compulsory bytes are of a whole computation and of none of its operations; take them tensor by tensor "
            "(.traffic_terms()), or the operations of an account with traffic='unfused'"
        )
        raise ConventionError(msg)


def check_counted(account: Account, quantity: str) -> None:
    """Check that a total is whole: work that has no rule is in none of the totals but the bytes.

    Raises
    ------
    InconclusiveError
        Names what is not counted.

    """
    if account.uncounted and quantity not in ("bytes", "params"):
        msg = f"{quantity} is partial, so it says nothing of the whole; not counted: {one_of(account.uncounted)}"
        raise InconclusiveError(msg)


def unit_of(account: Account, quantity: str) -> str:
    """Return the unit of a quantity; see `Account.unit`."""
    if quantity not in QUANTITIES:
        msg = f"unknown quantity {quantity!r}; known: {one_of(QUANTITIES)}"
        raise ConventionError(msg)
    if quantity == "bytes":
        return "B"
    if quantity == "params":
        return "elements"
    if quantity == "matmul_flops":
        return "MAC" if account.convention.contraction == "mac" else "FLOP"
    work = next(iter(account.counts)) if len(account.counts) == 1 else "FLOP"
    return f"{work}/B" if quantity == "intensity" else work


def _parameters(graph: Graph) -> list[Tensor]:
    return [graph.tensors[i] for i in graph.inputs if graph.tensors[i].role == "param"]
