"""The L layers of Llama for one new token a sequence, with the keys and values of t tokens in a cache.

The cache is read once and not copied: scores with it and with the new token's own key share a softmax. The keys and
values of the new token are collected, a layer after the other, to be put into the cache.
"""

from __future__ import annotations

import einops

import symacct as sa


@sa.scope
def attention(x, keys, values, wq, wk, wv, wo, cos, sin):
    q = sa.rotary(einops.einsum(x, wq, "b d, d g r k -> b g r k"), cos, sin)
    k = sa.rotary(einops.einsum(x, wk, "b d, d g k -> b g k"), cos, sin)
    v = einops.einsum(x, wv, "b d, d g k -> b g k")
    past = einops.einsum(q, keys, "b g r k, b g t k -> b g r t")
    own = einops.einsum(q, k, "b g r k, b g k -> b g r")
    weights = sa.softmax(sa.concat([past, own[..., None]], axis=-1) * q.shape[-1] ** -0.5)
    out = einops.einsum(weights[..., :-1], values, "b g r t, b g t k -> b g r k")
    out = out + weights[..., -1:] * v[:, :, None]
    return einops.einsum(out, wo, "b g r k, g r k d -> b d"), k, v


@sa.scope
def mlp(x, gate, up, down):
    return (sa.silu(x @ gate) * (x @ up)) @ down


@sa.scope
def layer(x, weights, angles):
    keys, values, norm1, wq, wk, wv, wo, norm2, gate, up, down = weights
    normal = sa.rms_norm(x, norm1.shape, norm1, eps=1e-5)
    out, k, v = attention(normal, keys, values, wq, wk, wv, wo, *angles)
    x = x + out
    return x + mlp(sa.rms_norm(x, norm2.shape, norm2, eps=1e-5), gate, up, down), (k, v)


def decode_step(
    x: "b d",
    keys: "L b g t k",
    values: "L b g t k",
    cos: "k/2",
    sin: "k/2",
    norm1: "L d",
    wq: "L d g r k",
    wk: "L d g k",
    wv: "L d g k",
    wo: "L g r k d",
    norm2: "L d",
    gate: "L d f",
    up: "L d f",
    down: "L f d",
):
    layers = (keys, values, norm1, wq, wk, wv, wo, norm2, gate, up, down)
    x, (k, v) = sa.repeat("L", layer, x, xs=layers, consts=(cos, sin), collect=True)
    return x, k, v


def reference(sizes):
    import torch
    from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu

    b, t, d, g, r, k, f, layers = (sizes[n] for n in (*"btdgrkf", "L"))

    def turn(x, cos, sin):
        pairs = torch.complex(*x.chunk(2, dim=-1)) * torch.complex(cos, sin)
        return torch.cat([pairs.real, pairs.imag], dim=-1)

    def one(x, cos, sin, keys, values, norm1, wq, wk, wv, wo, norm2, gate, up, down):
        y = rms_norm(x, (d,), norm1, 1e-5)
        q, k, v = (torch.tensordot(y, w.reshape(d, -1, w.shape[-1]), dims=1) for w in (wq, wk, wv))
        q, k = turn(q, cos, sin), turn(k, cos, sin)
        all_keys = torch.cat([keys, k[:, :, None]], dim=2)
        all_values = torch.cat([values, v[:, :, None]], dim=2)
        out = scaled_dot_product_attention(q[:, :, None], all_keys, all_values, enable_gqa=True)
        x = x + out.flatten(1) @ wo.flatten(0, 2)
        y = rms_norm(x, (d,), norm2, 1e-5)
        return x + (silu(y @ gate) * (y @ up)) @ down, k, v

    def forward(x, keys, values, cos, sin, *weights):
        made = []
        for stacked in zip(keys, values, *weights, strict=True):
            x, k, v = one(x, cos, sin, *stacked)
            made.append((k, v))
        return x, *(torch.stack(rows) for rows in zip(*made, strict=True))

    shapes = ((d,), (d, g, r, k), (d, g, k), (d, g, k), (g, r, k, d), (d,), (d, f), (d, f), (f, d))
    angles = torch.rand(k // 2)
    cache = (torch.randn(layers, b, g, t, k), torch.randn(layers, b, g, t, k))
    weights = (torch.randn(layers, *shape) for shape in shapes)
    return forward, (torch.randn(b, d), *cache, angles.cos(), angles.sin(), *weights)


PRODUCTS = "4*b*d*g*k*(r + 1) + 4*b*g*r*t*k + 2*b*g*r*k + 6*b*d*f"
REST = "6*b*g*r*(t + 1) + 2*b*g*r*k + 3*b*f + 3*b*g*k*(r + 1) + 2*b*d + 2*b*(4*d + 3)"
worked = sa.Worked(
    build=decode_step,
    params=("norm1", "wq", "wk", "wv", "wo", "norm2", "gate", "up", "down"),
    formulas={
        "flops": f"L*({PRODUCTS} + {REST})",
        "matmul_flops": f"L*({PRODUCTS})",
        "params": "L*(2*d*g*k*(r + 1) + 3*d*f + 2*d)",
    },
    reference=reference,
    tiny={"b": 2, "t": 5, "d": 7, "g": 3, "r": 4, "k": 6, "f": 11, "L": 8},
    note="4*b*g*t*k bytes of cache are read a layer for 4*b*g*r*t*k operations: r a byte, whatever b and t are",
)
