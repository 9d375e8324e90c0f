"""Einsum operations in torch."""

from __future__ import annotations

import string
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from symacct.errors import GraphError

if TYPE_CHECKING:
    from symacct.graph import Einsum

LETTERS = string.ascii_uppercase + string.ascii_lowercase
"""In the order in which torch sorts them: summed axes then keep the order in which they appear."""


def einsum(*tensors: Any, einsum: Einsum) -> Any:
    """Run a product with torch.einsum, from the left: opt_einsum, which torch asks where it is installed, is off.

    Raises
    ------
    GraphError
        For more axes than there are letters.

    """
    import torch

    if len(einsum.sizes) > len(LETTERS):
        msg = f"torch.einsum has {len(LETTERS)} letters for axes, this product has {len(einsum.sizes)} axes"
        raise GraphError(msg)
    letter = dict(zip(einsum.sizes, LETTERS, strict=False))
    terms = ["".join(letter[a] for a in axes) for axes in (*einsum.operands, einsum.output)]
    split = [t.reshape([einsum.sizes[a] for a in axes]) for t, axes in zip(tensors, einsum.operands, strict=True)]
    opt_einsum = torch.backends.opt_einsum
    # torch raises on the way out where it was off before
    with opt_einsum.flags(enabled=False) if opt_einsum.enabled else nullcontext():
        return torch.einsum(f"{','.join(terms[:-1])}->{terms[-1]}", *split)


def grouped_matmul(x: Any, w: Any, groups: Any) -> Any:
    """Run a product of each row with the matrix of its group, group by group."""
    out = x.new_zeros((x.shape[0], w.shape[2]))
    for group in range(w.shape[0]):
        (rows,) = (groups == group).nonzero(as_tuple=True)
        out = out.index_add(0, rows, x[rows] @ w[group])
    return out


def grouped_matmul_backward_weight(x: Any, grad: Any, groups: Any, *, experts: int) -> Any:
    """Run the gradient of the matrices: sums of outer products, group by group."""
    import torch

    return torch.stack([x[groups == group].T @ grad[groups == group] for group in range(experts)])


KINDS: dict[str, Callable[..., Any]] = {
    "einsum": einsum,
    "grouped_matmul": grouped_matmul,
    "grouped_matmul_backward_weight": grouped_matmul_backward_weight,
}
