"""The peak of a step under `amp` against worked graphs that run under torch's autocast: it has at least that alive."""

from __future__ import annotations

import pytest

from verify.rooms.worked import WORKED

torch = pytest.importorskip("torch")

MORE = {"mlp": 0.07, "gated_mlp": 0.14, "cross_attention": 0.02, "lora_linear": 0.06}
"""By what share torch may have more alive: gradients until they are cast, results that autocast leaves in fp32."""
REPEATED = ("deep_network", "transformer", "mixture_of_experts", "lstm")
"""Their weights are stacked: torch fills a whole stack with the gradient of each slice, so only the least is asked."""


@pytest.mark.claim("S17")
@pytest.mark.parametrize("name", [*MORE, *REPEATED])
def test_the_peak_of_worked_graphs(name):
    """What is left open is less than lies between `amp` and any other policy."""
    from symacct.eager.inputs import random_input
    from verify.meter import Meter

    worked = WORKED[name]
    training = worked.account().training(policy="amp")
    sizes, graph = dict(worked.tiny), training.account.graph
    generator = torch.Generator().manual_seed(0)
    given = []
    for i in worked.account().graph.inputs:
        t = random_input(graph, i, sizes, "fp32", generator)
        narrow = t.is_floating_point() and graph.tensors[i].role != "param"
        given.append((t.bfloat16() if narrow else t).requires_grad_(i in training.gradients))
    with Meter(given) as meter:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = worked.build(*given, **{n: sizes.get(v, v) for n, v in worked.values.items()})
        outs = [t for t in (out if isinstance(out, tuple) else (out,)) if t.requires_grad]
        torch.autograd.backward(outs, [torch.ones_like(t) for t in outs])
    theirs = meter.peak + sum(t.nbytes for t in given)
    ours = int(training.memory.at(sizes=sizes).peak)
    assert ours <= theirs
    if name in MORE:
        assert theirs <= ours * (1 + MORE[name])
    gradients = sum(t.grad.nbytes for t in given if t.grad is not None)
    assert int(training.memory.timeline(sizes=sizes).roles["gradients"][-1]) == gradients
