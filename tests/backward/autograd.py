"""The gradient graph of a function, run on real tensors, against torch's autograd on the same function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from symacct.backward import chosen_inputs, joint
from symacct.backward.needs import is_float
from symacct.eager.inputs import random_input
from symacct.graph import Graph, check
from symacct.rules import check_shapes


def gradients_agree(
    graph: Graph, sizes: Mapping[str, int], function: Callable[..., Any], wrt: Sequence[str] | None = None
) -> int:
    """Compare the outputs and every gradient, in fp64; return how many gradients there are."""
    names = chosen_inputs(graph, wrt)
    both = joint(graph, wrt)
    for part in (both.graph, *both.passes()):
        check(part)
        check_shapes(part)
    draw = torch.Generator().manual_seed(1)
    given = [random_input(graph, i, sizes, "fp64", draw) for i in graph.inputs]
    given = [t.abs() if graph.tensors[i].name == "var" else t for i, t in zip(graph.inputs, given, strict=True)]
    needs = [graph.tensors[i].name in names for i in graph.inputs]
    leaves = [t.clone().requires_grad_(need) for t, need in zip(given, needs, strict=True)]
    outputs = function(*leaves)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    over = [o for o in outputs if o.requires_grad]
    seeds = [torch.randn(o.shape, generator=draw, dtype=o.dtype) for o in over]
    wanted = [t for t in leaves if t.requires_grad]
    theirs = torch.autograd.grad(over, wanted, seeds, allow_unused=True)
    ran = both.graph.run(sizes, inputs=[*given, *seeds]).outputs
    torch.testing.assert_close(list(ran[: len(outputs)]), [o.detach() for o in outputs])
    ours = dict(zip(both.gradients, ran[len(outputs) :], strict=True))
    asked = [i for i, need in zip(graph.inputs, needs, strict=True) if need]
    for i, expected in zip(asked, theirs, strict=True):
        if expected is not None:
            torch.testing.assert_close(ours[i], expected)
        else:  # or zeros, where the branch that ran does not use it
            assert i not in ours or not ours[i].any(), graph.tensors[i].name
    return len(ours)


def floats(graph: Graph) -> list[str]:
    """Return the names of the inputs of floating-point numbers."""
    return [graph.tensors[i].name for i in graph.inputs if is_float(graph.tensors[i])]
