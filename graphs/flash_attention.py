"""Causal grouped-query attention as one kernel (flash attention): no scores are written."""

from __future__ import annotations

import einops

import symacct as sa


def flash_attention(x: "b s d", wq: "d h k", wk: "d g k", wv: "d g k", wo: "h k d"):
    q, k, v = (einops.einsum(x, w, "b s d, d h k -> b h s k") for w in (wq, wk, wv))
    out = sa.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return einops.einsum(out, wo, "b h s k, h k d -> b s d")


def reference(sizes):
    import torch

    b, s, d, h, g, k = (sizes[n] for n in "bsdhgk")

    def forward(x, wq, wk, wv, wo):
        q = torch.tensordot(x, wq, dims=1).transpose(1, 2)
        k, v = (torch.tensordot(x, w, dims=1).transpose(1, 2).repeat_interleave(h // g, 1) for w in (wk, wv))
        hidden = torch.ones(s, s, dtype=torch.bool).triu(1)
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf)
        return torch.tensordot((scores.softmax(-1) @ v).transpose(1, 2), wo, dims=2)

    weights = (torch.randn(d, h, k), torch.randn(d, g, k), torch.randn(d, g, k), torch.randn(h, k, d))
    return forward, (torch.randn(b, s, d), *weights)


worked = sa.Worked(
    build=flash_attention,
    params=("wq", "wk", "wv", "wo"),
    formulas={
        "flops": "4*b*s*d*k*(h + g) + 4*b*h*s^2*k + 6*b*h*s^2",
        "matmul_flops": "4*b*s*d*k*(h + g) + 4*b*h*s^2*k",
        "params": "2*d*k*(h + g)",
        "bytes": "2*(4*b*s*d + 4*b*s*k*(h + g) + 2*d*k*(h + g)) + 8*b*h*s^2",
        "flash_bytes": "2*(4*b*s*d + 4*b*s*k*(h + g) + 2*d*k*(h + g))",
    },
    reference=reference,
    tiny={"b": 2, "s": 5, "d": 7, "h": 6, "g": 3, "k": 4},
    note="flash bytes are linear in s; a convention with attention='exact' counts s*(s + 1)/2 pairs instead of s^2",
)
