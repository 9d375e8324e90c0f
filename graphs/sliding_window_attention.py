"""Causal attention to the last w keys as one kernel: the pairs outside the window are not computed."""

from __future__ import annotations

import einops

import symacct as sa


def sliding_window_attention(x: "b s d", wq: "d h k", wk: "d h k", wv: "d h k", wo: "h k d", w: int):
    q, k, v = (einops.einsum(x, p, "b s d, d h k -> b h s k") for p in (wq, wk, wv))
    out = sa.scaled_dot_product_attention(q, k, v, is_causal=True, window=w)
    return einops.einsum(out, wo, "b h s k, h k d -> b s d")


def reference(sizes):
    import torch

    b, s, d, h, k, w = (sizes[n] for n in "bsdhkw")

    def forward(x, wq, wk, wv, wo, w):
        q, k, v = (torch.tensordot(x, p, dims=1).transpose(1, 2) for p in (wq, wk, wv))
        out = torch.zeros_like(q)
        for i in range(x.shape[1]):  # each query and the keys that it sees
            seen = slice(max(0, i + 1 - w), i + 1)
            scores = (q[:, :, i : i + 1] * k[:, :, seen]).sum(-1) / k.shape[-1] ** 0.5
            out[:, :, i] = (scores.softmax(-1)[..., None] * v[:, :, seen]).sum(2)
        return torch.tensordot(out.transpose(1, 2), wo, dims=2)

    weights = (*(torch.randn(d, h, k) for _ in range(3)), torch.randn(h, k, d))
    return forward, (torch.randn(b, s, d), *weights, w)


worked = sa.Worked(
    build=sliding_window_attention,
    params=("wq", "wk", "wv", "wo"),
    formulas={
        "flops": "8*b*s*d*h*k + (4*k + 6)*b*h*(s*w - w*(w - 1)/2)",
        "matmul_flops": "8*b*s*d*h*k + 4*b*h*k*(s*w - w*(w - 1)/2)",
        "params": "4*d*h*k",
    },
    reference=reference,
    values={"w": "w"},
    tiny={"b": 2, "s": 7, "d": 5, "h": 3, "k": 4, "w": 6},
    note="linear in s: the first w queries see fewer keys, all others w",
)
