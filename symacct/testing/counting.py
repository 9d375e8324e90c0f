"""Numbers that count every operation executed on them: the oracle that knows nothing of the engine's formulas.

Feed them to any plain program; afterwards `calls` says how many additions, multiplications and calls of named
functions were really executed. In NumPy object arrays only matmul, dot, tensordot and add.reduce execute what their
definition says; np.einsum starts its sums from zero, which adds one addition a sum.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from symacct.errors import SymacctError, UnknownOpError, nearest, one_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

Calls: TypeAlias = "Counter[str]"

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "eq": operator.eq,
    "erf": math.erf,
    "exp": math.exp,
    "ge": operator.ge,
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gt": operator.gt,
    "le": operator.le,
    "log": math.log,
    "lt": operator.lt,
    "max": max,
    "min": min,
    "ne": operator.ne,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "sqrt": math.sqrt,
    "tanh": math.tanh,
}
"""What `call` can compute. Conventions weigh comparisons as ``compare``, and min as ``max``."""


class Counted:
    """A number that adds one to ``calls[name]`` for each operation it takes part in.

    Parameters
    ----------
    value
        An int, Fraction or float; arithmetic is Python's own.
    calls
        The counter shared by all numbers of a run.

    Examples
    --------
    >>> calls = Counter()
    >>> a, b = Counted(2, calls), Counted(3, calls)
    >>> (a * b + a).value, dict(calls)
    (8, {'mul': 1, 'add': 1})

    """

    __slots__ = ("calls", "value")

    def __init__(self, value: Any, calls: Calls) -> None:
        """Wrap a value."""
        self.value = value
        self.calls = calls

    def __add__(self, other: Any) -> Counted:
        return _made(self.calls, "add", self.value + _value(other))

    def __radd__(self, other: Any) -> Counted:
        return _made(self.calls, "add", _value(other) + self.value)

    def __sub__(self, other: Any) -> Counted:
        return _made(self.calls, "sub", self.value - _value(other))

    def __rsub__(self, other: Any) -> Counted:
        return _made(self.calls, "sub", _value(other) - self.value)

    def __mul__(self, other: Any) -> Counted:
        return _made(self.calls, "mul", self.value * _value(other))

    def __rmul__(self, other: Any) -> Counted:
        return _made(self.calls, "mul", _value(other) * self.value)

    def __truediv__(self, other: Any) -> Counted:
        return _made(self.calls, "div", self.value / _value(other))

    def __rtruediv__(self, other: Any) -> Counted:
        return _made(self.calls, "div", _value(other) / self.value)

    def __repr__(self) -> str:
        return f"Counted({self.value!r})"


def _made(calls: Calls, name: str, value: Any) -> Counted:
    calls[name] += 1
    return Counted(value, calls)


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Counted) else x


def call(function: str, *arguments: Any) -> Counted:
    """Call a function of `FUNCTIONS`: one call counted under its name, whatever happens inside.

    Parameters
    ----------
    function
        Its name.
    *arguments
        At least one `Counted`; plain numbers besides.

    Raises
    ------
    UnknownOpError
        For a function that is not in `FUNCTIONS`.
    SymacctError
        Where no argument counts.

    Examples
    --------
    >>> calls = Counter()
    >>> call("max", Counted(-2, calls), 0), dict(calls)
    (Counted(0), {'max': 1})

    """
    if function not in FUNCTIONS:
        msg = f"no function {function!r} to call; known: {one_of(FUNCTIONS)}.{nearest(function, FUNCTIONS)}"
        raise UnknownOpError(msg)
    counting = [a for a in arguments if isinstance(a, Counted)]
    if not counting:
        msg = f"{function}: no argument is a Counted, so nothing would be counted; wrap one in Counted(value, calls)"
        raise SymacctError(msg)
    return _made(counting[0].calls, function, FUNCTIONS[function](*map(_value, arguments)))


def fma(a: Counted, b: Any, total: Any) -> Counted:
    """``a*b + total`` as one multiply-accumulate: one call of ``fma``, no ``mul`` and no ``add``.

    Examples
    --------
    >>> calls = Counter()
    >>> fma(Counted(2, calls), 3, 4), dict(calls)
    (Counted(10), {'fma': 1})

    """
    return _made(a.calls, "fma", a.value * _value(b) + _value(total))


def totals(calls: Mapping[str, int], weights: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return operations and multiply-accumulates, ``{"FLOP": ..., "MAC": ...}``; a unit with none is left out.

    Parameters
    ----------
    calls
        Calls by function name.
    weights
        Operations a call; 1 where a function is not named.

    Examples
    --------
    >>> totals({"mul": 6, "add": 4}), totals({"fma": 6, "gelu": 2}, {"gelu": 20})
    ({'FLOP': 10}, {'FLOP': 40, 'MAC': 6})

    """
    flops = sum(n * (weights or {}).get(name, 1) for name, n in calls.items() if name != "fma")
    both = {"FLOP": flops, "MAC": calls.get("fma", 0)}
    return {unit: amount for unit, amount in both.items() if amount}


def array(values: Any, calls: Calls) -> NDArray[Any]:
    """Return a NumPy object array of `Counted` from an array or nested lists, for matmul, dot, tensordot, add.reduce.

    Examples
    --------
    >>> calls = Counter()
    >>> x, w = array([[1, 2, 3]], calls), array([[1], [1], [1]], calls)
    >>> (x @ w).item(), dict(calls)
    (Counted(6), {'mul': 3, 'add': 2})

    """
    import numpy as np

    plain = np.asarray(values)
    out = np.empty(plain.shape, dtype=object)
    for place, value in np.ndenumerate(plain):
        out[place] = Counted(value.item(), calls)
    return out
