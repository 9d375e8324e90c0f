"""Sizes as einops and Python's operators meet them in a shape.

einops checks sizes only when both are `int` for `isinstance`: with any other size object
``reduce(x, "b s d -> b d", "mean", s=7)`` passes in silence whatever s is. So a `Dim` reads as an `int` there, through
`__class__`; it is no subclass of int and its `__index__` raises, so ``range(size)`` and indexing with it still fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, NoReturn, TypeAlias

from symacct.errors import SizeError, UndefinedSizeError
from symacct.expr import Expr, Poly, Size, add, as_size, divide, sign, whole_denominator
from symacct.symbolic.builder import caller

State: TypeAlias = Callable[[], Callable[[str], None] | None]
"""Refers to what adds a condition to a graph, as long as that is being built."""


class Dim:
    """A size that is still an expression in names; arithmetic gives a `Dim`, or an `int` where it becomes one.

    ``//`` divides exactly, under the condition that it divides (see the graph's conditions), as einops needs;
    `symacct.floordiv` and `symacct.ceildiv` round. ``%`` is 0 under the same condition, which `state` adds to the graph
    of the tensor whose size it is; a reference that is weak, since einops remembers sizes.
    """

    __slots__ = ("state", "value")
    value: Poly
    state: State | None

    def __init__(self, value: Poly, state: State | None = None) -> None:
        """Wrap an expression."""
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "state", state)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """Read as an int, so that einops checks sizes."""
        return int

    def __setattr__(self, name: str, value: object) -> NoReturn:
        msg = "a size does not change"
        raise AttributeError(msg)

    def __eq__(self, other: object) -> bool:
        return NotImplemented if hasattr(other, "shape") else type(other) is Dim and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def _with(self, other: Any, make: Callable[[Size], Expr]) -> Any:
        """Return a size made with another one; a tensor knows itself what to do with a size."""
        if hasattr(other, "shape"):
            return NotImplemented
        return wrap(make(unwrap(other)), self.state or (other.state if type(other) is Dim else None))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda n: self.value + n)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda n: self.value - n)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda n: n - self.value)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda n: self.value * n)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, lambda n: divide(self.value, n))

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, lambda n: divide(n, self.value))

    __truediv__, __rtruediv__ = __floordiv__, __rfloordiv__

    def __mod__(self, other: Any) -> Any:
        return self._with(other, lambda n: self._remainder(self.value, n))

    def __rmod__(self, other: Any) -> Any:
        return self._with(other, lambda n: self._remainder(n, self.value))

    def _remainder(self, a: Size, b: Size) -> Expr:
        """Return what is left of a division: known where the quotient is a number, else 0 under a condition."""
        quotient = divide(a, b)
        if not isinstance(quotient, Poly):
            return add((a, -(math.floor(quotient) * b)))
        whole, divisor = whole_denominator(quotient)
        if divisor != 1:
            state = self.state and self.state()
            if state is None:
                self._refuse(f"asked for the remainder of {a} by {b}, with")
            state(f"{divisor} divides {-whole if sign(whole) == -1 else whole}")
        return 0

    def __pow__(self, exponent: int) -> Any:
        return wrap(self.value**exponent, self.state)

    def __neg__(self) -> Any:
        return wrap(-self.value, self.state)

    __radd__ = __add__
    __rmul__ = __mul__

    def _refuse(self, what: str) -> NoReturn:
        msg = (
            f"{what} the size {self.value}, which is still a name; give it as a number, "
            "or write the operation with symacct's functions"
        )
        raise UndefinedSizeError(msg)

    def __bool__(self) -> bool:
        self._refuse("asked for the truth of")

    def __lt__(self, other: object) -> bool:
        self._refuse("compared")

    __le__ = __gt__ = __ge__ = __lt__

    def __index__(self) -> int:
        msg = (
            f"a loop or an index over the size {self.value}, which is still a name; "
            "give it as a number, or write the loop with symacct.repeat"
        )
        raise UndefinedSizeError(msg)

    def __int__(self) -> int:
        self._refuse("asked for the number of")

    def __float__(self) -> float:
        msg = (
            f"asked for the number of the size {self.value}, which is still a name; give it as a number, or write its "
            "root as a power beside a tensor: x / x.shape[-1] ** 0.5, or x * x.shape[-1] ** -0.5"
        )
        raise UndefinedSizeError(msg)

    def __repr__(self) -> str:
        return repr(self.value)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self.value), spec)


def wrap(value: Expr, state: State | None = None) -> Any:
    """Return a size as a shape shows it: an int, or a `Dim`, which says by `state` under what it is divided.

    Raises
    ------
    SizeError
        For a constant fraction: sizes are whole.

    """
    if isinstance(value, Poly):
        return Dim(value, state)
    if type(value) is int:
        return value
    msg = f"a size of {value} is not whole"
    raise SizeError(msg)


def plain(value: Any) -> Any:
    """Return an attribute as a graph holds it: a size as its expression, a number of another library as Python's."""
    if type(value) is Dim:
        return value.value
    if type(value) is tuple:
        return tuple([plain(v) for v in value])
    if type(value) in (int, float, bool) or not isinstance(value, Real) or isinstance(value, Fraction):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def unwrap(value: Any) -> Size:
    """Return what stands behind a size: an int, or an expression.

    Raises
    ------
    SizeError
        For anything that is no size.

    """
    if type(value) is Dim:
        return value.value
    if type(value) is int or type(value) is Poly:
        return value
    try:
        return as_size(value, "an axis")
    except SizeError as error:
        msg = f"{error}{caller()}"
        raise SizeError(msg) from None
