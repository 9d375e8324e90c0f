"""NumPy arrays of numbers that count: programs on whole tensors, their sums counted apart.

Element by element NumPy executes one operation an output element; `sums` and `largest` run a reduction of n as n - 1
operations ("exact": it starts with its first term) or as n ("2n": it starts with an accumulator).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symacct.testing.counting import Counted, array, call

Array = NDArray[Any]


class Machine:
    """Counts what a program executes: `calls` of functions element by element, `reduced` in reductions."""

    def __init__(self, way: str) -> None:
        self.way = way
        self.calls: Counter[str] = Counter()
        self.reduced: Counter[str] = Counter()

    def load(self, values: Array) -> Array:
        """Make an array count; one of whole numbers is indices, and does not."""
        return values if values.dtype.kind == "i" else array(values, self.calls)

    def sums(self, x: Array, axes: Sequence[int]) -> Array:
        return self._reduce(x, axes, lambda a, b: a + b, 0.0)

    def largest(self, x: Array, axes: Sequence[int]) -> Array:
        return self._reduce(x, axes, lambda a, b: call("max", a, b), -1e9)

    def _reduce(
        self, x: Array, axes: Sequence[int], join: Callable[[Counted, Counted], Counted], start: float
    ) -> Array:
        """Reduce over axes, which stay at size 1."""
        axes = [a % x.ndim for a in axes]
        kept = [i for i in range(x.ndim) if i not in axes]
        rows = x.transpose(*kept, *axes).reshape(*(x.shape[i] for i in kept), -1)
        out = np.empty(rows.shape[:-1], dtype=object)
        for place in np.ndindex(out.shape):
            terms = [Counted(v.value, self.reduced) for v in rows[place]]
            total = terms.pop(0) if self.way == "exact" else Counted(start, self.reduced)
            for term in terms:
                total = join(total, term)
            out[place] = Counted(total.value, self.calls)
        return out.reshape([1 if i in axes else s for i, s in enumerate(x.shape)])


def each(function: str) -> Callable[[Array], Array]:
    """Call a function of `FUNCTIONS` on every element."""
    return np.frompyfunc(lambda x: call(function, x), 1, 1)


def plain(x: Array) -> Array:
    """The values of an array that counts."""
    return np.vectorize(lambda v: v.value, otypes=[float])(x)
