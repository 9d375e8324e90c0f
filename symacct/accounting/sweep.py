"""Totals at many sizes at once: exact in 64 bits where every partial sum fits, float64 and said so where not."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.accounting.numbers import axis_name
from symacct.accounting.render import told
from symacct.accounting.totals import totals_of
from symacct.errors import SizeError, UndefinedSizeError, one_of
from symacct.expr import Call, Expr, Poly, as_size, terms_of, whole_denominator
from symacct.graph import Condition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symacct.accounting.core import Account

_LIMIT = 2**63 - 1


@dataclass(frozen=True)
class Sweep:
    """The totals of an account over many sizes.

    `axes` maps each name to its values; arrays have one axis a name in that order, or a single one with
    ``zip=True``. Each array is made when asked for.
    """

    account: Account
    axes: Mapping[str, NDArray[Any]]
    pairs: bool
    python_ints: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of every array."""
        sizes = [len(v) for v in self.axes.values()]
        return tuple(sizes[:1]) if self.pairs else tuple(sizes)

    @property
    def flops(self) -> NDArray[Any]:
        """Everything executed, at each point."""
        return self.values("flops")

    @property
    def matmul_flops(self) -> NDArray[Any]:
        """Contractions, at each point."""
        return self.values("matmul_flops")

    @property
    def bytes(self) -> NDArray[Any]:
        """Bytes moved, at each point."""
        return self.values("bytes")

    @property
    def intensity(self) -> NDArray[Any]:
        """Arithmetic intensity at each point, in float64."""
        import numpy as np

        return np.asarray(self.values("flops") / self.values("bytes"))

    def exact(self, quantity: str) -> bool:
        """Whether the values of a total are exact; False means float64, rounded."""
        if quantity == "intensity" or not _rational(total := self.account.total(quantity)):
            return False
        return self.python_ints or _bound(total, self.axes) <= _LIMIT

    def values(self, quantity: str) -> NDArray[Any]:
        """Return one total at each point."""
        import numpy as np

        if quantity == "intensity":
            return self.intensity
        total = self.account.total(quantity)
        dtype: Any = object if self.python_ints else np.int64 if self.exact(quantity) else np.float64
        try:
            with np.errstate(over="raise"):
                out = on_arrays(total, self.arrays(dtype), dtype)
        except (FloatingPointError, OverflowError):
            msg = f"{quantity} exceeds the range of float64 at some of these sizes; use sweep(..., exact=True)"
            raise SizeError(msg) from None
        return np.broadcast_to(out, self.shape)

    def arrays(self, dtype: Any) -> dict[str, NDArray[Any]]:
        """Return the values of each size, shaped to combine."""
        out = {}
        for i, (n, values) in enumerate(self.axes.items()):
            shape = [1] * len(self.axes)
            shape[i] = len(values)
            array = values.astype(dtype)
            out[n] = array if self.pairs else array.reshape(shape)
        return out

    def note(self, quantity: str) -> str:
        """Say how exact the values of a total are, and whether some work is not in it."""
        partial = told(self.account, quantity) != quantity
        return self._exactness(quantity) + f"; partial: {one_of(self.account.uncounted)} not counted" * partial

    def _exactness(self, quantity: str) -> str:
        if quantity == "intensity":
            return "float64 (a quotient)"
        if self.exact(quantity):
            return "exact"
        if not _rational(self.account.total(quantity)):
            return "float64: there are roots or logarithms"
        return "float64: a partial sum may exceed 64 bits; sweep(..., exact=True) is exact and slower"

    def __str__(self) -> str:
        """Print the ranges and how exact each total is."""
        grid = "pairs" if self.pairs else "grid"
        ranges = ", ".join(f"{n}: {len(v)} values" for n, v in self.axes.items())
        return "\n".join([f"{grid} of {ranges}", *(f"  {q:<13} {self.note(q)}" for q in totals_of(self.account))])

    __repr__ = __str__


def sweep(account: Account, axes: Mapping[str, Any], *, pairs: bool, exact: bool) -> Sweep:
    """See `Account.sweep`."""
    values = {axis_name(account, n): _values(v, n) for n, v in axes.items()}
    if missing := [n for n in account.names if n not in values]:
        msg = f"no values for {one_of(missing)}; a sweep needs a number or a list for each of {one_of(account.names)}"
        raise UndefinedSizeError(msg)
    lengths = {n: len(v) for n, v in values.items() if len(v) != 1}
    if pairs:
        if len(set(lengths.values())) > 1:
            msg = f"with zip=True all lists have one length, not {', '.join(f'{n}: {k}' for n, k in lengths.items())}"
            raise SizeError(msg)
        longest = max(lengths.values(), default=1)
        values = {n: v if len(v) == longest else v.repeat(longest) for n, v in values.items()}
    out = Sweep(account, values, pairs, exact)
    for condition in account.conditions:
        _check(condition, out)
    return out


def _values(given: Any, axis: str) -> NDArray[Any]:
    """Return the values of one size as an array of whole numbers, checked."""
    import numpy as np

    if (
        isinstance(given, np.ndarray)
        and given.ndim == 1
        and given.dtype.kind in "iu"
        and given.size
        and given.min() > 0
    ):
        return given.astype(object) if given.dtype == np.uint64 else given.astype(np.int64)
    given = given.tolist() if isinstance(given, np.ndarray) and given.dtype.kind in "iu" else given
    items = list(given) if hasattr(given, "__iter__") and not isinstance(given, str) else [given]
    sizes = [as_size(v, axis) for v in items]
    numbers = [s for s in sizes if not isinstance(s, Poly)]
    if not numbers or len(numbers) < len(sizes):
        msg = f"the values of {axis!r} are whole numbers, at least one"
        raise SizeError(msg)
    return np.array(numbers, dtype=np.int64 if max(numbers) <= _LIMIT else object)


def _check(condition: Condition, points: Sweep) -> None:
    if condition.kind == "stated" or isinstance(condition.left, str) or isinstance(condition.right, str):
        return
    arrays = points.arrays(object)
    left, right = (on_arrays(side, arrays, object) for side in (condition.left, condition.right))
    if condition.kind == "equal":
        broken = left != right
    else:
        broken = (right % left != 0) if condition.kind == "divides" else left < right
    if getattr(broken, "any", lambda: broken)():
        msg = f"some of these sizes break a condition: {condition}"
        raise SizeError(msg)


def _rational(x: Expr) -> bool:
    """Whether there are neither roots nor logarithms in an expression."""
    return all(
        type(e) is int and (not isinstance(a, Call) or (a.function != "log2" and _rational(a.args[0])))
        for m in terms_of(x)
        for a, e in m
    )


def _bound(x: Expr, axes: Mapping[str, NDArray[Any]]) -> int:
    """Bound the magnitude of every partial sum of a total over its common denominator."""
    above, below = whole_denominator(x)
    largest = {n: int(v.max()) for n, v in axes.items()}
    if isinstance(below, Poly):
        return _LIMIT + 1
    return _largest_sum(above, largest)


def _largest_sum(x: Expr, largest: Mapping[str, int]) -> int:
    """Bound a sum with whole coefficients by the sum of its terms' magnitudes at the largest sizes."""
    return sum(abs(int(c)) * math.prod(_largest(a, largest) ** int(e) for a, e in m) for m, c in terms_of(x).items())


def _largest(a: str, largest: Mapping[str, int]) -> int:
    if not isinstance(a, Call):
        return largest[a]
    above, below = whole_denominator(a.args[0])
    if a.function not in ("ceil", "floor") or isinstance(below, Poly):
        return _LIMIT + 1
    return _largest_sum(above, largest) + 1


def on_arrays(x: Expr, arrays: Mapping[str, NDArray[Any]], dtype: Any) -> Any:
    """Return an expression at arrays of sizes: exact in whole numbers, or in float64."""
    import numpy as np

    if dtype == np.float64:
        return _sum(x, arrays, dtype)
    above, below = whole_denominator(x)
    total = _sum(above, arrays, dtype)
    if below == 1:
        return total
    divisor = _sum(below, arrays, dtype)
    if np.any(np.asarray(total % divisor) != 0):
        return (
            np.asarray(total) / divisor
            if dtype is not object
            else np.vectorize(Fraction, otypes=[object])(total, divisor)
        )
    return total // divisor


def _sum(x: Expr, arrays: Mapping[str, NDArray[Any]], dtype: Any) -> Any:
    import numpy as np

    out: Any = np.zeros((), dtype=dtype)
    for m, c in terms_of(x).items():
        part: Any = float(c) if dtype == np.float64 else int(c)
        for a, e in m:
            base = _atom(a, arrays, dtype) if isinstance(a, Call) else arrays[a]
            # negative whole powers exist in float64 only; an integer exponent keeps integer arrays whole
            part = part * (base if e == 1 else base ** (int(e) if type(e) is int else float(e)))
        out = out + part
    return out


def _atom(a: Call, arrays: Mapping[str, NDArray[Any]], dtype: Any) -> Any:
    import numpy as np

    if a.function in ("ceil", "floor") and dtype != np.float64:
        above, below = (_sum(side, arrays, dtype) for side in whole_denominator(a.args[0]))
        return -(-above // below) if a.function == "ceil" else above // below
    value = _sum(a.args[0], arrays, np.float64 if dtype == np.int64 else dtype)
    functions: dict[str, Callable[[Any], Any]] = {
        "ceil": np.ceil,
        "floor": np.floor,
        "log2": lambda v: np.log2(np.asarray(v, dtype=np.float64)),
        "group": lambda v: v,
    }
    return functions[a.function](value)
