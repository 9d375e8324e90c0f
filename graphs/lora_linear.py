"""A linear layer with a low-rank update (LoRA): d*k frozen weights, r*(d + k) trained ones."""

from __future__ import annotations

import symacct as sa


def lora_linear(x: "b d", w: "d k", down: "d r", up: "r k", scale: float = 0.5):
    return x @ w + (x @ down * scale) @ up


def reference(sizes):
    import torch

    b, d, k, r = (sizes[n] for n in "bdkr")

    def forward(x, w, down, up, scale=0.5):
        return x @ (w + scale * down @ up)  # merged, as for inference

    return forward, (torch.randn(b, d), torch.randn(d, k), torch.randn(d, r), torch.randn(r, k))


worked = sa.Worked(
    build=lora_linear,
    params=("w", "down", "up"),
    formulas={
        "flops": "2*b*d*k + 2*b*r*(d + k) + b*r + b*k",
        "matmul_flops": "2*b*d*k + 2*b*r*(d + k)",
        "params": "d*k + r*(d + k)",
    },
    reference=reference,
    tiny={"b": 3, "d": 5, "k": 7, "r": 4},
    note="r*(d + k) of the parameters are trained; merged into w they cost nothing",
)
