"""Multi-head latent attention (DeepSeek-V2, V3): keys and values from c numbers a token, queries from q.

Heads have n elements without a position and r with one (the rotated key is shared by all heads); values have v.
"""

from __future__ import annotations

import einops

import symacct as sa


@sa.scope
def queries(x, wdq, norm, wuq, cos, sin):
    latent = sa.rms_norm(x @ wdq, norm.shape, norm, eps=1e-6)
    q = einops.einsum(latent, wuq, "b s q, q h w -> b h s w")
    r = 2 * cos.shape[-1]
    plain, turned = sa.split(q, [q.shape[-1] - r, r], axis=-1)
    return plain, sa.rotary(turned, cos, sin)


@sa.scope
def keys_and_values(x, wdkv, norm, wuk, wuv, wkr, cos, sin):
    latent = sa.rms_norm(x @ wdkv, norm.shape, norm, eps=1e-6)
    k = einops.einsum(latent, wuk, "b t c, c h n -> b h t n")
    v = einops.einsum(latent, wuv, "b t c, c h v -> b h t v")
    return k, sa.rotary(x @ wkr, cos, sin), v


def latent_attention(
    x: "b s d",
    wdq: "d q",
    norm_q: "q",
    wuq: "q h n+r",
    wdkv: "d c",
    norm_kv: "c",
    wuk: "c h n",
    wuv: "c h v",
    wkr: "d r",
    wo: "h v d",
    cos: "s r/2",
    sin: "s r/2",
):
    q, q_turned = queries(x, wdq, norm_q, wuq, cos, sin)
    k, k_turned, v = keys_and_values(x, wdkv, norm_kv, wuk, wuv, wkr, cos, sin)
    scores = einops.einsum(q, k, "b h s n, b h t n -> b h s t")
    scores = scores + einops.einsum(q_turned, k_turned, "b h s r, b t r -> b h s t")
    weights = sa.softmax(scores * wuq.shape[-1] ** -0.5)
    out = einops.einsum(weights, v, "b h s t, b h t v -> b h s v")
    return einops.einsum(out, wo, "b h s v, h v d -> b s d")


def reference(sizes):
    import torch
    from torch.nn.functional import rms_norm, scaled_dot_product_attention

    b, s, d, h, q, c, n, r, v = (sizes[i] for i in "bsdhqcnrv")

    def turn(x, cos, sin):
        half = x.shape[-1] // 2
        around = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
        return x * torch.cat([cos, cos], dim=-1) + around * torch.cat([sin, sin], dim=-1)

    def forward(x, wdq, norm_q, wuq, wdkv, norm_kv, wuk, wuv, wkr, wo, cos, sin):
        queries = torch.tensordot(rms_norm(x @ wdq, (q,), norm_q, 1e-6), wuq, dims=1).transpose(1, 2)
        queries = torch.cat([queries[..., :n], turn(queries[..., n:], cos, sin)], dim=-1)
        latent = rms_norm(x @ wdkv, (c,), norm_kv, 1e-6)
        shared = turn(x @ wkr, cos, sin)[:, None].expand(-1, h, -1, -1)
        keys = torch.cat([torch.tensordot(latent, wuk, dims=1).transpose(1, 2), shared], dim=-1)
        values = torch.tensordot(latent, wuv, dims=1).transpose(1, 2)
        out = scaled_dot_product_attention(queries, keys, values)
        return torch.tensordot(out.transpose(1, 2), wo, dims=2)

    shapes = ((d, q), (q,), (q, h, n + r), (d, c), (c,), (c, h, n), (c, h, v), (d, r), (h, v, d))
    angles = torch.rand(s, r // 2)
    return forward, (torch.randn(b, s, d), *(torch.randn(shape) for shape in shapes), angles.cos(), angles.sin())


worked = sa.Worked(
    build=latent_attention,
    params=("wdq", "norm_q", "wuq", "wdkv", "norm_kv", "wuk", "wuv", "wkr", "wo"),
    formulas={
        "flops": (
            "2*b*s*(d*q + q*h*(n + r) + d*c + d*r + c*h*(n + v) + h*v*d) + 2*b*h*s^2*(n + r + v)"
            " + 7*b*h*s^2 + b*s*(4*q + 3) + b*s*(4*c + 3) + 3*b*s*r*(h + 1)"
        ),
        "matmul_flops": "2*b*s*(d*q + q*h*(n + r) + d*c + d*r + c*h*(n + v) + h*v*d) + 2*b*h*s^2*(n + r + v)",
        "params": "d*q + q*h*(n + r) + d*c + d*r + c*h*(n + v) + h*v*d + q + c",
    },
    reference=reference,
    tiny={"b": 2, "s": 3, "d": 11, "h": 5, "q": 7, "c": 9, "n": 10, "r": 4, "v": 13},
    note="a cache of c + r elements a token, for h heads of keys of n + r and values of v",
)
