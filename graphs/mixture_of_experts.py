"""A mixture of experts (DeepSeek's form): every token goes to k of e gated MLPs, and all to one that is shared.

That each token has exactly k experts makes it b*s*k rows of work, whichever experts they go to. Each expert is read
once where it has a row. Time and memory go by the expert with most rows: that all have as many is stated.
Kept for the backward pass is what one kernel for all experts keeps; the loop of the reference keeps two indices a row
besides, 16*b*s*k bytes: of the token that it was, and of its weight.
"""

from __future__ import annotations

import einops

import symacct as sa


@sa.scope
def route(x, router, k):
    weights, experts = sa.top_k(sa.softmax(x @ router), k)
    return weights / weights.sum(-1, keepdim=True), experts


@sa.scope
def routed(x, weights, experts, gate, up, down):
    copies = einops.repeat(x, "b s d -> (b s k) d", k=experts.shape[-1])
    groups = einops.rearrange(experts, "b s k -> (b s k)")
    hidden = sa.silu(sa.grouped_matmul(copies, gate, groups)) * sa.grouped_matmul(copies, up, groups)
    out = sa.grouped_matmul(hidden, down, groups).reshape(*experts.shape, -1)
    return (out * weights[..., None]).sum(2)


@sa.scope
def shared(x, gate, up, down):
    return (sa.silu(x @ gate) * (x @ up)) @ down


def mixture_of_experts(
    x: "b s d",
    router: "d e",
    gate: "e d f",
    up: "e d f",
    down: "e f d",
    shared_gate: "d m",
    shared_up: "d m",
    shared_down: "m d",
    k: int,
):
    sa.condition("every expert gets b*s*k/e rows", like=x)
    weights, experts = route(x, router, k)
    return routed(x, weights, experts, gate, up, down) + shared(x, shared_gate, shared_up, shared_down)


def reference(sizes):
    import torch
    from torch.nn.functional import silu

    b, s, d, e, f, m, k = (sizes[n] for n in "bsdefmk")

    def forward(x, router, gate, up, down, shared_gate, shared_up, shared_down, k):
        tokens = x.flatten(0, 1)
        weights, experts = (tokens @ router).softmax(-1).topk(k, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = (silu(tokens @ shared_gate) * (tokens @ shared_up)) @ shared_down
        for i in range(router.shape[1]):  # each expert and the tokens that come to it
            rows, slots = torch.nonzero(experts == i, as_tuple=True)
            mine = tokens[rows]
            y = (silu(mine @ gate[i]) * (mine @ up[i])) @ down[i]
            out = out.index_put((rows,), y * weights[rows, slots, None], accumulate=True)
        return out.unflatten(0, x.shape[:2])

    shapes = ((d, e), (e, d, f), (e, d, f), (e, f, d), (d, m), (d, m), (m, d))
    return forward, (torch.randn(b, s, d), *(torch.randn(shape) for shape in shapes), k)


worked = sa.Worked(
    build=mixture_of_experts,
    params=("router", "gate", "up", "down", "shared_gate", "shared_up", "shared_down"),
    formulas={
        "flops": ("2*b*s*d*e + 6*b*s*k*d*f + 6*b*s*d*m + 6*b*s*e + 2*b*s*k + 3*b*s*k*f + 2*b*s*k*d + 3*b*s*m + b*s*d"),
        "matmul_flops": "2*b*s*d*e + 6*b*s*k*d*f + 6*b*s*d*m",
        "params": "d*e + 3*e*d*f + 3*d*m",
    },
    reference=reference,
    values={"k": "k"},
    tiny={"b": 2, "s": 3, "d": 5, "e": 7, "f": 11, "m": 13, "k": 4},
    note="parameters grow with e, operations with k: each token is k tokens of expert work",
)
