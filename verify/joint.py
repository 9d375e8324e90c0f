"""The gradient graph of a whole function, run, against torch's autograd of the same function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from symacct.backward import joint
from symacct.graph import Graph


def gradients_agree_with(
    graph: Graph, sizes: Any, function: Callable[..., Any], given: Sequence[Any], wrt: Sequence[str]
) -> None:
    import torch

    made = function(*given)
    outputs = made if isinstance(made, tuple) else (made,)
    over = [o for o in outputs if o.requires_grad]
    draw = torch.Generator().manual_seed(2)
    seeds = [torch.randn(o.shape, generator=draw, dtype=o.dtype) for o in over]
    leaves = [t for t in given if t.requires_grad]
    theirs = torch.autograd.grad(over, leaves, seeds, allow_unused=True)
    both = joint(graph, wrt)
    ran = both.graph.run(sizes, inputs=[*(t.detach() for t in given), *seeds]).outputs
    torch.testing.assert_close(list(ran[: len(outputs)]), [o.detach() for o in outputs])
    ours = dict(zip(both.gradients, ran[len(outputs) :], strict=True))
    asked = [i for i, t in zip(graph.inputs, given, strict=True) if t.requires_grad]
    for i, expected in zip(asked, theirs, strict=True):
        torch.testing.assert_close(ours[i], torch.zeros_like(ours[i]) if expected is None else expected)
