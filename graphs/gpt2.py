"""GPT-2: embeddings of tokens and positions, L blocks, a last LayerNorm, and the embedding again as the head."""

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


@sa.scope
def block(x, layer):
    norm1, shift1, qkv, qkv_bias, out, out_bias, norm2, shift2, up, up_bias, down, down_bias = layer
    x = x + attention(sa.layer_norm(x, norm1.shape, norm1, shift1), qkv, qkv_bias, out, out_bias)
    return x + mlp(sa.layer_norm(x, norm2.shape, norm2, shift2), up, up_bias, down, down_bias)


def gpt2(
    tokens: "b s",
    table: "v d",
    positions: "c d",
    norm1: "L d",
    shift1: "L d",
    qkv: "L d 3 h k",
    qkv_bias: "L 3 h k",
    out: "L h k d",
    out_bias: "L d",
    norm2: "L d",
    shift2: "L d",
    up: "L d f",
    up_bias: "L f",
    down: "L f d",
    down_bias: "L d",
    norm: "d",
    shift: "d",
):
    layers = (norm1, shift1, qkv, qkv_bias, out, out_bias, norm2, shift2, up, up_bias, down, down_bias)
    x = sa.embedding(tokens, table) + positions[: tokens.shape[1]]
    x = sa.repeat("L", block, x, xs=layers)
    return sa.layer_norm(x, norm.shape, norm, shift) @ table.T


def reference(sizes):
    import torch
    from torch.nn.functional import embedding, gelu, layer_norm, linear, scaled_dot_product_attention

    b, s, d, h, k, f, v, c, layers = (sizes[n] for n in (*"bsdhkfvc", "L"))

    def block(x, norm1, shift1, qkv, qkv_bias, out, out_bias, norm2, shift2, up, up_bias, down, down_bias):
        three = linear(layer_norm(x, (d,), norm1, shift1), qkv.flatten(1).T, qkv_bias.flatten())
        q, k, v = (t.unflatten(-1, (h, -1)).transpose(1, 2) for t in three.chunk(3, dim=-1))
        heads = scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        x = x + linear(heads, out.flatten(0, 1).T, out_bias)
        hidden = gelu(linear(layer_norm(x, (d,), norm2, shift2), up.T, up_bias), approximate="tanh")
        return x + linear(hidden, down.T, down_bias)

    def forward(tokens, table, positions, *rest):
        x = embedding(tokens, table) + embedding(torch.arange(tokens.shape[1]), positions)
        for layer in zip(*rest[:-2], strict=True):
            x = block(x, *layer)
        return linear(layer_norm(x, (d,), *rest[-2:]), table)

    shapes = ((d,), (d,), (d, 3, h, k), (3, h, k), (h, k, d), (d,), (d,), (d,), (d, f), (f,), (f, d), (d,))
    stacked = (torch.randn(layers, *shape) / 3 for shape in shapes)
    embeddings = (torch.randint(v, (b, s)), torch.randn(v, d), torch.randn(c, d))
    return forward, (*embeddings, *stacked, torch.randn(d), torch.randn(d))


BLOCK_FLOPS = "8*b*s*d*h*k + 4*b*h*s^2*k + 4*b*s*d*f"
worked = sa.Worked(
    build=gpt2,
    params=(
        *("table", "positions", "norm1", "shift1", "qkv", "qkv_bias", "out", "out_bias"),
        *("norm2", "shift2", "up", "up_bias", "down", "down_bias", "norm", "shift"),
    ),
    formulas={
        "flops": (
            f"L*({BLOCK_FLOPS} + 6*b*h*s^2 + 21*b*s*f + 3*b*s*h*k + 4*b*s*d + 2*b*s*(7*d + 4))"
            " + 2*b*s*d*v + b*s*d + b*s*(7*d + 4)"
        ),
        "matmul_flops": f"L*({BLOCK_FLOPS}) + 2*b*s*d*v",
        "params": "v*d + c*d + L*(4*d*h*k + 2*d*f + 3*h*k + f + 6*d) + 2*d",
    },
    reference=reference,
    tiny={"b": 2, "s": 5, "d": 7, "h": 3, "k": 4, "f": 11, "v": 13, "c": 6, "L": 8},
    note="the head is tied: its matrix costs 2*b*s*d*v operations and no parameters of its own",
)
