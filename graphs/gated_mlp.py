"""The gated MLP of Llama (SwiGLU): three matrices, and a gate that opens by SiLU."""

from __future__ import annotations

import symacct as sa


def gated_mlp(x: "b s d", gate: "d f", up: "d f", down: "f d"):
    return (sa.silu(x @ gate) * (x @ up)) @ down


def reference(sizes):
    import torch

    b, s, d, f = (sizes[n] for n in "bsdf")

    def forward(x, gate, up, down):
        both = torch.nn.functional.linear(x, torch.cat([gate, up], dim=1).T)
        opened, value = both.chunk(2, dim=-1)
        return torch.nn.functional.linear(torch.nn.functional.silu(opened) * value, down.T)

    return forward, (torch.randn(b, s, d), torch.randn(d, f), torch.randn(d, f), torch.randn(f, d))


worked = sa.Worked(
    build=gated_mlp,
    params=("gate", "up", "down"),
    formulas={"flops": "6*b*s*d*f + 3*b*s*f", "matmul_flops": "6*b*s*d*f", "params": "3*d*f"},
    reference=reference,
    tiny={"b": 2, "s": 3, "d": 5, "f": 7},
    note="half as much again as two matrices of the same width; at f = 8*d/3 it costs what 4*d costs there",
)
