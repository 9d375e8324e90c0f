"""What torch really executes for a truth: the FLOPs of its products, counted while it runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from symacct.accounting import Account
from symacct.errors import SymacctError
from symacct.testing.products import count_products
from symacct.worked import Worked

Execution: TypeAlias = Callable[[Mapping[str, int]], int]


def execution_of(account: Account | None, worked: Worked | None, of: str, *, wanted: bool | None) -> Execution | None:
    """Return a function that runs a truth in torch at given sizes and counts, or None where nothing can be counted.

    Parameters
    ----------
    account
        Of the truth; None for a formula, which is nothing to run.
    worked
        The worked graph that it comes from; its reference in torch is run rather than its graph.
    of
        The quantity; torch counts ``matmul_flops``, and so ``flops`` where there are no others.
    wanted
        True: not to be able to count is an error; False: do not run; None: run where it can be counted.

    Raises
    ------
    SymacctError
        Where it was wanted and cannot be.

    """
    if wanted is False:
        return None
    why = _why_not(account, of)
    if account is None or why:
        if wanted:
            msg = f"cannot execute the truth: {why}; leave execute=True out"
            raise SymacctError(msg)
        return None
    if worked is None or worked.reference is None:
        graph = account.graph
        return lambda sizes: _counted(lambda: graph.run(sizes))
    reference = worked.reference

    def run(sizes: Mapping[str, int]) -> int:
        function, inputs = reference(sizes)
        return _counted(function, *inputs)

    return run


def _counted(function: Callable[..., Any], *inputs: Any) -> int:
    try:
        return count_products(function, *inputs)
    except NotImplementedError as error:
        msg = f"cannot execute the truth: {error}; with execute=False the truth alone is asked"
        raise SymacctError(msg) from None


def _why_not(account: Account | None, of: str) -> str:
    if account is None:
        return "a formula is nothing to run; give a pattern, a graph or a worked file"
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    if account.convention.contraction not in (None, "2n"):
        return f"torch counts 2 operations a multiply-accumulate, the truth counts by {account.convention.label}"
    if of not in ("flops", "matmul_flops"):
        return f"torch counts products, not {of}"
    if of == "flops" and account.total("flops") != account.total("matmul_flops"):
        return "torch counts products only, and the truth has other operations; ask for of='matmul_flops'"
    return ""
