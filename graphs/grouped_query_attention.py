"""Grouped-query attention: g heads of keys and values, each shared by r heads of queries."""

from __future__ import annotations

import einops

import symacct as sa


def grouped_query_attention(x: "b s d", wq: "d g r k", wk: "d g k", wv: "d g k", wo: "g r k d"):
    q = einops.einsum(x, wq, "b s d, d g r k -> b g r s k")
    k, v = (einops.einsum(x, w, "b s d, d g k -> b g s k") for w in (wk, wv))
    scores = einops.einsum(q, k, "b g r s k, b g t k -> b g r s t") * q.shape[-1] ** -0.5
    out = einops.einsum(sa.softmax(scores), v, "b g r s t, b g t k -> b g r s k")
    return einops.einsum(out, wo, "b g r s k, g r k d -> b s d")


def reference(sizes):
    import torch

    b, s, d, g, r, k = (sizes[n] for n in "bsdgrk")

    def heads(x, w):
        return (x @ w.flatten(1)).unflatten(-1, (-1, w.shape[-1])).transpose(1, 2)

    def forward(x, wq, wk, wv, wo):
        q, k, v = (heads(x, w) for w in (wq, wk, wv))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return out.transpose(1, 2).flatten(2) @ wo.flatten(0, 2)

    weights = (torch.randn(d, g, r, k), torch.randn(d, g, k), torch.randn(d, g, k), torch.randn(g, r, k, d))
    return forward, (torch.randn(b, s, d), *weights)


worked = sa.Worked(
    build=grouped_query_attention,
    params=("wq", "wk", "wv", "wo"),
    formulas={
        "flops": "4*b*s*d*g*k*(r + 1) + 4*b*g*r*s^2*k + 6*b*g*r*s^2",
        "matmul_flops": "4*b*s*d*g*k*(r + 1) + 4*b*g*r*s^2*k",
        "params": "2*d*g*k*(r + 1)",
    },
    reference=reference,
    tiny={"b": 2, "s": 5, "d": 7, "g": 3, "r": 4, "k": 6},
    note="fewer heads of keys make projections and cache smaller; the pairs cost the same",
)
