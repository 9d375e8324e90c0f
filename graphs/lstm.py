"""An LSTM over s steps: four gates, each from the input and from the last hidden state; all states are returned."""

from __future__ import annotations

import einops

import symacct as sa


@sa.scope
def cell(state, x, weights):
    hidden, memory = state
    w_input, w_hidden, b_input, b_hidden = weights
    gates = (x @ w_input.T + b_input) + (hidden @ w_hidden.T + b_hidden)
    keep_in, forget, candidate, out = sa.chunk(gates, 4, axis=-1)
    memory = sa.sigmoid(forget) * memory + sa.sigmoid(keep_in) * sa.tanh(candidate)
    hidden = sa.sigmoid(out) * sa.tanh(memory)
    return (hidden, memory), hidden


def lstm(
    x: "b s d",
    hidden: "b h",
    memory: "b h",
    w_input: "4*h d",
    w_hidden: "4*h h",
    b_input: "4*h",
    b_hidden: "4*h",
):
    steps = einops.rearrange(x, "b s d -> s b d")
    weights = (w_input, w_hidden, b_input, b_hidden)
    last, states = sa.repeat("s", cell, (hidden, memory), xs=steps, consts=weights, collect=True)
    return einops.rearrange(states, "s b h -> b s h"), *last


def reference(sizes):
    import torch

    b, s, d, h = (sizes[n] for n in "bsdh")

    def forward(x, hidden, memory, *weights):
        module = torch.nn.LSTM(d, h, batch_first=True, dtype=x.dtype)
        named = dict(zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), weights, strict=True))
        states, last = torch.func.functional_call(module, named, (x, (hidden[None], memory[None])))
        return states, *(state[0] for state in last)

    shapes = ((4 * h, d), (4 * h, h), (4 * h,), (4 * h,))
    state = (torch.randn(b, h), torch.randn(b, h))
    return forward, (torch.randn(b, s, d), *state, *(torch.randn(shape) for shape in shapes))


worked = sa.Worked(
    build=lstm,
    params=("w_input", "w_hidden", "b_input", "b_hidden"),
    formulas={
        "flops": "s*(8*b*h*(d + h) + 21*b*h)",
        "matmul_flops": "8*b*s*h*(d + h)",
        "params": "4*h*(d + h) + 8*h",
    },
    reference=reference,
    tiny={"b": 2, "s": 5, "d": 7, "h": 3},
    note="the weights are read again at every step; torch's own counter says 0",
)
