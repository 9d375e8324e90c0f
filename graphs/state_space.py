"""A selective state space layer (Mamba): e channels with n states each, which pass along the sequence one by one.

From u after a short causal convolution come the step sizes (through r numbers), inputs and outputs of the states:
``h_t = exp(step*a)*h_(t-1) + step*u*inputs`` and ``y = outputs*h + skip*u``, times a gate.
"""

from __future__ import annotations

import einops

import symacct as sa


@sa.scope
def convolution(u, taps):
    steps = einops.rearrange(u, "b s e -> b e s")
    out = sa.conv1d(sa.pad(steps, (taps.shape[-1] - 1, 0)), taps, groups=u.shape[-1])
    return sa.silu(einops.rearrange(out, "b e s -> b s e"))


@sa.scope
def scan(u, step, inputs, outputs, log_a, state):
    decay = sa.exp(step[..., None] * -sa.exp(log_a))
    driven = (step * u)[..., None] * inputs[:, :, None]
    states = sa.linear_recurrence(decay, driven, axis=1, initial=state)
    return einops.einsum(states, outputs, "b s e n, b s n -> b s e")


def state_space(
    x: "b s d",
    state: "b e n",
    w_in: "d 2*e",
    taps: "e 1 w",
    w_step: "e r",
    w_inputs: "e n",
    w_outputs: "e n",
    steps: "r e",
    steps_bias: "e",
    log_a: "e n",
    skip: "e",
    w_out: "e d",
):
    u, gate = sa.chunk(x @ w_in, 2, axis=-1)
    u = convolution(u, taps)
    step = sa.log(1 + sa.exp((u @ w_step) @ steps + steps_bias))
    y = scan(u, step, u @ w_inputs, u @ w_outputs, log_a, state) + skip * u
    return (y * sa.silu(gate)) @ w_out


def reference(sizes):
    import torch
    from torch.nn.functional import conv1d, pad, silu, softplus

    b, s, d, e, n, w, r = (sizes[i] for i in "bsdenwr")

    def forward(x, h, w_in, taps, w_step, w_inputs, w_outputs, steps, steps_bias, log_a, skip, w_out):
        u, gate = (x @ w_in[:, :e]), (x @ w_in[:, e:])
        u = silu(conv1d(pad(u.mT, (w - 1, 0)), taps, groups=e).mT)
        step = softplus(u @ w_step @ steps + steps_bias)
        out = []
        for t in range(s):  # one state after the other
            decay = torch.exp(torch.einsum("be,en->ben", step[:, t], -log_a.exp()))
            h = decay * h + torch.einsum("be,be,bn->ben", step[:, t], u[:, t], u[:, t] @ w_inputs)
            out.append(torch.einsum("ben,bn->be", h, u[:, t] @ w_outputs) + skip * u[:, t])
        return (torch.stack(out, dim=1) * silu(gate)) @ w_out

    shapes = ((d, 2 * e), (e, 1, w), (e, r), (e, n), (e, n), (r, e), (e,), (e, n), (e,), (e, d))
    weights = (torch.randn(shape) / 2 for shape in shapes)
    return forward, (torch.randn(b, s, d), torch.randn(b, e, n), *weights)


PRODUCTS = "6*b*s*d*e + 2*b*s*e*w + 4*b*s*e*r + 4*b*s*e*n + 2*b*s*e*n"
worked = sa.Worked(
    build=state_space,
    params=(
        *("w_in", "taps", "w_step", "w_inputs", "w_outputs", "steps"),
        *("steps_bias", "log_a", "skip", "w_out"),
    ),
    formulas={
        "flops": f"{PRODUCTS} + 5*b*s*e*n + 2*e*n + 12*b*s*e",
        "matmul_flops": PRODUCTS,
        "params": "3*d*e + e*w + 2*e*r + 3*e*n + 2*e",
    },
    reference=reference,
    tiny={"b": 2, "s": 5, "d": 7, "e": 11, "n": 3, "w": 4, "r": 6},
    note="the scan is 7*b*s*e*n, linear in s: decay, input, recurrence and output of every state",
)
