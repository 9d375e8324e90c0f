"""The dot product of two vectors: 2n - 1 operations where exact, 2n in pairs."""

from __future__ import annotations

import einops

import symacct as sa


def dot(x: "n", y: "n"):
    return einops.einsum(x, y, "n, n ->")


def reference(sizes):
    import torch

    return torch.dot, (torch.randn(sizes["n"]), torch.randn(sizes["n"]))


worked = sa.Worked(
    build=dot,
    formulas={"flops": "2*n", "matmul_flops": "2*n", "params": "0", "bytes": "4*n + 2"},
    claims=("S46",),
    reference=reference,
    tiny={"n": 7},
    note="half an operation a byte as n grows: memory bound",
)
