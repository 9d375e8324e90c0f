"""ReLU: one comparison an element, read once and written once."""

from __future__ import annotations

import symacct as sa


def relu(x: "n"):
    return sa.relu(x)


def reference(sizes):
    import torch

    return lambda x: x.clamp(min=0), (torch.randn(sizes["n"]),)


worked = sa.Worked(
    build=relu,
    formulas={"flops": "n", "matmul_flops": "0", "params": "0", "bytes": "4*n"},
    claims=("S33", "S40", "S44"),
    reference=reference,
    tiny={"n": 7},
    note="1/4 operation a byte in bf16, whatever n is",
)
