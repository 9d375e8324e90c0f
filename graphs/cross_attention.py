"""Cross attention: s queries from one sequence, t keys and values from another of width e."""

from __future__ import annotations

import einops

import symacct as sa


def cross_attention(x: "b s d", y: "b t e", wq: "d h k", wk: "e h k", wv: "e h k", wo: "h k d"):
    q = einops.einsum(x, wq, "b s d, d h k -> b h s k")
    k, v = (einops.einsum(y, w, "b t e, e h k -> b h t k") for w in (wk, wv))
    scores = einops.einsum(q, k, "b h s k, b h t k -> b h s t") * q.shape[-1] ** -0.5
    out = einops.einsum(sa.softmax(scores), v, "b h s t, b h t k -> b h s k")
    return einops.einsum(out, wo, "b h s k, h k d -> b s d")


def reference(sizes):
    import torch

    b, s, t, d, e, h, k = (sizes[n] for n in "bstdehk")

    def forward(x, y, wq, wk, wv, wo):
        q, k, v = (torch.tensordot(z, w, dims=1).transpose(1, 2) for z, w in ((x, wq), (y, wk), (y, wv)))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return torch.tensordot(out.transpose(1, 2), wo, dims=2)

    weights = (torch.randn(d, h, k), torch.randn(e, h, k), torch.randn(e, h, k), torch.randn(h, k, d))
    return forward, (torch.randn(b, s, d), torch.randn(b, t, e), *weights)


worked = sa.Worked(
    build=cross_attention,
    params=("wq", "wk", "wv", "wo"),
    formulas={
        "flops": "4*b*h*k*(s*d + t*e) + 4*b*h*s*t*k + 6*b*h*s*t",
        "matmul_flops": "4*b*h*k*(s*d + t*e) + 4*b*h*s*t*k",
        "params": "2*h*k*(d + e)",
    },
    reference=reference,
    tiny={"b": 2, "s": 3, "t": 5, "d": 7, "e": 11, "h": 4, "k": 6},
    note="s*t pairs; keys and values are projected once a sequence y",
)
