"""Questions about a pattern as a loop nest: which order of products is cheapest, and what must move at least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symacct.api import account
from symacct.bounds import LowerBound, bound
from symacct.conventions import Convention, convention_of
from symacct.einsum import full_sizes
from symacct.errors import AxisConflictError
from symacct.expr import collect_sizes
from symacct.ordering import OrderChoice, choices
from symacct.pattern import parse


def orders(
    pattern: str,
    /,
    *,
    sizes: Mapping[str, Any] | None = None,
    convention: str | Convention = "2n",
    notation: str = "einops",
    **axes: Any,
) -> tuple[OrderChoice, ...]:
    """Return the contraction orders that can be cheapest, each with its cost and the condition under which it is.

    Judged for sizes >= 2 where they are names (up to 5 operands), over all orders where they are numbers (up to 10).
    Under ``mac`` orders are judged as under ``2n``.

    Parameters
    ----------
    pattern, sizes, convention, notation, **axes
        As in `account`.

    Returns
    -------
    A tuple of `OrderChoice`, each with `flops`, `conditions` and a `witness`: sizes at which it wins.

    Raises
    ------
    AmbiguousOrderError
        For more operands than can be searched; asks for sizes.

    Examples
    --------
    >>> import symacct as sa
    >>> for order in sa.orders("i j, j k, k l -> i l"):
    ...     print(order)
    ((1 2) 3): 2*i*k*(j + l) when 1/j + 1/l < 1/i + 1/k
    (1 (2 3)): 2*j*l*(i + k) when 1/i + 1/k < 1/j + 1/l

    """
    parsed = parse(pattern, notation)
    return choices(parsed, collect_sizes(sizes, axes, parsed.names), convention_of(convention))


def lower_bound(
    pattern: str,
    /,
    *,
    memory: str | int = "M",
    order: str | None = None,
    sizes: Mapping[str, Any] | None = None,
    notation: str = "einops",
    **axes: Any,
) -> LowerBound | list[LowerBound]:
    """Return what any schedule of a pattern, run as one loop nest, moves with `memory` elements of fast memory.

    Parameters
    ----------
    pattern, sizes, notation, **axes
        As in `account`.
    memory
        The fast memory in elements: a name or a number.
    order
        None for the pattern as one loop nest. A pairwise order can move less than that: ``"left"`` or ``"best"``
        return a list with one bound for each of its steps.

    Returns
    -------
    `LowerBound`, or a list of them with `order`.

    Raises
    ------
    InconclusiveError
        For more than 16 operands.
    AxisConflictError
        If the memory is called like a size.

    Examples
    --------
    >>> import symacct as sa
    >>> bound = sa.lower_bound("i k, k j -> i j", memory="M")
    >>> bound.exponent, bound.constant, bound.order
    (Fraction(1, 2), 2, i*j*k/sqrt(M))
    >>> print(bound)
    i k, k j -> i j
    as one loop nest; in elements, M of them in fast memory
      compulsory  i*j + i*k + j*k
      proved      2*i*j*k/sqrt(M) - 2*M

    """
    parsed = parse(pattern, notation)
    if "memory" in parsed.names and memory != "M":
        msg = f"memory={memory!r} is the fast memory; to size the axis called 'memory', use sizes={{'memory': ...}}"
        raise AxisConflictError(msg)
    given = collect_sizes(sizes, axes, parsed.names)
    if order is None or order == "naive":
        return bound(pattern, parsed.terms, parsed.result, full_sizes(parsed, given), memory)
    steps = account(pattern, sizes=given, order=order, notation=notation).graph.ops
    nests = [op.einsum for op in steps if op.einsum]
    return [bound(e.text(), e.operands, e.output, e.sizes, memory) for e in nests]
