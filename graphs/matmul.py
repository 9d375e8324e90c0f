"""A matrix times a matrix: m*n*k multiplies and as many adds."""

from __future__ import annotations

import einops

import symacct as sa


def matmul(a: "m k", b: "k n"):
    return einops.einsum(a, b, "m k, k n -> m n")


def reference(sizes):
    import torch

    return torch.matmul, (torch.randn(sizes["m"], sizes["k"]), torch.randn(sizes["k"], sizes["n"]))


worked = sa.Worked(
    build=matmul,
    formulas={
        "flops": "2*m*n*k",
        "matmul_flops": "2*m*n*k",
        "params": "0",
        "bytes": "2*m*k + 2*k*n + 2*m*n",
    },
    claims=("S48", "S49"),
    reference=reference,
    tiny={"m": 3, "k": 5, "n": 7},
    note="with all sizes n: 6*n^2 bytes for 2*n^3 operations, an intensity of n/3",
)
