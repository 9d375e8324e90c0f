"""Attention with torch's arguments, and rotary embedding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from symacct.errors import ConventionError, ShapeError
from symacct.expr import power
from symacct.functions.choices import where
from symacct.functions.creation import causal_mask, window_mask
from symacct.rules.pairs import Align, check_mask
from symacct.rules.rule import show_shape, sizes_of
from symacct.symbolic import Symbolic, apply, size_in
from symacct.symbolic.builder import caller

Backend = Literal["flash", "math"]


def scaled_dot_product_attention(
    q: Any,
    k: Any,
    v: Any,
    mask: Any = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    align: Align = "top-left",
    window: Any = None,
    backend: Backend = "flash",
) -> Any:
    """Return ``softmax(scale * Q K^T) V``: ``2*B*H*P*(d_k + d_v)`` operations in products, for P pairs.

    It is one logical operation. An account with ``fuse="flash"`` takes it as one kernel, which reads Q, K and V and
    writes the output, and where a gradient needs it the logsumexp of each row (fp32). Otherwise it is three kernels:
    S*T scores and as many probabilities a head are written and read between them, whatever is masked. Its gradient
    keeps what flash kernels keep: Q, K, V, output and logsumexp. With ``backend="math"`` it is written out in
    operations that keep scores, as torch's math backend does: these no account merges.

    Parameters
    ----------
    q
        Queries, (..., H, S, d_k).
    k, v
        Keys (..., G, T, d_k) and values (..., G, T, d_v). T is not S under a cache or across sequences; d_v is not d_k
        in latent attention.
    mask
        Booleans (False is not seen) or numbers to add to the scores, of a shape that broadcasts to (..., H, S, T). What
        it hides is data: all pairs count.
    is_causal
        Query i sees keys 1..i. How many pairs that leaves is a convention: ``attention="full"``, ``"half"`` or
        ``"exact"``.
    scale
        d_k to the power -1/2 where None.
    enable_gqa
        Whether H may be a multiple of G: several heads of queries share one of keys and values. Operations go by H,
        bytes of keys and values by G.
    align
        Where the causal diagonal ends: ``"top-left"`` as in torch, or ``"bottom-right"``, which a cache of keys needs.
    window
        With `is_causal`: how many keys a query sees at most, its own included. What it does not see never counts.
    backend
        ``"flash"``, one logical operation, or ``"math"``, written out.

    Returns
    -------
    A tensor (..., H, S, d_v).

    Raises
    ------
    ShapeError
        If the shapes do not fit; names two.
    ConventionError
        For a window without `is_causal`, a mask beside it, or an unknown word.

    Examples
    --------
    >>> import symacct as sa
    >>> def attend(q: "b h s d", k: "b h s d", v: "b h s d"):
    ...     return sa.scaled_dot_product_attention(q, k, v, is_causal=True)
    >>> sa.account(attend).matmul_flops
    4*b*d*h*s**2
    >>> sa.account(attend, convention=sa.Convention(attention="exact")).matmul_flops
    b*d*h*s*(2*s + 2)
    >>> sa.account(attend).bytes, sa.account(attend, fuse="flash").bytes
    (b*h*s*(8*d + 8*s), 8*b*d*h*s)

    """
    width = None if window is None else size_in(q, window)
    _check(q, mask, width, is_causal=is_causal, align=align, backend=backend)
    if backend == "math":
        return _written_out(q, k, v, _bias(q, k, mask, width, is_causal=is_causal, align=align), scale)
    attrs = {"is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa, "align": align, "window": width}
    return apply("sdpa", q, k, v, *([] if mask is None else [mask]), **attrs)[0]


def _check(q: Any, mask: Any, window: Any, *, is_causal: bool, align: Align, backend: str) -> None:
    check_mask("exact" if window is None else "window", align, window)
    if window is not None and not is_causal:
        msg = f"attention: a window of {window} keys goes with is_causal=True{caller()}"
        raise ConventionError(msg)
    if mask is not None and is_causal:
        msg = f"attention: a mask and is_causal=True; put both into one mask{caller()}"
        raise ConventionError(msg)
    if backend not in ("flash", "math"):
        msg = f"unknown backend {backend!r} of attention; known: flash, math{caller()}"
        raise ConventionError(msg)
    if len(q.shape) < 2:
        shape = show_shape(sizes_of(q))
        msg = f"attention: queries of the shape {shape}; they are (..., heads, queries, width){caller()}"
        raise ShapeError(msg)


def _bias(q: Any, k: Any, mask: Any, window: Any, *, is_causal: bool, align: Align) -> Any:
    """Return what is added to the scores, as torch's math backend makes it: 0 where a key is seen, else -inf."""
    if is_causal:
        s, t = q.shape[-2], k.shape[-2]
        if window is None:
            mask = causal_mask(s, t, align, like=q)
        else:
            mask = window_mask(s, t, window=window, align=align, like=q)
    is_bool = mask is not None and str(mask.dtype).endswith("bool")
    if not is_bool:
        return mask
    bias = where(mask, 0.0, float("-inf"))
    return bias if isinstance(q, Symbolic) else bias.to(q.dtype)


def _written_out(q: Any, k: Any, v: Any, bias: Any, scale: float | None) -> Any:
    """Return attention in the operations of torch's math backend: both sides of the product get the scale's root."""
    if len(q.shape) > 2 and sizes_of(q)[-3] != sizes_of(k)[-3]:
        k, v = _per_query_head(k, q), _per_query_head(v, q)
    root = _width_root(q) if scale is None else scale**0.5
    queries, keys = (apply("mul", x, scalar=root, side="right") for x in (q, k.mT))
    scores = queries @ keys
    return apply("softmax", scores if bias is None else scores + bias, axis=-1) @ v


def _width_root(q: Any) -> Any:
    """Return the width to the power -1/4, an expression among symbolic tensors."""
    if isinstance(q, Symbolic):
        return power(q.tensor.shape[-1], Fraction(-1, 4))
    return q.shape[-1] ** -0.25


def _per_query_head(x: Any, q: Any) -> Any:
    """Return keys or values repeated for the heads of queries that share them."""
    *batch, groups, keys, width = x.shape
    heads = q.shape[-3]
    return x.unsqueeze(-3).expand(*batch, groups, heads // groups, keys, width).reshape(*batch, heads, keys, width)


def rotary(x: Any, cos: Any, sin: Any, *, interleaved: bool = False) -> Any:
    """Return x with each pair of elements turned by an angle: 2 multiplies and 1 add an element.

    ``(x1*cos - x2*sin, x2*cos + x1*sin)`` for pairs that lie half an axis apart, or side by side.

    Parameters
    ----------
    x
        A tensor (..., d), such as queries (b, h, s, d).
    cos, sin
        Cosines and sines, (..., d/2): an angle a pair, such as (s, d/2); they broadcast to the rest of x.
    interleaved
        Whether a pair is two neighbours.

    Returns
    -------
    A tensor of the same shape. Its gradient needs cosines and sines alone.

    Raises
    ------
    ShapeError
        If the shapes do not fit; names them.

    Examples
    --------
    >>> import symacct as sa
    >>> def turn(q: "b h s d", cos: "s d/2", sin: "s d/2"):
    ...     return sa.rotary(q, cos, sin)
    >>> sa.account(turn).flops
    3*b*d*h*s

    """
    return apply("rotary", x, cos, sin, interleaved=interleaved, back=False)
