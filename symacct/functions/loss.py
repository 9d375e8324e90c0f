"""Losses, with torch's arguments."""

from __future__ import annotations

from typing import Any

from symacct.errors import ConventionError, ShapeError, one_of
from symacct.rules.rule import show_shape
from symacct.symbolic import apply
from symacct.symbolic.builder import caller
from symacct.symbolic.pinning import as_index

REDUCTIONS = ("mean", "sum", "none")


def cross_entropy(
    logits: Any, targets: Any, reduction: str = "mean", ignore_index: int = -100, *, dim: int | None = None
) -> Any:
    """Return ``-log(softmax(logits)[target])``, its mean by default: two operations, as torch runs it.

    A log_softmax over the classes, 5v + 1 operations a row of v, writes all log-probabilities; then one a row is
    looked up and summed, and a sign and a division finish: 5v + 2 a row, and 2 for all.

    Parameters
    ----------
    logits
        A symbolic or a torch tensor; the axis of classes is axis 1, or the only one, as in torch.
    targets
        Integers, in the shape of the logits without the axis of classes; without a dtype taken as int64.
    reduction
        ``"mean"``, ``"sum"`` or ``"none"``.
    ignore_index
        A target that does not count.
    dim
        -1 where the classes are the last axis: ``(b, s, v)`` is then reshaped to ``(b*s, v)``.

    Returns
    -------
    A number, or with ``"none"`` a tensor of the shape of the targets. The gradient needs log-probabilities and targets.

    Raises
    ------
    ConventionError
        For an unknown reduction.
    DtypeError
        For targets that are no integers.
    ShapeError
        If the targets do not fit, or `dim` is neither None nor -1.

    Examples
    --------
    >>> import symacct as sa
    >>> def loss(logits: "b v", targets: "b"):
    ...     return sa.cross_entropy(logits, targets)
    >>> sa.account(loss).flops
    5*b*v + 2*b + 2

    """
    _check_reduction("cross_entropy", reduction)
    if dim not in (None, -1):
        known = "torch's layout (None) and the last axis (-1) are known"
        msg = f"cross_entropy: the classes are on axis {dim}; {known}{caller()}"
        raise ShapeError(msg)
    targets = as_index(targets)
    rows = tuple(targets.shape)
    if dim is None or logits.ndim < 3:
        return _nll(logits, targets, reduction, ignore_index)
    if tuple(logits.shape)[:-1] != rows:
        both = f"{show_shape(tuple(logits.shape))} and {show_shape(rows)}"
        msg = f"cross_entropy: the shapes {both} do not fit: the classes are the last axis of the logits{caller()}"
        raise ShapeError(msg)
    flat = _nll(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), reduction, ignore_index)
    return flat.reshape(rows) if reduction == "none" else flat


def mse_loss(x: Any, y: Any, reduction: str = "mean") -> Any:
    """Return ``mean((x - y)**2)``: 3 operations an element, and a division.

    Parameters
    ----------
    x, y
        Symbolic or torch tensors of one shape.
    reduction
        ``"mean"``, ``"sum"`` or ``"none"``.

    Returns
    -------
    A number, or with ``"none"`` a tensor of the shape of x. The gradient needs both inputs.

    Raises
    ------
    ConventionError
        For an unknown reduction.
    ShapeError
        If the shapes differ: a loss never broadcasts.

    Examples
    --------
    >>> import symacct as sa
    >>> def loss(x: "n", y: "n"):
    ...     return sa.mse_loss(x, y)
    >>> sa.account(loss).flops
    3*n + 1

    """
    _check_reduction("mse_loss", reduction)
    if tuple(x.shape) != tuple(y.shape):
        both = f"{show_shape(tuple(x.shape))} and {show_shape(tuple(y.shape))}"
        msg = f"mse_loss: the shapes {both} differ, and a loss never broadcasts{caller()}"
        raise ShapeError(msg)
    return apply("mse_loss", x, y, reduction=reduction)


def _nll(logits: Any, targets: Any, reduction: str, ignore_index: int) -> Any:
    """Run a log_softmax over the axis of classes of torch's layout, and look the targets up."""
    log_probs = apply("log_softmax", logits, axis=min(1, logits.ndim - 1))
    return apply("nll_loss", log_probs, targets, reduction=reduction, ignore_index=ignore_index)[0]


def _check_reduction(kind: str, reduction: str) -> None:
    if reduction not in REDUCTIONS:
        msg = f"{kind}: unknown reduction {reduction!r}; known: {one_of(REDUCTIONS)}"
        raise ConventionError(msg)
