"""Products of rows with the matrix of their group: the experts of a mixture."""

from __future__ import annotations

from typing import Any

from symacct.symbolic import apply
from symacct.symbolic.pinning import as_index


def grouped_matmul(x: Any, w: Any, groups: Any) -> Any:
    """Return ``out[i] = x[i] @ w[groups[i]]``: ``2*N*d*f`` operations, whatever group rows are in.

    Parameters
    ----------
    x
        Rows, (N, d): of a mixture of experts with k experts a token, N = k*T copies of T tokens.
    w
        A matrix a group, (E, d, f). Each is read once; E matrices are where every group has a row, which is then a
        condition of the account.
    groups
        The group of each row, (N,), integers below E, in any order. Kernels want rows in order of their groups; to
        count what sorting moves, look the rows up in that order.

    Returns
    -------
    A tensor (N, f). Kept for its gradient are x, w and the groups, as by torch's kernel, `grouped_mm`; where it runs on
    torch tensors it is a loop over groups, which keeps copies of their rows.

    Raises
    ------
    ShapeError
        If the shapes do not fit; names two.
    DtypeError
        For groups that are no integers.

    Examples
    --------
    >>> import symacct as sa
    >>> def experts(x: "n d", w: "e d f", groups: "n"):
    ...     return sa.grouped_matmul(x, w, groups)
    >>> a = sa.account(experts, params=["w"])
    >>> a.flops, a.bytes
    (2*d*f*n, 2*d*e*f + 2*d*n + 2*f*n + 8*n)
    >>> [str(c) for c in a.conditions]
    ['n >= e', 'each of e groups has a row']

    """
    return apply("grouped_matmul", x, w, as_index(groups))
