"""Dropout, with torch's arguments."""

from __future__ import annotations

from typing import Any

from symacct.errors import ConventionError
from symacct.symbolic import apply


def dropout(x: Any, p: float = 0.5, training: bool = True) -> Any:  # noqa: FBT001, FBT002 # torch's arguments
    """Return ``x * mask``, the mask 0 with probability p, else ``1/(1 - p)``: 2 operations an element.

    A division scales the mask, a multiply applies it; the mask is drawn, written and kept in the dtype of x, as torch
    does on a CPU. Nothing is done with ``p=0`` or out of training.

    Parameters
    ----------
    x
        A symbolic or a torch tensor.
    p
        The probability of a zero, from 0 to 1.
    training
        Whether to drop at all.

    Returns
    -------
    A tensor of the same shape, or x itself.

    Raises
    ------
    ConventionError
        For a p that is no probability.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "n"):
    ...     return sa.dropout(x, 0.1)
    >>> sa.account(layer, dtype="fp32").flops, sa.account(layer, dtype="fp32").bytes
    (2*n, 12*n)

    """
    if not 0 <= p <= 1:
        msg = f"dropout: p is {p}; a probability is from 0 to 1"
        raise ConventionError(msg)
    if not training or p == 0:
        return x
    return x * 0.0 if p == 1 else apply("dropout", x, p=p)[0]
