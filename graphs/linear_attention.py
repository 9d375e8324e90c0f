"""Linear attention: a feature map in place of softmax, so that keys meet values first; every query sees every key."""

from __future__ import annotations

import einops

import symacct as sa


@sa.scope
def feature(x):
    return sa.where(x > 0, x + 1, sa.exp(x))


def linear_attention(x: "b s d", wq: "d h k", wk: "d h k", wv: "d h v", wo: "h v d"):
    q, k, v = (einops.einsum(x, w, "b s d, d h k -> b h s k") for w in (wq, wk, wv))
    q, k = feature(q), feature(k)
    state = einops.einsum(k, v, "b h t k, b h t v -> b h k v")
    total = einops.einsum(q, einops.reduce(k, "b h t k -> b h k", "sum"), "b h s k, b h k -> b h s")
    out = einops.einsum(q, state, "b h s k, b h k v -> b h s v") / total[..., None]
    return einops.einsum(out, wo, "b h s v, h v d -> b s d")


def reference(sizes):
    import torch

    b, s, d, h, k, v = (sizes[n] for n in "bsdhkv")

    def forward(x, wq, wk, wv, wo):
        q, k, v = (torch.tensordot(x, w, dims=1).transpose(1, 2) for w in (wq, wk, wv))
        scores = (torch.nn.functional.elu(q) + 1) @ (torch.nn.functional.elu(k) + 1).mT
        weights = scores / scores.sum(-1, keepdim=True)  # all pairs: what this layer avoids
        return torch.tensordot((weights @ v).transpose(1, 2), wo, dims=2)

    weights = (torch.randn(d, h, k), torch.randn(d, h, k), torch.randn(d, h, v), torch.randn(h, v, d))
    return forward, (torch.randn(b, s, d), *weights)


worked = sa.Worked(
    build=linear_attention,
    params=("wq", "wk", "wv", "wo"),
    formulas={
        "flops": "4*b*s*d*h*(k + v) + 4*b*s*h*k*v + 2*b*s*h*k + 7*b*s*h*k + b*s*h*v",
        "matmul_flops": "4*b*s*d*h*(k + v) + 4*b*s*h*k*v + 2*b*s*h*k",
        "params": "2*d*h*(k + v)",
    },
    reference=reference,
    tiny={"b": 2, "s": 11, "d": 7, "h": 3, "k": 4, "v": 5},
    note="linear in s: with v = k fewer products than all pairs from s = k + 1/2 on",
)
