"""Tensors made from sizes, in torch; `like` tells the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from symacct.eager.dtypes import torch_dtype


def full(*, shape: Sequence[int], value: float, dtype: Any, device: Any = None) -> Any:
    """Make a tensor of one value; of a graph that pins no dtype in torch's default one."""
    import torch

    return torch.full(tuple(shape), value, dtype=torch_dtype(dtype or torch.get_default_dtype()), device=device)


def arange(*, n: int, device: Any = None) -> Any:
    """Make the positions 0, 1, ..., n - 1."""
    import torch

    return torch.arange(n, device=device)


def mask(*, s: int, t: int, align: str, window: int | None, device: Any = None) -> Any:
    """Make a causal mask: true where a query sees a key."""
    import torch

    shift = t - s if align == "bottom-right" else 0
    seen = torch.ones(s, t, dtype=torch.bool, device=device).tril(shift)
    return seen if window is None else seen.triu(shift - window + 1)


def absent(*, shape: Sequence[int], dtype: Any, device: Any = None) -> Any:
    """Make zeros of some shape out of one element."""
    return full(shape=(), value=0, dtype=dtype, device=device).expand(tuple(shape))


KINDS: dict[str, Callable[..., Any]] = {"absent": absent, "arange": arange, "full": full, "mask": mask}
