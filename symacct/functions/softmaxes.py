"""Softmax, its logarithm and logsumexp, with torch's arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.symbolic import apply


def softmax(x: Any, dim: int = -1) -> Any:
    """Return ``exp(x) / sum(exp(x))`` along an axis: 5n operations a row of n (5n - 2 under ``exact``).

    n for the largest element, n to take it off, n exponentials, n for their sum, n divisions.

    Parameters
    ----------
    x
        A symbolic or a torch tensor.
    dim
        The axis along which the output sums to 1.

    Returns
    -------
    A tensor of the same shape. Its gradient needs the output alone.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import symacct as sa
    >>> def scores(x: "b n"):
    ...     return sa.softmax(x)
    >>> sa.account(scores).flops, sa.account(scores, convention="exact").flops
    (5*b*n, b*(5*n - 2))

    """
    return apply("softmax", x, axis=dim)


def log_softmax(x: Any, dim: int = -1) -> Any:
    """Return ``x - log(sum(exp(x)))`` along an axis: 5n + 1 operations a row of n (5n - 1 under ``exact``).

    n for the largest element, n to take it off, n exponentials, n for their sum, a logarithm, n to take it off.

    Parameters
    ----------
    x
        A symbolic or a torch tensor.
    dim
        The axis along which the exponentials of the output sum to 1.

    Returns
    -------
    A tensor of the same shape. Its gradient needs the output alone.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import symacct as sa
    >>> def scores(x: "b n"):
    ...     return sa.log_softmax(x)
    >>> sa.account(scores).flops
    b*(5*n + 1)

    """
    return apply("log_softmax", x, axis=dim)


def logsumexp(x: Any, dim: int | Sequence[int], *, keepdim: bool = False) -> Any:
    """Return ``log(sum(exp(x)))`` over axes: 4n + 2 operations an output of n (4n under ``exact``).

    n for the largest element, n to take it off, n exponentials, n for their sum, a logarithm, and the largest again.

    Parameters
    ----------
    x
        A symbolic or a torch tensor.
    dim
        The axis or axes to sum over.
    keepdim
        Whether these stay, at size 1.

    Returns
    -------
    A tensor without these axes. Its gradient needs the input and the output.

    Raises
    ------
    ShapeError
        If there is no such axis.

    Examples
    --------
    >>> import symacct as sa
    >>> def scores(x: "b n"):
    ...     return sa.logsumexp(x, -1)
    >>> sa.account(scores).flops
    b*(4*n + 2)

    """
    return apply("logsumexp", x, axes=(dim,) if isinstance(dim, int) else tuple(dim), keepdims=keepdim)
