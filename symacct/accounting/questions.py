"""The questions one asks of an account about its closed forms; `Account` has them as its methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symacct.accounting import analysis, numbers
from symacct.accounting.regimes import Regimes, named_terms, regimes
from symacct.accounting.solve import Solution, solve
from symacct.accounting.sweep import Sweep, sweep
from symacct.accounting.totals import check_counted
from symacct.expr import Sympy, collect_sizes


class Questions:
    """Methods alone, in a file of their own since their explanations are long.

    Where work is not counted (`symacct.opaque`) they are of bytes: what else is partial raises `InconclusiveError`, and
    a sweep says so.
    """

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
        check_counted(self, of or "flops")
        return analysis.leading(self, axis, of)

    def limit(self: Any, axis: Any, *, of: str = "intensity") -> Sympy:
        """Return the limit as one size grows without bound (``oo`` where there is none).

        Examples
        --------
        >>> import symacct as sa
        >>> sa.account("n, n ->", convention="exact").limit("n")
        1/2

        """
        check_counted(self, of)
        return analysis.limit(self, axis, of)

    def sensitivity(self: Any, axis: Any, *, of: str = "intensity") -> Sympy:
        """Return by how many percent a quantity grows when a size grows by one percent: ``d log f / d log n``.

        Examples
        --------
        >>> import symacct as sa
        >>> sa.account("b d, d k -> b k").sensitivity("b")
        d*k/(b*d + b*k + d*k)

        """
        check_counted(self, of)
        return analysis.sensitivity(self, axis, of)

    def crossovers(self: Any, axis: Any, *, of: str = "bytes", by: analysis.By = None) -> list[Any]:
        """Return where two terms of a total are equal as one size varies.

        Parameters
        ----------
        axis
            The size that varies.
        of
            ``"bytes"``, ``"flops"`` or ``"matmul_flops"``.
        by
            What the terms are: ``"op"``, ``"kind"``, ``"scope"``, ``"family"`` or a function of a step, as in `by`; by
            default tensors for bytes, and each operation for flops.

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
        check_counted(self, of)
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

    def regimes(
        self: Any,
        *axes: Any,
        of: str = "bytes",
        by: analysis.By = None,
        span: Mapping[str, tuple[int, int]] | None = None,
        sizes: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> Regimes:
        """Return which term of a total is the largest along one size, or in the plane of two, with borders as formulas.

        Parameters
        ----------
        *axes
            One size or two.
        of, by
            What the terms are, as in `crossovers`.
        span
            From where to where a size goes, ``{"b": (1, 4096)}``; 1 to 65536 by default.
        sizes, **given
            A number for every other size.

        Examples
        --------
        >>> import symacct as sa
        >>> print(sa.account("b d, d k -> b k").regimes("b", "d", k=4096))
        b d, d k -> b k
         largest of bytes   in B
         operand 1 read     2*b*d
         operand 2 read     2*d*k
         output written     2*b*k
        <BLANKLINE>
         operand 1 read = operand 2 read at b = k
         operand 1 read = output written at d = k
         operand 2 read = output written at d = b
         where k = 4096

        """
        check_counted(self, of)
        numbers_given = collect_sizes(sizes, given, self.names)
        return regimes(self, axes, named_terms(self, of, by), told=(of, self.unit(of)), sizes=numbers_given, span=span)
