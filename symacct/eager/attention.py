"""Attention and rotary embedding in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def sdpa(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    *,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
    align: str,
    window: int | None,
) -> tuple[Any, Any]:
    """Run an attention; return its output and the logsumexp of each row of scores."""
    import torch

    plain = align == "top-left" and window is None
    allowed = mask if mask is not None or plain else visible(q, k, is_causal=is_causal, align=align, window=window)
    trained = mask is not None and mask.requires_grad
    if q.device.type == "cpu" and q.ndim == k.ndim == v.ndim == 4 and q.shape[-1] == v.shape[-1] and not trained:
        flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu  # noqa: SLF001 # it returns the logsumexp
        out, lse = flash(q, k, v, 0.0, is_causal and plain, attn_mask=_as_numbers(allowed, q), scale=scale)
        return out, lse
    attend = torch.nn.functional.scaled_dot_product_attention
    out = attend(q, k, v, allowed, is_causal=is_causal and plain, scale=scale, enable_gqa=enable_gqa)
    with torch.no_grad():
        if allowed is None:
            allowed = visible(q, k, is_causal=is_causal, align=align, window=window)
        lse = scores(q, k, allowed, scale).logsumexp(-1)
    return out, lse.to(torch.float64 if q.dtype == torch.float64 else torch.float32)


def _as_numbers(mask: Any, like: Any) -> Any:
    """Return a mask as the kernel takes it: numbers to add, of two or four axes."""
    import torch

    if mask is None:
        return None
    if mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill(~mask, -torch.inf)
    return mask if mask.ndim in {2, 4} else mask.reshape((1,) * (4 - mask.ndim) + tuple(mask.shape))


def visible(q: Any, k: Any, *, is_causal: bool, align: str, window: int | None) -> Any:
    """Return which keys each query sees; None for all."""
    import torch

    if not is_causal:
        return None
    s, t = q.shape[-2], k.shape[-2]
    last = torch.arange(s, device=q.device)[:, None] + (t - s if align == "bottom-right" else 0)
    keys = torch.arange(t, device=q.device)
    seen = keys <= last
    return seen if window is None else seen & (keys > last - window)


def scores(q: Any, k: Any, mask: Any, scale: float | None) -> Any:
    """Return ``scale * Q K^T``, masked."""
    import torch

    root = q.shape[-1] ** -0.5 if scale is None else scale
    out = (q @ _per_query_head(k, q).mT) * root
    if mask is None:
        return out
    return out.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else out + mask


def _per_query_head(x: Any, q: Any) -> Any:
    """Return keys or values with each head as often as queries share it."""
    if x.ndim < 3 or x.shape[-3] == q.shape[-3]:
        return x
    return x.repeat_interleave(q.shape[-3] // x.shape[-3], dim=-3)


def sdpa_backward(  # noqa: PLR0917 # what a kernel is given
    grad: Any,
    q: Any,
    k: Any,
    v: Any,
    out: Any,
    lse: Any,
    mask: Any = None,
    *,
    is_causal: bool,
    scale: float | None,
    align: str,
    window: int | None,
    enable_gqa: bool,
) -> tuple[Any, Any, Any]:
    """Run the gradient of an attention from its formulas."""
    allowed = visible(q, k, is_causal=is_causal, align=align, window=window) if mask is None else mask
    root = q.shape[-1] ** -0.5 if scale is None else scale
    p = (scores(q, k, allowed, scale) - lse.to(q.dtype)[..., None]).exp()
    delta = (grad * out).sum(-1, keepdim=True)
    ds = p * (grad @ _per_query_head(v, q).mT - delta) * root
    per_head = (ds @ _per_query_head(k, q), ds.mT @ q, p.mT @ grad)
    assert enable_gqa or per_head[1].shape == k.shape
    return per_head[0], _summed_to(per_head[1], k), _summed_to(per_head[2], v)


def _summed_to(x: Any, like: Any) -> Any:
    """Return a gradient summed over the query heads that share a head."""
    if x.shape == like.shape:
        return x
    return x.unflatten(-3, (like.shape[-3], -1)).sum(-3)


def rotary(x: Any, cos: Any, sin: Any, *, interleaved: bool, back: bool) -> Any:
    """Run a rotation of pairs: of elements half an axis apart, or of neighbours."""
    import torch

    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    turn = -sin if back else sin
    turned = (first * cos - second * turn, second * cos + first * turn)
    return torch.stack(turned, -1).flatten(-2) if interleaved else torch.cat(turned, -1)


KINDS: dict[str, Callable[..., Any]] = {"rotary": rotary, "sdpa": sdpa, "sdpa_backward": sdpa_backward}
