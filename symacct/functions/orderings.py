"""What orders or accumulates the elements of a row."""

from __future__ import annotations

from typing import Any

from symacct.symbolic import apply, size_in


def top_k(x: Any, k: Any, axis: int = -1) -> tuple[Any, Any]:
    """Return the k largest of each row, and where they stand as int64: a comparison an element.

    That is each element once against the smallest that is kept; keeping the k in order is not counted.

    Parameters
    ----------
    x
        A tensor.
    k
        How many; at most the size of the axis.
    axis
        Along which a row lies.

    Returns
    -------
    Values and places, each of the shape of x with k along `axis`.

    Raises
    ------
    ShapeError
        If there are fewer than k.

    Examples
    --------
    >>> import symacct as sa
    >>> def route(logits: "b s e", k: int):
    ...     values, experts = sa.top_k(logits, k)
    ...     return values
    >>> a = sa.account(route)
    >>> a.flops, [str(c) for c in a.conditions]
    (b*e*s, ['e >= k'])

    """
    return apply("top_k", x, k=size_in(x, k), axis=axis)  # type: ignore[no-any-return]


def sort(x: Any, axis: int = -1, *, descending: bool = False) -> tuple[Any, Any]:
    """Return each row in order, and where its elements stood as int64: ``n*ceil(log2(n))`` comparisons a row of n.

    Merge sort never exceeds that; no method needs fewer than ``log2(n!)`` on all data.

    Parameters
    ----------
    x
        A tensor.
    axis
        Along which a row lies.
    descending
        Whether the largest comes first.

    Returns
    -------
    Values and places, each of the shape of x.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b n"):
    ...     return sa.sort(x)[0]
    >>> sa.account(layer).flops, sa.account(layer, n=1024).flops
    (b*n*ceiling(log(n)/log(2)), 10240*b)

    """
    return apply("sort", x, axis=axis, descending=descending)  # type: ignore[no-any-return]


def argmax(x: Any, axis: int = -1, *, keepdims: bool = False) -> Any:
    """Return where the largest of each row stands, as int64: n - 1 comparisons a row of n, n under ``2n``.

    Each element but the first meets the largest so far once.

    Parameters
    ----------
    x
        A tensor.
    axis
        Along which a row lies.
    keepdims
        Whether that axis stays, at size 1.

    Returns
    -------
    A tensor of the shape of x without `axis`.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.argmax, x="b n").flops, sa.account(sa.argmax, x="b n", convention="exact").flops
    (b*n, b*(n - 1))

    """
    return apply("argmax", x, axis=axis, keepdims=keepdims)


def cumsum(x: Any, axis: int = -1) -> Any:
    """Return the sums of each row up to each place: n - 1 additions a row of n, n under ``2n``.

    Each sum but the first is the one before it and an element.

    Parameters
    ----------
    x
        A tensor.
    axis
        Along which a row lies.

    Returns
    -------
    A tensor of the same shape.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b n"):
    ...     return sa.cumsum(x)
    >>> sa.account(layer).flops, sa.account(layer, convention="exact").flops
    (b*n, b*(n - 1))

    """
    return apply("cumsum", x, axis=axis)
