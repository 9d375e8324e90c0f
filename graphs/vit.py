"""A vision transformer: patches of p by p pixels as tokens, a class token, L blocks, a head on the class token."""

from __future__ import annotations

import einops

import symacct as sa


@sa.scope
def attention(x, qkv, qkv_bias, out, out_bias):
    three = einops.einsum(x, qkv, "b s d, d n h k -> b s n h k") + qkv_bias
    q, k, v = three[:, :, 0], three[:, :, 1], three[:, :, 2]
    scores = einops.einsum(q, k, "b s h k, b t h k -> b h s t") * q.shape[-1] ** -0.5
    heads = einops.einsum(sa.softmax(scores), v, "b h s t, b t h k -> b s h k")
    return einops.einsum(heads, out, "b s h k, h k d -> b s d") + out_bias


@sa.scope
def mlp(x, up, up_bias, down, down_bias):
    return sa.gelu(x @ up + up_bias) @ down + down_bias


@sa.scope
def block(x, layer):
    norm1, shift1, qkv, qkv_bias, out, out_bias, norm2, shift2, up, up_bias, down, down_bias = layer
    x = x + attention(sa.layer_norm(x, norm1.shape, norm1, shift1), qkv, qkv_bias, out, out_bias)
    return x + mlp(sa.layer_norm(x, norm2.shape, norm2, shift2), up, up_bias, down, down_bias)


@sa.scope
def patches(image, patch, patch_bias, class_token, positions):
    _, p, q, _ = patch.shape
    flat = einops.rearrange(image, "b c (y p) (x q) -> b (y x) (c p q)", p=p, q=q)
    tokens = flat @ einops.rearrange(patch, "c p q d -> (c p q) d") + patch_bias
    first = einops.repeat(class_token, "d -> b 1 d", b=image.shape[0])
    return sa.concat([first, tokens], axis=1) + positions


def vit(
    image: "b c y*p x*p",
    patch: "c p p d",
    patch_bias: "d",
    class_token: "d",
    positions: "x*y+1 d",
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
    head: "d v",
    head_bias: "v",
):
    layers = (norm1, shift1, qkv, qkv_bias, out, out_bias, norm2, shift2, up, up_bias, down, down_bias)
    x = sa.repeat("L", block, patches(image, patch, patch_bias, class_token, positions), xs=layers)
    return sa.layer_norm(x, norm.shape, norm, shift)[:, 0] @ head + head_bias


def reference(sizes):
    import torch
    from torch.nn.functional import conv2d, gelu, layer_norm, linear, scaled_dot_product_attention

    b, c, y, x, p, d, h, k, f, v, layers = (sizes[n] for n in (*"bcyxpdhkfv", "L"))

    def block(z, norm1, shift1, qkv, qkv_bias, out, out_bias, norm2, shift2, up, up_bias, down, down_bias):
        three = linear(layer_norm(z, (d,), norm1, shift1), qkv.flatten(1).T, qkv_bias.flatten())
        q, k, v = (t.unflatten(-1, (h, -1)).transpose(1, 2) for t in three.chunk(3, dim=-1))
        heads = scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        z = z + linear(heads, out.flatten(0, 1).T, out_bias)
        return z + linear(gelu(linear(layer_norm(z, (d,), norm2, shift2), up.T, up_bias)), down.T, down_bias)

    def forward(image, patch, patch_bias, class_token, positions, *rest):
        tokens = conv2d(image, patch.movedim(-1, 0), patch_bias, stride=p).flatten(2).mT
        z = torch.cat([class_token.expand(b, 1, d), tokens], dim=1) + positions
        for layer in zip(*rest[:12], strict=True):
            z = block(z, *layer)
        norm, shift, head, head_bias = rest[12:]
        return linear(layer_norm(z[:, 0], (d,), norm, shift), head.T, head_bias)

    shapes = ((d,), (d,), (d, 3, h, k), (3, h, k), (h, k, d), (d,), (d,), (d,), (d, f), (f,), (f, d), (d,))
    first = ((b, c, y * p, x * p), (c, p, p, d), (d,), (d,), (x * y + 1, d))
    last = ((d,), (d,), (d, v), (v,))
    stacked = (torch.randn(layers, *shape) / 3 for shape in shapes)
    return forward, (*(torch.randn(n) for n in first), *stacked, *(torch.randn(n) for n in last))


S = "(x*y + 1)"
BLOCK_FLOPS = f"8*b*{S}*d*h*k + 4*b*h*{S}^2*k + 4*b*{S}*d*f"
worked = sa.Worked(
    build=vit,
    params=(
        *("patch", "patch_bias", "class_token", "positions", "norm1", "shift1", "qkv", "qkv_bias", "out", "out_bias"),
        *("norm2", "shift2", "up", "up_bias", "down", "down_bias", "norm", "shift", "head", "head_bias"),
    ),
    formulas={
        "flops": (
            f"L*({BLOCK_FLOPS} + 6*b*h*{S}^2 + 21*b*{S}*f + 3*b*{S}*h*k + 4*b*{S}*d + 2*b*{S}*(7*d + 4))"
            f" + 2*b*x*y*c*p^2*d + b*x*y*d + b*{S}*d + b*{S}*(7*d + 4) + 2*b*d*v + b*v"
        ),
        "matmul_flops": f"L*({BLOCK_FLOPS}) + 2*b*x*y*c*p^2*d + 2*b*d*v",
        "params": f"c*p^2*d + 2*d + {S}*d + L*(4*d*h*k + 2*d*f + 3*h*k + f + 6*d) + 2*d + d*v + v",
    },
    reference=reference,
    tiny={"b": 2, "c": 3, "y": 4, "x": 5, "p": 6, "d": 7, "h": 8, "k": 9, "f": 11, "v": 13, "L": 10},
    note="an image of y*p by x*p pixels is x*y + 1 tokens",
)
