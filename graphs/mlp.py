"""The two-matrix MLP of GPT-2, with GELU."""

from __future__ import annotations

import symacct as sa


def mlp(x: "b s d", up: "d f", down: "f d"):
    return sa.gelu(x @ up, approximate="tanh") @ down


def reference(sizes):
    import torch

    x = torch.randn(sizes["b"], sizes["s"], sizes["d"])
    up, down = torch.randn(sizes["d"], sizes["f"]), torch.randn(sizes["f"], sizes["d"])
    return lambda x, up, down: torch.nn.functional.gelu(x @ up, approximate="tanh") @ down, (x, up, down)


worked = sa.Worked(
    build=mlp,
    params=("up", "down"),
    formulas={"flops": "4*b*s*d*f + 20*b*s*f", "matmul_flops": "4*b*s*d*f", "params": "2*d*f"},
    reference=reference,
    tiny={"b": 3, "s": 5, "d": 7, "f": 11},
    note="the hidden width f is 4*d in GPT-2",
)
