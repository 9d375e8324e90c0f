"""First turns of a repeat that lay their carry out otherwise: as a loop in Python, with torch's copies."""

from __future__ import annotations

import einops
import pytest

import symacct as sa
from symacct.expr import substitute
from symacct.graph import Graph, check
from symacct.rules import check_shapes


def body(h, w):
    """Copies its carry where that is not laid out as rows."""
    return einops.einsum(h, w, "b s d, d k -> b s k").reshape(-1, h.shape[-1]).reshape(*h.shape)


def repeated(n):
    def network(x: "s b d", w: "d d"):
        return sa.repeat(n, body, einops.rearrange(x, "s b d -> b s d"), consts=w)

    return network


def looped(n):
    def network(x: "s b d", w: "d d"):
        h = einops.rearrange(x, "s b d -> b s d")
        for _ in range(n):
            h = body(h, w)
        return h

    return network


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize("layout", ["ideal", "torch"])
def test_a_first_turn_copies_what_the_others_do_not(n, layout):
    loop = sa.account(looped(n), layout=layout)
    for made in (sa.account(repeated(n), layout=layout), sa.account(repeated("L"), layout=layout)):
        check(made.graph)
        check_shapes(made.graph)
        assert Graph.from_json(made.graph.to_json()) == made.graph
        for quantity in ("flops", "bytes"):
            assert substitute(made.total(quantity), {"L": n}) == loop.total(quantity)


def test_it_is_one_copy_by_hand():
    gap = sa.account(repeated("L"), layout="torch").bytes - sa.account(repeated("L")).bytes
    assert sa.same(gap, "2*2*b*s*d")
    (op,) = (op for op in sa.account(repeated("L")).graph.ops if op.kind == "repeat")
    assert [str(times) for _, times in op.bodies] == ["1", "L - 1"]
    rows = sa.account(lambda x, w: sa.repeat("L", body, x, consts=w), x="b s d", w="d d").graph.ops[0]
    assert len(rows.bodies) == 1, "where the carry comes as it stays, there is one body"


def test_bytes_values_and_gradients_are_those_of_torch():
    torch = pytest.importorskip("torch")
    from verify.kernels import bytes_moved

    x, w = torch.randn(3, 2, 4), torch.randn(4, 4)
    made = sa.account(repeated(5), layout="torch", dtype="fp32", s=3, b=2, d=4)
    assert made.bytes == bytes_moved(looped(5), x, w) - 3 * 4 * 2 * 2 * 3 * 4 * 0 or made.bytes == bytes_moved(
        looped(5), x, w
    )
    (out,) = made.graph.run({}, inputs=[x, w]).outputs
    torch.testing.assert_close(out, looped(5)(x, w))
    step = sa.account(repeated("L")).training(wrt=["x", "w"])
    assert sa.same(step.matmul_flops, "6*L*b*s*d**2")
    check(step.total.graph)


def test_a_carry_that_never_settles_is_said():
    def swapping(x: "n n", y: "n n"):
        return sa.repeat("L", lambda c: (c[1] + 1, c[0].T + 1), (x.T, y))

    made = sa.account(swapping)
    check(made.graph)
    said = "lays its carry out otherwise in every turn"
    assert (said in str(made)) == (len(made.graph.ops[-1].bodies) == 1)
