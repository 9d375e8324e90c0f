"""The block of GPT-2: causal attention and an MLP, each after a LayerNorm and around a skip; with biases."""

from __future__ import annotations

import einops

import symacct as sa


@sa.scope
def attention(x, qkv, qkv_bias, out, out_bias):
    three = einops.einsum(x, qkv, "b s d, d n h k -> b s n h k") + qkv_bias
    q, k, v = three[:, :, 0], three[:, :, 1], three[:, :, 2]
    scores = einops.einsum(q, k, "b s h k, b t h k -> b h s t") * q.shape[-1] ** -0.5
    seen = sa.causal_mask(x.shape[1], like=x)
    weights = sa.softmax(sa.where(seen, scores, float("-inf")))
    heads = einops.einsum(weights, v, "b h s t, b t h k -> b s h k")
    return einops.einsum(heads, out, "b s h k, h k d -> b s d") + out_bias


@sa.scope
def mlp(x, up, up_bias, down, down_bias):
    return sa.gelu(x @ up + up_bias, approximate="tanh") @ down + down_bias


def transformer(
    x: "b s d",
    norm1: "d",
    shift1: "d",
    qkv: "d 3 h k",
    qkv_bias: "3 h k",
    out: "h k d",
    out_bias: "d",
    norm2: "d",
    shift2: "d",
    up: "d f",
    up_bias: "f",
    down: "f d",
    down_bias: "d",
):
    x = x + attention(sa.layer_norm(x, norm1.shape, norm1, shift1), qkv, qkv_bias, out, out_bias)
    return x + mlp(sa.layer_norm(x, norm2.shape, norm2, shift2), up, up_bias, down, down_bias)


def reference(sizes):
    import torch
    from torch.nn.functional import gelu, layer_norm, linear, scaled_dot_product_attention

    b, s, d, h, k, f = (sizes[n] for n in "bsdhkf")

    def forward(x, norm1, shift1, qkv, qkv_bias, out, out_bias, norm2, shift2, up, up_bias, down, down_bias):
        three = linear(layer_norm(x, (d,), norm1, shift1), qkv.flatten(1).T, qkv_bias.flatten())
        q, k, v = (t.unflatten(-1, (h, -1)).transpose(1, 2) for t in three.chunk(3, dim=-1))
        heads = scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + linear(heads, out.flatten(0, 1).T, out_bias)
        hidden = gelu(linear(layer_norm(x, (d,), norm2, shift2), up.T, up_bias), approximate="tanh")
        return x + linear(hidden, down.T, down_bias)

    shapes = ((d,), (d,), (d, 3, h, k), (3, h, k), (h, k, d), (d,), (d,), (d,), (d, f), (f,), (f, d), (d,))
    return forward, (torch.randn(b, s, d), *(torch.randn(shape) for shape in shapes))


worked = sa.Worked(
    build=transformer,
    params=(
        *("norm1", "shift1", "qkv", "qkv_bias", "out", "out_bias"),
        *("norm2", "shift2", "up", "up_bias", "down", "down_bias"),
    ),
    formulas={
        "flops": (
            "8*b*s*d*h*k + 4*b*h*s^2*k + 4*b*s*d*f + 6*b*h*s^2 + 21*b*s*f + 3*b*s*h*k + 4*b*s*d + 2*b*s*(7*d + 4)"
        ),
        "matmul_flops": "8*b*s*d*h*k + 4*b*h*s^2*k + 4*b*s*d*f",
        "params": "4*d*h*k + 2*d*f + 3*h*k + f + 6*d",
    },
    reference=reference,
    tiny={"b": 2, "s": 5, "d": 7, "h": 3, "k": 4, "f": 11},
    note="with h*k = d and f = 4*d: 12*d^2 + 13*d parameters, 24*b*s*d^2 + 4*b*s^2*d in products",
)
