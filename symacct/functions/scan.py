"""Scans along an axis."""

from __future__ import annotations

from typing import Any, Literal

from symacct.symbolic import apply


def associative_scan(x: Any, combine: Literal["add", "mul", "max"], axis: int, *, reverse: bool = False) -> Any:
    """Return every prefix combined, in parallel: ``2n - 2 - log2(n)`` combinations a row of n.

    That is work-efficient (Blelloch 1990; `jax.lax.associative_scan`): in sequence there would be n - 1. For lengths
    that are no power of two see `symacct.rules.scan.combinations`.

    Parameters
    ----------
    x
        A tensor.
    combine
        ``"add"``, ``"mul"`` or ``"max"``.
    axis
        Along which a row lies.
    reverse
        Whether to combine suffixes.

    Returns
    -------
    A tensor of the same shape.

    Raises
    ------
    ConventionError
        For another way to combine.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b s"):
    ...     return sa.associative_scan(x, "add", axis=1)
    >>> sa.account(layer, s=8).flops
    11*b

    """
    return apply("associative_scan", x, combine=combine, axis=axis, reverse=reverse)


def linear_recurrence(
    a: Any,
    b: Any,
    axis: int,
    *,
    initial: Any = None,
    method: Literal["sequential", "parallel"] = "sequential",
    reverse: bool = False,
) -> Any:
    """Return every state of ``h_t = a_t*h_(t-1) + b_t``: a multiply and an addition a step.

    Without an initial state the first is b_1, so that a row of n is n - 1 of each; with one it is n of each. In
    parallel it is ``2n - 2 - log2(n)`` combinations a row, each 2 multiplies and an addition.

    Parameters
    ----------
    a
        Coefficients, of the shape of b; axes besides `axis` may be 1.
    b
        What is added, with time along `axis`.
    axis
        The axis of time.
    initial
        The state before the first, of the shape of b without `axis`.
    method
        One step after the other, or by an associative scan.
    reverse
        Whether time runs from the end.

    Returns
    -------
    A tensor of the shape of b.

    Raises
    ------
    ShapeError
        If the shapes do not fit; names both.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(a: "b s 1", x: "b s d"):
    ...     return sa.linear_recurrence(a, x, axis=1)
    >>> sa.account(layer).flops
    b*d*(2*s - 2)

    """
    states = () if initial is None else (initial,)
    return apply("linear_recurrence", a, b, *states, axis=axis, method=method, reverse=reverse)
