"""Losses in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def nll_loss(log_probs: Any, targets: Any, *, reduction: str, ignore_index: int) -> tuple[Any, Any]:
    """Run the loss; return it and the number of targets that count."""
    import torch

    total = (targets != ignore_index).sum().to(log_probs.dtype)
    loss = torch.nn.functional.nll_loss(log_probs, targets, reduction=reduction, ignore_index=ignore_index)
    return loss, total


def nll_loss_backward(grad: Any, log_probs: Any, targets: Any, total: Any, *, reduction: str, ignore_index: int) -> Any:
    """Run its gradient: at each target that counts, less the gradient of its loss."""
    import torch

    axis = min(1, log_probs.ndim - 1)
    counts = targets != ignore_index
    each = -(grad / total if reduction == "mean" else grad).expand(targets.shape)
    each = torch.where(counts, each, 0).to(log_probs.dtype)
    places = torch.where(counts, targets, 0).unsqueeze(axis)
    return torch.zeros_like(log_probs).scatter_(axis, places, each.unsqueeze(axis))


def mse_loss(x: Any, y: Any, *, reduction: str) -> Any:
    """Run the squared error."""
    import torch

    return torch.nn.functional.mse_loss(x, y, reduction=reduction)


KINDS: dict[str, Callable[..., Any]] = {
    "mse_loss": mse_loss,
    "nll_loss": nll_loss,
    "nll_loss_backward": nll_loss_backward,
}
