"""Rows and places picked by index."""

from __future__ import annotations

from typing import Any

from symacct.symbolic import apply, size_in
from symacct.symbolic.pinning import as_index


def embedding(index: Any, weight: Any) -> Any:
    """Return a row of the table for each index: 0 FLOPs; as many rows are read as there are indices.

    The gradient adds B*S rows of D into the table: B*S*D additions, in `flops` and not in `matmul_flops`.

    Parameters
    ----------
    index
        Integers of any shape; an argument without a dtype is taken as int64.
    weight
        The table, a row an entry: (V, D).

    Returns
    -------
    A tensor of the shape of the index and then of a row.

    Raises
    ------
    DtypeError
        For indices that are no integers.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(tokens: "b s", table: "v d"):
    ...     return sa.embedding(tokens, table)
    >>> a = sa.account(layer, params=["table"])
    >>> a.flops, a.bytes
    (0, b*s*(4*d + 8))

    """
    return apply("embedding", weight, as_index(index))


def gather(x: Any, index: Any, axis: int) -> Any:
    """Return an element of x for each index along an axis, ``out[i, j] = x[index[i, j], j]``: 0 FLOPs.

    Parameters
    ----------
    x
        A tensor.
    index
        Integers, of as many axes as x, along no axis but `axis` longer than x.
    axis
        The axis that the indices count along.

    Returns
    -------
    A tensor of the shape of the index.

    Raises
    ------
    ShapeError
        If the index does not fit; names both shapes.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b v", index: "b 1"):
    ...     return sa.gather(x, index, axis=1)
    >>> sa.account(layer).bytes
    12*b

    """
    return apply("gather", x, as_index(index), axis=axis)


def scatter_add(x: Any, index: Any, source: Any, axis: int) -> Any:
    """Return x with each element of the source added at its index along an axis: an addition an element.

    Parameters
    ----------
    x
        A tensor; it is copied.
    index
        Integers of the shape of the source.
    source
        What is added.
    axis
        The axis that the indices count along.

    Returns
    -------
    A tensor of the shape of x.

    Raises
    ------
    ShapeError
        If the shapes do not fit; names both.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "v d", index: "n d", source: "n d"):
    ...     return sa.scatter_add(x, index, source, axis=0)
    >>> a = sa.account(layer)
    >>> a.flops, a.matmul_flops
    (d*n, 0)

    """
    return apply("scatter_add", x, as_index(index), source, axis=axis)


def one_hot(index: Any, classes: Any) -> Any:
    """Return a row of zeros and a one for each index, as int64: 0 FLOPs; each row is written.

    Parameters
    ----------
    index
        Integers of any shape; an argument without a dtype is taken as int64.
    classes
        How long a row is: a number or a size.

    Returns
    -------
    A tensor of the shape of the index and then of the classes.

    Raises
    ------
    DtypeError
        For indices that are no integers.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(lambda index: sa.one_hot(index, 10), index="b s").bytes
    88*b*s

    """
    return apply("one_hot", as_index(index), classes=size_in(index, classes))
