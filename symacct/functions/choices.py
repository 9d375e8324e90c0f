"""Element-wise choices: the larger, the smaller, by a mask, at random."""

from __future__ import annotations

from typing import Any

from symacct.errors import ConventionError
from symacct.symbolic import apply
from symacct.symbolic.builder import caller
from symacct.symbolic.pinning import as_mask


def maximum(x: Any, y: Any) -> Any:
    """Return the larger of two elements: one comparison an output element.

    Parameters
    ----------
    x, y
        Tensors that broadcast, or a tensor and a number.

    Returns
    -------
    A tensor of the broadcast shape.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b n", y: "n"):
    ...     return sa.maximum(x, y)
    >>> sa.account(layer).flops
    b*n

    """
    return _either("maximum", x, y)


def minimum(x: Any, y: Any) -> Any:
    """Return the smaller of two elements: one comparison an output element.

    Parameters
    ----------
    x, y
        Tensors that broadcast, or a tensor and a number.

    Returns
    -------
    A tensor of the broadcast shape.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.account(sa.minimum, x="b n", y="n").flops
    b*n

    """
    return _either("minimum", x, y)


def _either(kind: str, x: Any, y: Any) -> Any:
    if isinstance(y, int | float):
        return apply(kind, x, scalar=y, side="right")
    return apply(kind, y, scalar=x, side="left") if isinstance(x, int | float) else apply(kind, x, y)


def where(mask: Any, x: Any, y: Any) -> Any:
    """Return x where the mask holds, else y: a selection, no arithmetic.

    Parameters
    ----------
    mask
        A boolean tensor; an argument without a dtype is taken as bool.
    x, y
        Tensors that broadcast with it, or numbers.

    Returns
    -------
    A tensor of the broadcast shape, in the dtype of the values. Its gradient needs the mask.

    Raises
    ------
    ShapeError
        If the shapes do not broadcast; names them.
    DtypeError
        For a mask of numbers.

    Examples
    --------
    >>> import symacct as sa
    >>> def layer(x: "b n"):
    ...     return sa.where(x > 0, x, 0.0)
    >>> [step.kind for step in sa.account(layer).steps], sa.account(layer).flops  # the comparison's
    (['gt', 'where'], b*n)

    """
    numbers = {name: v for name, v in (("x", x), ("y", y)) if isinstance(v, int | float)}
    return apply("where", as_mask(mask), *(v for v in (x, y) if not isinstance(v, int | float)), **numbers)


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
    if not isinstance(p, int | float) or not 0 <= p <= 1:
        msg = f"dropout: p is {p!r}; a probability is from 0 to 1{caller()}"
        raise ConventionError(msg)
    if not training or p == 0:
        return x
    return x * 0.0 if p == 1 else apply("dropout", x, p=p)[0]
