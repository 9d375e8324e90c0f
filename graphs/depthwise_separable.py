"""A depthwise convolution of 3 by 3 taps and a pointwise one (MobileNet), each with ReLU."""

from __future__ import annotations

import symacct as sa


def depthwise_separable(x: "b c h w", depthwise: "c 1 3 3", pointwise: "o c 1 1"):
    x = sa.relu(sa.conv2d(x, depthwise, padding=1, groups=x.shape[1]))
    return sa.relu(sa.conv2d(x, pointwise))


def reference(sizes):
    import torch

    b, c, h, w, o = (sizes[n] for n in "bchwo")

    def forward(x, depthwise, pointwise):
        channels = [
            torch.nn.functional.conv2d(x[:, i : i + 1], depthwise[i : i + 1], padding="same") for i in range(x.shape[1])
        ]
        hidden = torch.cat(channels, dim=1).relu()
        return torch.einsum("bchw,oc->bohw", hidden, pointwise[:, :, 0, 0]).relu()

    return forward, (torch.randn(b, c, h, w), torch.randn(c, 1, 3, 3), torch.randn(o, c, 1, 1))


worked = sa.Worked(
    build=depthwise_separable,
    params=("depthwise", "pointwise"),
    formulas={
        "flops": "18*b*c*h*w + 2*b*c*o*h*w + b*c*h*w + b*o*h*w",
        "matmul_flops": "18*b*c*h*w + 2*b*c*o*h*w",
        "params": "9*c + c*o",
    },
    reference=reference,
    tiny={"b": 2, "c": 3, "h": 5, "w": 7, "o": 4},
    note="9 + o instead of 9*o multiplies an input element",
)
