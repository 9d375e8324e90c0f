"""Multi-query attention: all heads of queries share one head of keys and values."""

from __future__ import annotations

import einops

import symacct as sa


def multi_query_attention(x: "b s d", wq: "d h k", wk: "d k", wv: "d k", wo: "h k d"):
    q = einops.einsum(x, wq, "b s d, d h k -> b h s k")
    k, v = x @ wk, x @ wv
    scores = einops.einsum(q, k, "b h s k, b t k -> b h s t") * q.shape[-1] ** -0.5
    out = einops.einsum(sa.softmax(scores), v, "b h s t, b t k -> b h s k")
    return einops.einsum(out, wo, "b h s k, h k d -> b s d")


def reference(sizes):
    import torch

    b, s, d, h, k = (sizes[n] for n in "bsdhk")

    def forward(x, wq, wk, wv, wo):
        q = torch.tensordot(x, wq, dims=1).transpose(1, 2)
        k, v = (torch.nn.functional.linear(x, w.T)[:, None].expand(-1, h, -1, -1) for w in (wk, wv))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return torch.tensordot(out.transpose(1, 2), wo, dims=2)

    weights = (torch.randn(d, h, k), torch.randn(d, k), torch.randn(d, k), torch.randn(h, k, d))
    return forward, (torch.randn(b, s, d), *weights)


worked = sa.Worked(
    build=multi_query_attention,
    params=("wq", "wk", "wv", "wo"),
    formulas={
        "flops": "4*b*s*d*k*(h + 1) + 4*b*h*s^2*k + 6*b*h*s^2",
        "matmul_flops": "4*b*s*d*k*(h + 1) + 4*b*h*s^2*k",
        "params": "2*d*k*(h + 1)",
    },
    reference=reference,
    tiny={"b": 2, "s": 5, "d": 7, "h": 3, "k": 4},
    note="a cache of 2*k elements a token instead of 2*h*k",
)
