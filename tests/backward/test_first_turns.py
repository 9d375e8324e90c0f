"""First turns that lay their carry out otherwise: copied and kept as in the loop written out, and as by torch."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.backward import joint
from symacct.errors import GraphError
from symacct.expr import evaluate
from symacct.graph import check
from symacct.rules import check_shapes

BODIES = {
    "what is copied to be laid out is kept": lambda h, w: (sa.gelu(h.reshape(-1)).reshape(*h.shape) @ w).T,
    "beside the carry itself": lambda h, w: (sa.gelu(h.reshape(-1)).reshape(*h.shape) @ w).T * h,
    "and where the carry is kept as it lies": lambda h, w: ((h * h) @ w + sa.gelu(h.reshape(-1)).reshape(*h.shape)).T,
    "a copy that the first turn does without": lambda h, w: ((h * h) @ w + sa.gelu(sa.contiguous(h))).T,
    "a result that is kept": lambda h, w: (sa.relu(h.reshape(-1)).reshape(*h.shape) @ w).T,
}


def repeat_and_loop(body, times):
    def repeat(x: "n n", w: "L n n"):
        return sa.repeat("L", body, x, xs=w)

    def loop(x: "n n", w: "L n n"):
        for i in range(times):
            x = body(x, w[i])
        return x

    return repeat, loop


@pytest.mark.parametrize("layout", ["ideal", "torch"])
@pytest.mark.parametrize("what", BODIES)
def test_a_step_moves_and_keeps_what_the_loop_does(what, layout):
    """Forward; going back, a slice of what is stacked is put among zeros where it is written out."""
    for times in (1, 2, 3, 5):
        repeat, loop = repeat_and_loop(BODIES[what], times)
        sizes = {"n": 4, "L": times}
        named = sa.account(repeat, params=["w"], layout=layout, dtype="fp32")
        written = sa.account(loop, params=["w"], layout=layout, dtype="fp32", sizes={"L": times})
        step = named.training()
        check(step.total.graph)
        check_shapes(step.total.graph)
        moved = {evaluate(a.total("bytes"), sizes) for a in (named, step.forward, written, written.training().forward)}
        assert len(moved) == 1
        kept = {evaluate(a.residuals().total("numel"), sizes) for a in (named, written)}
        assert len(kept) == 1


@pytest.mark.parametrize("what", BODIES)
def test_what_is_kept_is_what_torch_keeps(what):
    torch = pytest.importorskip("torch")
    from verify.autograd import saved_bytes

    repeat, _ = repeat_and_loop(BODIES[what], 3)
    x, weights = torch.randn(4, 4), [torch.randn(4, 4, requires_grad=True) for _ in range(3)]

    def run():
        made = x
        for w in weights:
            made = BODIES[what](made, w)
        return made

    saved = saved_bytes(run) - 16 * 4 * (len(weights) - 1)  # for the gradient of the carry, which the first has not
    named = sa.account(repeat, params=["w"], layout="torch", dtype="fp32")
    assert named.residuals().at(n=4, L=3).value == saved


def test_first_turns_of_other_operations_are_refused():
    def network(x: "n n", w: "L n n"):
        return sa.repeat("L", BODIES["a result that is kept"], x, xs=w)

    graph = sa.account(network, params=["w"]).graph
    (op,) = graph.ops
    (first,) = op.attrs["first"]
    other = first._replace(ops=first.ops[:-1], tensors=first.tensors[:-1], outputs=(first.tensors[-2].id,))
    changed = graph._replace(ops=(op._replace(attrs={**op.attrs, "first": (other,)}),))
    with pytest.raises(GraphError, match="first turns do something else"):
        joint(changed)
