"""What any schedule must move through a fast memory of M elements, for a pattern as one loop nest.

Each operand, and the output, is a projection of the loop nest's points. Give array j a weight s_j so that every axis
is covered, `sum of s_j over arrays with the axis >= 1`; a set of points that touches at most F elements of each array
has at most `F ** sum(s)` points (the discrete Brascamp-Lieb inequality: Christ, Demmel, Knight, Scanlon and Yelick
2013). With sigma the least total weight, a schedule moves at least of the order of ``points / M**(sigma - 1)``.

Two cases have a proved constant:

- sigma = 1: one array has every axis, and each of its elements must be moved: compulsory traffic.
- matrix multiplication (any batch axes), for ``C += A*B``: cut a schedule into segments of r reads. A segment sees at
  most M + r elements of A, B and C together, hence at most ``((M + r) / 3) ** (3/2)`` products (Loomis-Whitney; batches
  add up by Hoelder). The r = 2M that helps most gives ``2*m*n*k/sqrt(M) - 2*M`` reads (Smith, Lowery, Langou and van de
  Geijn 2017). For ``C = A*B`` up to m*n of these reads fall away, where a sum starts at zero; the m*n writes of C, not
  counted so far, make up for them, so reads and writes together obey the same bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from symacct.errors import AxisConflictError, InconclusiveError, one_of
from symacct.expr import (
    Expr,
    Size,
    Sympy,
    add,
    as_size,
    collect_sizes,
    evaluate,
    float_of,
    multiply,
    names_in,
    numbers_for,
    power,
    product,
    to_sympy,
    to_text,
)
from symacct.simplex import cover

MAX_OPERANDS = 16


@dataclass(frozen=True, slots=True)
class LowerBound:
    """A lower bound on the elements moved, for a pattern as one loop nest with each point visited once.

    Attributes
    ----------
    pattern
        The loop nest.
    exponent
        The power of M below the points: 1/2 for matrix multiplication, 0 for matrix-vector, 2/3 for MTTKRP.
    points
        The products of the loop nest.
    compulsory
        Elements moved at least at any M: operands and output once each.
    constant
        The proved factor of ``points / M**exponent``, or None where only the order is known.
    lower_order
        The proved term besides the leading one.
    tile
        The exponents of M of the tile that attains the order, by axis.
    """

    pattern: str
    memory: Size
    exponent: Fraction
    points: Expr
    compulsory: Expr
    constant: int | None
    lower_order: Expr
    tile: Mapping[str, Fraction]

    @property
    def order_form(self) -> Expr:
        """``points / M**exponent`` as an expression of the engine."""
        return multiply(self.points, power(self.memory, -self.exponent) if self.exponent else 1)

    @property
    def order(self) -> Sympy:
        """The order of growth, ``points / M**exponent``, without a constant."""
        return to_sympy(self.order_form)

    @property
    def proved(self) -> Expr:
        """The proved bound besides compulsory traffic, as an expression of the engine.

        Raises
        ------
        InconclusiveError
            Where only the order is known.

        """
        if self.constant is None:
            msg = (
                f"for {self.pattern!r} only the order {to_text(self.order_form)} is known, its constant is not; "
                "see .order, .exponent and .compulsory"
            )
            raise InconclusiveError(msg)
        return add((multiply(self.constant, self.order_form), self.lower_order))

    @property
    def expr(self) -> Sympy:
        """The proved bound in elements, such as ``2*i*j*k/sqrt(M) - 2*M``; of numbers at least 0."""
        known = not any(True for _ in names_in(self.proved))
        return to_sympy(0 if known and float_of(self.proved) < 0 else self.proved)

    @property
    def candidates(self) -> tuple[Expr, ...]:
        """The proved bounds; the largest at given sizes holds."""
        return (self.compulsory,) if self.constant is None or self.exponent == 0 else (self.compulsory, self.proved)

    def at(self, *, sizes: Mapping[str, object] | None = None, **axes: object) -> int | Fraction | float:
        """Return the elements moved at least, at given sizes and M: the larger of the proved bounds.

        Raises
        ------
        InconclusiveError
            Where only the order is known.
        UndefinedSizeError
            Names the missing sizes.

        Examples
        --------
        >>> import symacct as sa
        >>> sa.lower_bound("i k, k j -> i j").at(i=4096, j=4096, k=4096, M=65536)
        536739840

        """
        self.proved  # noqa: B018  # raises where the constant is not known
        taken = {n for x in (self.points, self.memory, self.compulsory) for n in names_in(x)}
        given = collect_sizes(sizes, axes, tuple(sorted(taken)))
        known = sorted({n for c in self.candidates for n in names_in(c)})
        numbers = numbers_for(known, given)
        return max(evaluate(c, numbers) for c in self.candidates)

    def __str__(self) -> str:
        """Print what is proved and what is only an order."""
        memory = to_text(self.memory)
        lines = [self.pattern, f"as one loop nest; in elements, {memory} of them in fast memory"]
        lines.append(f"  compulsory  {to_text(self.compulsory)}")
        if self.exponent == 0:
            lines.append(f"  at any {memory}    no more than the order of compulsory traffic is forced")
        elif self.constant is None:
            lines.append(f"  order       {to_text(self.order_form)}   (the constant is not known)")
        elif any(True for _ in names_in(self.proved)):
            lines.append(f"  proved      {to_text(self.proved, factored=False)}")
        else:
            lines.append(f"  proved      {max(0, math.ceil(float_of(self.proved)))}")
        return "\n".join(lines)


def matmul_like(arrays: Sequence[frozenset[str]]) -> bool:
    """Whether two operands and an output form a (batched) matrix multiplication.

    Every axis is in two or three of the arrays, and each pair of arrays shares an axis that the third lacks.
    """
    if len(arrays) != 3:
        return False
    a, b, c = arrays
    pairs = ((a & c) - b, (b & c) - a, (a & b) - c)
    lone = (a - b - c) | (b - a - c) | (c - a - b)
    return all(pairs) and not lone


def bound(
    text: str,
    operands: Sequence[Sequence[str]],
    output: Sequence[str],
    sizes: Mapping[str, Size],
    memory: str | int,
) -> LowerBound:
    """Bound one loop nest; see `symacct.lower_bound`."""
    if len(operands) > MAX_OPERANDS:
        msg = f"{len(operands)} operands; lower bounds are derived for up to {MAX_OPERANDS}"
        raise InconclusiveError(msg)
    size = as_size(memory, "memory")
    taken = {n for s in sizes.values() for n in names_in(s)}
    if clash := set(names_in(size)) & (taken | set(sizes)):
        msg = (
            f"{one_of(sorted(clash))} is a size of the pattern and the fast memory too; "
            "call the memory otherwise, as in memory='Z'"
        )
        raise AxisConflictError(msg)
    arrays = [frozenset(o) for o in (*operands, output)]
    axes = list(dict.fromkeys(n for o in operands for n in o))
    weight, tile = cover(axes, arrays) if axes else (Fraction(1), {})
    exponent = weight - 1
    matmul = matmul_like(arrays)
    return LowerBound(
        text,
        size,
        exponent,
        product(sizes[n] for n in axes),
        add(product(sizes[n] for n in dict.fromkeys(o)) for o in (*operands, output)),
        2 if matmul else 1 if exponent == 0 else None,
        multiply(-2, size) if matmul else 0,
        tile,
    )
