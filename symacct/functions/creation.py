"""Tensors made from sizes alone; `like` is any tensor at hand, and says in which graph or on which device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from symacct.dtypes import as_plain_format
from symacct.rules.pairs import Align
from symacct.symbolic import create, size_in


def full(shape: Sequence[Any], value: float, *, like: Any, dtype: str | None = None) -> Any:
    """Return a tensor of one value: written once, no operations.

    Parameters
    ----------
    shape
        Numbers, and sizes of other tensors.
    value
        What every element is.
    like
        A tensor in whose graph, or on whose device, it is made; it is not read.
    dtype
        A storage format; None that of `like`: the account's where that is pinned to none.

    Returns
    -------
    A tensor of that shape.

    Raises
    ------
    DtypeError
        For an unknown format.
    ShapeError
        For a size below 1.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b s d"):
    ...     return sa.full(x.shape[:2], 1.0, like=x)
    >>> sa.account(layer).bytes
    2*b*s

    """
    name = getattr(like, "dtype", None) if dtype is None else as_plain_format(dtype).name
    return create("full", like, shape=tuple(size_in(like, s) for s in shape), value=value, dtype=name)


def zeros(shape: Sequence[Any], *, like: Any, dtype: str | None = None) -> Any:
    """Return a tensor of zeros: written once, no operations.

    Parameters
    ----------
    shape, like, dtype
        As of `full`.

    Returns
    -------
    A tensor of that shape.

    Raises
    ------
    DtypeError, ShapeError
        As `full`.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.zeros(x.shape, like=x), x="b s").bytes
    2*b*s

    """
    return full(shape, 0.0, like=like, dtype=dtype)


def ones(shape: Sequence[Any], *, like: Any, dtype: str | None = None) -> Any:
    """Return a tensor of ones: written once, no operations.

    Parameters
    ----------
    shape, like, dtype
        As of `full`.

    Returns
    -------
    A tensor of that shape.

    Raises
    ------
    DtypeError, ShapeError
        As `full`.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.ones(x.shape, like=x, dtype="fp32"), x="b s").bytes
    4*b*s

    """
    return full(shape, 1.0, like=like, dtype=dtype)


def arange(n: Any, *, like: Any) -> Any:
    """Return the positions 0, 1, ..., n - 1 as int64: written once, no operations.

    Parameters
    ----------
    n
        How many: a number or a size.
    like
        A tensor in whose graph, or on whose device, it is made; it is not read.

    Returns
    -------
    A tensor (n,).

    Raises
    ------
    ShapeError
        For an n below 1.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.arange(x.shape[0], like=x), x="s d").bytes
    8*s

    """
    return create("arange", like, n=size_in(like, n))


def causal_mask(s: Any, t: Any = None, align: Align = "top-left", *, like: Any) -> Any:
    """Return which keys each query sees: those up to its own position, as booleans of the shape (s, t).

    It lets `symacct.rules.pairs` through: S(S+1)/2 pairs where S = T.

    Parameters
    ----------
    s, t
        Queries and keys; as many keys as queries where none are given.
    align
        ``"top-left"``: query i sees keys 1..i; ``"bottom-right"``: keys 1..i + T - S, as with a cache of keys.
    like
        A tensor in whose graph, or on whose device, it is made; it is not read.

    Returns
    -------
    A boolean tensor (s, t), a byte an element.

    Raises
    ------
    ConventionError
        For another alignment.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(scores: "s s"):
    ...     seen = sa.causal_mask(scores.shape[0], like=scores)
    ...     return sa.where(seen, scores, float("-inf"))
    >>> a = sa.account(layer)
    >>> a.flops, a.bytes
    (0, 6*s**2)

    """
    return _mask(s, t, align, None, like)


def window_mask(s: Any, t: Any = None, *, window: Any, align: Align = "top-left", like: Any) -> Any:
    """Return which keys each query sees: the last `window` up to its own position, its own included.

    Where S = T and w <= S query i sees min(i, w) keys: w(w+1)/2 + (S - w)w = S*w - w(w-1)/2 pairs.

    Parameters
    ----------
    s, t, align, like
        As of `causal_mask`.
    window
        How many keys a query sees at most: a number or a size.

    Returns
    -------
    A boolean tensor (s, t), a byte an element.

    Raises
    ------
    ConventionError
        For another alignment, or a window below 1.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda x: sa.window_mask(x.shape[0], window=16, like=x), x="s d").bytes
    s**2

    """
    return _mask(s, t, align, window, like)


def _mask(s: Any, t: Any, align: Align, window: Any, like: Any) -> Any:
    queries, keys = size_in(like, s), size_in(like, s if t is None else t)
    return create(
        "mask", like, s=queries, t=keys, align=align, window=None if window is None else size_in(like, window)
    )
