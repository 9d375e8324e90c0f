"""A GRU over s steps: two gates and a candidate, from the input and from the last state; all states are returned."""

from __future__ import annotations

import einops

import symacct as sa


@sa.scope
def cell(hidden, x, weights):
    w_input, w_hidden, b_input, b_hidden = weights
    reset, update, candidate = sa.chunk(x @ w_input.T + b_input, 3, axis=-1)
    by_reset, by_update, by_candidate = sa.chunk(hidden @ w_hidden.T + b_hidden, 3, axis=-1)
    update = sa.sigmoid(update + by_update)
    candidate = sa.tanh(candidate + sa.sigmoid(reset + by_reset) * by_candidate)
    hidden = (1 - update) * candidate + update * hidden
    return hidden, hidden


def gru(x: "b s d", hidden: "b h", w_input: "3*h d", w_hidden: "3*h h", b_input: "3*h", b_hidden: "3*h"):
    steps = einops.rearrange(x, "b s d -> s b d")
    weights = (w_input, w_hidden, b_input, b_hidden)
    last, states = sa.repeat("s", cell, hidden, xs=steps, consts=weights, collect=True)
    return einops.rearrange(states, "s b h -> b s h"), last


def reference(sizes):
    import torch

    b, s, d, h = (sizes[n] for n in "bsdh")

    def forward(x, hidden, *weights):
        module = torch.nn.GRU(d, h, batch_first=True, dtype=x.dtype)
        named = dict(zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), weights, strict=True))
        states, last = torch.func.functional_call(module, named, (x, hidden[None]))
        return states, last[0]

    shapes = ((3 * h, d), (3 * h, h), (3 * h,), (3 * h,))
    return forward, (torch.randn(b, s, d), torch.randn(b, h), *(torch.randn(shape) for shape in shapes))


worked = sa.Worked(
    build=gru,
    params=("w_input", "w_hidden", "b_input", "b_hidden"),
    formulas={
        "flops": "s*(6*b*h*(d + h) + 17*b*h)",
        "matmul_flops": "6*b*s*h*(d + h)",
        "params": "3*h*(d + h) + 6*h",
    },
    reference=reference,
    tiny={"b": 2, "s": 5, "d": 7, "h": 3},
    note="three quarters of an LSTM of the same width",
)
