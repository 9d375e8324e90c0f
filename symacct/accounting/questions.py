"""The questions one asks of an account about its closed forms; `Account` has them as its methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symacct.accounting import analysis, numbers
from symacct.accounting.solve import Solution, solve
from symacct.accounting.sweep import Sweep, sweep
from symacct.expr import Sympy


class Questions:
    """Methods alone, in a file of their own since their explanations are long."""

    __slots__ = ()

    def leading(self: Any, axis: Any, *, of: str | None = None) -> Any:
        """Return the leading behaviour as one size grows: ``n/3`` for the intensity of a square bf16 matmul.

        Returns all four totals, or the one named by `of`.

        Examples
        --------
        >>> import symacct as sa
        >>> sa.account("i j, j k -> i k", i="n", j="n", k="n", convention="exact").leading("n", of="intensity")
        n/3

        """
        return analysis.leading(self, axis, of)

    def limit(self: Any, axis: Any, *, of: str = "intensity") -> Sympy:
        """Return the limit as one size grows without bound (``oo`` where there is none).

        Examples
        --------
        >>> import symacct as sa
        >>> sa.account("n, n ->", convention="exact").limit("n")
        1/2

        """
        return analysis.limit(self, axis, of)

    def sensitivity(self: Any, axis: Any, *, of: str = "intensity") -> Sympy:
        """Return by how many percent a quantity grows when a size grows by one percent: ``d log f / d log n``.

        Examples
        --------
        >>> import symacct as sa
        >>> sa.account("b d, d k -> b k").sensitivity("b")
        d*k/(b*d + b*k + d*k)

        """
        return analysis.sensitivity(self, axis, of)

    def crossovers(self: Any, axis: Any, *, of: str = "bytes", by: str | None = None) -> list[Any]:
        """Return where two terms of a total are equal as one size varies.

        Parameters
        ----------
        axis
            The size that varies.
        of
            ``"bytes"``, ``"flops"`` or ``"matmul_flops"``.
        by
            What the terms are: ``"op"``, ``"kind"``, ``"scope"`` or ``"family"``, as in `by`; by default tensors for
            bytes, and each operation for flops.

        Raises
        ------
        InconclusiveError
            Where there is no closed form: beyond degree 2, or depending on sizes that are still names.

        Examples
        --------
        >>> import symacct as sa
        >>> for c in sa.account("b d, d k -> b k").crossovers("b"):
        ...     print(c)
        operand 1 read = operand 2 read at b = k
        operand 2 read = output written at b = d

        """
        return analysis.crossovers(self, axis, of, by)

    def solve(self: Any, axis: Any, **target: Any) -> Solution:
        """Solve a quantity for one size, such as the n from which on the intensity is at least 295.37.

        Parameters
        ----------
        axis
            The unknown size.
        **target
            One quantity and what it should reach: ``intensity=295.37``, ``flops="6*P"``, ``bytes=80 * 10**9``.

        Returns the real root as a closed form, and whole sizes when it is the only unknown.

        Examples
        --------
        >>> import symacct as sa
        >>> a = sa.account("i j, j k -> i k", i="n", j="n", k="n", convention="exact")
        >>> print(a.solve("n", intensity=295.37))
        intensity >= 295.37 for n >= 887

        """
        return solve(self, axis, target)

    def sweep(
        self: Any, *, sizes: Mapping[str, Any] | None = None, zip: bool = False, exact: bool = False, **axes: Any
    ) -> Sweep:
        """Evaluate the totals at many sizes: a grid of all combinations, or pairs with ``zip=True``.

        Returns arrays: whole numbers where they fit in 64 bits, float64 and said so where not.

        Examples
        --------
        >>> import symacct as sa
        >>> s = sa.account("b d, d k -> b k", b=8).sweep(d=[1, 2], k=[1, 2, 3])
        >>> s.flops.tolist(), s.exact("flops")
        ([[16, 32, 48], [32, 64, 96]], True)

        """
        return sweep(self, numbers.together(sizes, axes), pairs=zip, exact=exact)
