"""GELU: 20 operations an element in the lecture's weights, and no more traffic than ReLU."""

from __future__ import annotations

import symacct as sa


def gelu(x: "n"):
    return sa.gelu(x, approximate="tanh")


def reference(sizes):
    import math

    import torch

    def formula(x):
        return x / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    return formula, (torch.randn(sizes["n"]),)


worked = sa.Worked(
    build=gelu,
    formulas={"flops": "20*n", "matmul_flops": "0", "params": "0", "bytes": "4*n"},
    claims=("S45",),
    reference=reference,
    tiny={"n": 7},
    note="5 operations a byte in bf16: still far below what an accelerator needs",
)
