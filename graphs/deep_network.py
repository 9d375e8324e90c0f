"""The lecture's deep network: L blocks of a square linear layer and ReLU."""

from __future__ import annotations

import symacct as sa


@sa.scope
def block(x, w):
    return sa.relu(x @ w)


def deep_network(x: "b d", weights: "L d d"):
    return sa.repeat("L", block, x, xs=weights)


def reference(sizes):
    import torch

    def forward(x, weights):
        for w in weights:
            x = torch.nn.functional.relu(torch.einsum("bi,io->bo", x, w))
        return x

    b, d, layers = sizes["b"], sizes["d"], sizes["L"]
    return forward, (torch.randn(b, d), torch.randn(layers, d, d) / d**0.5)


worked = sa.Worked(
    build=deep_network,
    params=("weights",),
    formulas={
        "flops": "L*(2*b*d^2 + b*d)",
        "matmul_flops": "2*L*b*d^2",
        "params": "L*d^2",
        "bytes": "L*(2*d^2 + 8*b*d)",
    },
    claims=("S52", "S54", "S64"),
    reference=reference,
    tiny={"b": 3, "d": 5, "L": 4},
    note="forward is 2 x rows x parameters; inference holds one activation whatever L is",
)
