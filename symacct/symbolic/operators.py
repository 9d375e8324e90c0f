"""Python's operators on symbolic tensors, as methods of them."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from symacct.errors import GraphError
from symacct.symbolic.builder import caller
from symacct.symbolic.size import Dim


def operator(kind: str) -> Callable[[Any, Any], Any]:
    """Return the method of a tensor for one of Python's operators."""
    return lambda self, other: binary(kind, self, other)


def reflected(kind: str) -> Callable[[Any, Any], Any]:
    """Return the method for an operator of which the tensor is the right operand."""
    return lambda self, other: binary(kind, other, self)


def comparison(kind: str) -> Callable[[Any, object], Any]:
    """Return the method for ``==`` or ``!=``, which None and text leave to Python."""

    def compare(self: Any, other: object) -> Any:
        return NotImplemented if other is None or isinstance(other, str) else binary(kind, self, other)

    return compare


def of_masks(kind: str) -> Callable[[Any, Any], Any]:
    """Return the method for an operator of masks."""

    def combine(self: Any, other: Any) -> Any:
        from symacct.symbolic.pinning import as_mask

        return binary(kind, as_mask(self), as_mask(other))

    return combine


def unknown(sign: str) -> Callable[[Any, Any], Any]:
    """Return a method that refuses an operator without a rule.

    Raises
    ------
    GraphError
        Always.

    """

    def refuse(self: Any, other: Any) -> Any:
        msg = f"{sign} between {self!r} and {other!r} is not known; known: + - * / ** @ & | ~ and comparisons{caller()}"
        raise GraphError(msg)

    return refuse


def binary(kind: str, left: Any, right: Any) -> Any:
    """Write down an operation on two values, one of which may be a number."""
    from symacct.symbolic.tensor import Symbolic, record

    if isinstance(left, Symbolic) and isinstance(right, Symbolic):
        return record(kind, (left, right), {})
    tensor, number, side = (left, right, "right") if isinstance(left, Symbolic) else (right, left, "left")
    if not _is_number(number):
        return record(kind, (left, right), {})
    return record(kind, (tensor,), {"scalar": number, "side": side})


def _is_number(x: Any) -> bool:
    return isinstance(x, Real) or type(x) is Dim
