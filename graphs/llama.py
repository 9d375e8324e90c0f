"""Llama: RMSNorm, rotary positions, grouped-query attention, a gated MLP, no biases, a head of its own."""

from __future__ import annotations

import einops

import symacct as sa


@sa.scope
def attention(x, wq, wk, wv, wo, cos, sin):
    q = sa.rotary(einops.einsum(x, wq, "b s d, d g r k -> b g r s k"), cos, sin)
    k = sa.rotary(einops.einsum(x, wk, "b s d, d g k -> b g s k"), cos, sin)
    v = einops.einsum(x, wv, "b s d, d g k -> b g s k")
    scores = einops.einsum(q, k, "b g r s k, b g t k -> b g r s t") * q.shape[-1] ** -0.5
    seen = sa.causal_mask(x.shape[1], like=x)
    weights = sa.softmax(sa.where(seen, scores, float("-inf")))
    heads = einops.einsum(weights, v, "b g r s t, b g t k -> b g r s k")
    return einops.einsum(heads, wo, "b g r s k, g r k d -> b s d")


@sa.scope
def mlp(x, gate, up, down):
    return (sa.silu(x @ gate) * (x @ up)) @ down


@sa.scope
def block(x, layer, angles):
    norm1, wq, wk, wv, wo, norm2, gate, up, down = layer
    x = x + attention(sa.rms_norm(x, norm1.shape, norm1, eps=1e-5), wq, wk, wv, wo, *angles)
    return x + mlp(sa.rms_norm(x, norm2.shape, norm2, eps=1e-5), gate, up, down)


def llama(
    tokens: "b s",
    table: "v d",
    cos: "s k/2",
    sin: "s k/2",
    norm1: "L d",
    wq: "L d g r k",
    wk: "L d g k",
    wv: "L d g k",
    wo: "L g r k d",
    norm2: "L d",
    gate: "L d f",
    up: "L d f",
    down: "L f d",
    norm: "d",
    head: "d v",
):
    layers = (norm1, wq, wk, wv, wo, norm2, gate, up, down)
    x = sa.repeat("L", block, sa.embedding(tokens, table), xs=layers, consts=(cos, sin))
    return sa.rms_norm(x, norm.shape, norm, eps=1e-5) @ head


def reference(sizes):
    import torch
    from torch.nn.functional import embedding, linear, rms_norm, scaled_dot_product_attention, silu

    b, s, d, g, r, k, f, v, layers = (sizes[n] for n in (*"bsdgrkfv", "L"))

    def turn(x, cos, sin):
        pairs = torch.complex(*x.chunk(2, dim=-1)) * torch.complex(cos, sin)
        return torch.cat([pairs.real, pairs.imag], dim=-1)

    def heads(x, w):
        return linear(x, w.flatten(1).T).unflatten(-1, (-1, k)).transpose(1, 2)

    def block(x, cos, sin, norm1, wq, wk, wv, wo, norm2, gate, up, down):
        y = rms_norm(x, (d,), norm1, 1e-5)
        q, k, v = turn(heads(y, wq), cos, sin), turn(heads(y, wk), cos, sin), heads(y, wv)
        out = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + linear(out.transpose(1, 2).flatten(2), wo.flatten(0, 2).T)
        y = rms_norm(x, (d,), norm2, 1e-5)
        return x + linear(silu(linear(y, gate.T)) * linear(y, up.T), down.T)

    def forward(tokens, table, cos, sin, *rest):
        x = embedding(tokens, table)
        for layer in zip(*rest[:-2], strict=True):
            x = block(x, cos, sin, *layer)
        return linear(rms_norm(x, (d,), rest[-2], 1e-5), rest[-1].T)

    shapes = ((d,), (d, g, r, k), (d, g, k), (d, g, k), (g, r, k, d), (d,), (d, f), (d, f), (f, d))
    angles = torch.rand(s, k // 2)
    given = (torch.randint(v, (b, s)), torch.randn(v, d), angles.cos(), angles.sin())
    stacked = (torch.randn(layers, *shape) / 3 for shape in shapes)
    return forward, (*given, *stacked, torch.randn(d), torch.randn(d, v))


BLOCK_FLOPS = "4*b*s*d*g*k*(r + 1) + 4*b*g*r*s^2*k + 6*b*s*d*f"
worked = sa.Worked(
    build=llama,
    params=("table", "norm1", "wq", "wk", "wv", "wo", "norm2", "gate", "up", "down", "norm", "head"),
    formulas={
        "flops": (
            f"L*({BLOCK_FLOPS} + 6*b*g*r*s^2 + 3*b*s*f + 3*b*s*g*k*(r + 1) + 2*b*s*d + 2*b*s*(4*d + 3))"
            " + 2*b*s*d*v + b*s*(4*d + 3)"
        ),
        "matmul_flops": f"L*({BLOCK_FLOPS}) + 2*b*s*d*v",
        "params": "2*v*d + L*(2*d*g*k*(r + 1) + 3*d*f + 2*d) + d",
    },
    reference=reference,
    tiny={"b": 2, "s": 5, "d": 7, "g": 3, "r": 4, "k": 6, "f": 11, "v": 13, "L": 8},
    note="g heads of keys and values, r heads of queries each; the MLP has three matrices",
)
