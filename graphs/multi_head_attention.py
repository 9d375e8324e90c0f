"""Multi-head attention: h heads of width k, all pairs of s positions; h*k = d in most models."""

from __future__ import annotations

import einops

import symacct as sa


def multi_head_attention(x: "b s d", wq: "d h k", wk: "d h k", wv: "d h k", wo: "h k d"):
    q, k, v = (einops.einsum(x, w, "b s d, d h k -> b h s k") for w in (wq, wk, wv))
    scores = einops.einsum(q, k, "b h s k, b h t k -> b h s t") * q.shape[-1] ** -0.5
    out = einops.einsum(sa.softmax(scores), v, "b h s t, b h t k -> b h s k")
    return einops.einsum(out, wo, "b h s k, h k d -> b s d")


def reference(sizes):
    import torch

    b, s, d, h, k = (sizes[n] for n in "bsdhk")

    def forward(x, wq, wk, wv, wo):
        q, k, v = ((x @ w.flatten(1)).unflatten(-1, w.shape[1:]).transpose(1, 2) for w in (wq, wk, wv))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return out.transpose(1, 2).flatten(2) @ wo.flatten(0, 1)

    return forward, (torch.randn(b, s, d), *(torch.randn(d, h, k) for _ in range(3)), torch.randn(h, k, d))


worked = sa.Worked(
    build=multi_head_attention,
    params=("wq", "wk", "wv", "wo"),
    formulas={
        "flops": "8*b*s*d*h*k + 4*b*h*s^2*k + 6*b*h*s^2",
        "matmul_flops": "8*b*s*d*h*k + 4*b*h*s^2*k",
        "params": "4*d*h*k",
    },
    reference=reference,
    tiny={"b": 2, "s": 5, "d": 7, "h": 3, "k": 4},
    note="the pairs cost what the projections cost at s = 2*d",
)
