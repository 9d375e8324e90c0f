"""A matrix times a vector: each element of the matrix is read for one multiply and one add."""

from __future__ import annotations

import symacct as sa


def matrix_vector(a: "m n", x: "n"):
    return a @ x


def reference(sizes):
    import torch

    a, x = torch.randn(sizes["m"], sizes["n"]), torch.randn(sizes["n"])
    return lambda a, x: (a * x).sum(1), (a, x)


worked = sa.Worked(
    build=matrix_vector,
    formulas={"flops": "2*m*n", "matmul_flops": "2*m*n", "params": "0", "bytes": "2*m*n + 2*m + 2*n"},
    claims=("S47",),
    reference=reference,
    tiny={"m": 3, "n": 5},
    note="one operation a byte as m and n grow: what makes decoding memory bound",
)
