"""A convolution of 3 by 3 taps that keeps the size, batch norm in use, and ReLU."""

from __future__ import annotations

import symacct as sa


def conv_block(x: "b c h w", kernel: "o c 3 3", mean: "o", var: "o", scale: "o", shift: "o"):
    out = sa.conv2d(x, kernel, padding=1)
    return sa.relu(sa.batch_norm(out, mean, var, scale, shift))


def reference(sizes):
    import torch

    b, c, h, w, o = (sizes[n] for n in "bchwo")

    def forward(x, kernel, mean, var, scale, shift):
        taps = torch.nn.functional.unfold(x, 3, padding=1)
        out = (kernel.flatten(1) @ taps).unflatten(-1, x.shape[-2:])
        normal = (out - mean[:, None, None]) / (var[:, None, None] + 1e-5).sqrt()
        return torch.relu(normal * scale[:, None, None] + shift[:, None, None])

    statistics = (torch.randn(o), torch.rand(o), torch.randn(o), torch.randn(o))
    return forward, (torch.randn(b, c, h, w), torch.randn(o, c, 3, 3), *statistics)


worked = sa.Worked(
    build=conv_block,
    params=("kernel", "scale", "shift"),
    formulas={
        "flops": "18*b*c*o*h*w + 5*b*o*h*w + 2*o",
        "matmul_flops": "18*b*c*o*h*w",
        "params": "9*c*o + 2*o",
    },
    reference=reference,
    tiny={"b": 2, "c": 3, "h": 5, "w": 7, "o": 4},
    note="taps on the padding are counted; a convention with padding='exact' leaves them out",
)
