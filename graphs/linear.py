"""A linear layer with a bias: twice rows times weights, and an add an output."""

from __future__ import annotations

import symacct as sa


def linear(x: "b d", w: "d k", bias: "k"):
    return x @ w + bias


def reference(sizes):
    import torch

    b, d, k = (sizes[n] for n in "bdk")
    inputs = (torch.randn(b, d), torch.randn(d, k), torch.randn(k))
    return lambda x, w, bias: torch.nn.functional.linear(x, w.T, bias), inputs


worked = sa.Worked(
    build=linear,
    params=("w", "bias"),
    formulas={"flops": "2*b*d*k + b*k", "matmul_flops": "2*b*d*k", "params": "d*k + k"},
    claims=("S31", "S32"),
    reference=reference,
    tiny={"b": 3, "d": 5, "k": 7},
    note="2 x rows x parameters of the matrix",
)
