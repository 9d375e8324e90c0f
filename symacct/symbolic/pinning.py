"""Arguments whose dtype follows from their use: indices are integers, masks are booleans."""

from __future__ import annotations

from typing import Any

from symacct.errors import DtypeError
from symacct.symbolic.builder import Builder, caller
from symacct.symbolic.tensor import Symbolic


def as_index(x: Any) -> Any:
    """Return a tensor that is used as indices; an argument whose dtype was left open becomes int64, torch's.

    Raises
    ------
    DtypeError
        For numbers that are no integers.

    """
    if isinstance(x, Symbolic) and not (x.dtype or "").startswith(("int", "uint")):
        _pin(x, "int64", "indices, which are integers; annotate the argument as Int[Tensor, '...']")
    return x


def as_mask(x: Any) -> Any:
    """Return a tensor that is used as a mask; an argument whose dtype was left open becomes bool.

    Raises
    ------
    DtypeError
        For a tensor of numbers.

    """
    if isinstance(x, Symbolic) and x.dtype != "bool":
        _pin(x, "bool", "a mask, which is of booleans; compare it, or annotate the argument as Bool[Tensor, '...']")
    return x


def _pin(x: Symbolic, dtype: str, needed: str) -> None:
    """Give a dtype to an argument, and to the views of it, where nothing has read them in another one."""
    builder = x.builder
    argument = x.tensor.owner
    of_it = {t.id for t in builder.tensors if t.owner == argument}
    is_open = builder.tensors[argument].role == "input" and not builder.is_body and x.dtype is None
    if not is_open or _is_read(builder, of_it):
        msg = f"{x!r} of dtype {x.dtype or 'of the account'} as {needed}, or use symacct.cast{caller()}"
        raise DtypeError(msg)
    for i in of_it:
        builder.pin(i, dtype)


def _is_read(builder: Builder, tensors: set[int]) -> bool:
    """Whether an operation took one of the tensors and made something else than a view of it."""
    return any(not tensors.isdisjoint(op.inputs) and not tensors.issuperset(op.outputs) for op in builder.ops)
