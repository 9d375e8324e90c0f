"""What repeats collect: shapes, bytes as in a loop in Python, and what has to be copied."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import GraphError
from symacct.expr import name, read
from symacct.graph import check
from symacct.rules import check_shapes

B, D = name("b"), name("d")


def account(fn, **options):
    made = sa.account(fn, **options)
    check(made.graph)
    check_shapes(made.graph)
    return made


def states(x: "s b d", h: "b d", w: "d d"):
    def step(h, x, w):
        h = sa.tanh(x + h @ w)
        return h, h

    return sa.repeat("s", step, h, xs=x, consts=w, collect=True)


def written(x: "s b d", h: "b d", w: "d d"):
    made = []
    for i in range(5):
        h = sa.tanh(x[i] + h @ w)
        made.append(h)
    return h, sa.stack(made)


@pytest.mark.parametrize(("layout", "stacked_again"), [("torch", 0), ("ideal", 2)])
def test_what_is_collected_is_written_in_its_place_and_torch_stacks_it(layout, stacked_again):
    """A stack reads and writes s*b*d elements of 2 bytes."""
    ours, loop = account(states, s=5, layout=layout), account(written, s=5, layout=layout)
    assert ours.total("flops") == loop.total("flops") == 5 * (2 * B * D * D + 2 * B * D)
    assert ours.total("bytes") == loop.total("bytes") - stacked_again * 2 * 5 * B * D
    by_hand = read("s*(2*(2*b*d + d*d) + 6*b*d + 4*b*d)")
    assert account(states).total("bytes") == by_hand
    shapes = [ours.graph.tensors[i].shape for i in ours.graph.outputs]
    assert shapes == [(B, D), (5, B, D)]


@pytest.mark.parametrize(
    ("pick", "elements", "own"),
    [
        pytest.param(lambda h, _x: h, 0, 0, id="made"),
        pytest.param(lambda h, _x: h.T, 0, 0, id="made, looked at otherwise"),
        pytest.param(lambda _h, x: x, B * D, 0, id="given"),
        pytest.param(lambda h, _x: h[:, :1], B, 0, id="a part of what is made"),
        pytest.param(lambda h, _x: (h, h), B * D, 0, id="twice"),
        pytest.param(lambda h, x: {"a": h, "b": x.T, "c": h + 1}, B * D, 4 * B * D, id="in a tree"),
    ],
)
def test_what_an_iteration_did_not_make_is_copied(pick, elements, own):
    """Each element is read and written once more, 4 bytes; by torch all of it is. `own` is what `pick` moves."""

    def fn(x: "s b d", h: "b d"):
        def step(h, x):
            h = h + x
            return h, pick(h, x)

        return sa.repeat("s", step, h, xs=x, collect=True)

    s = name("s")
    made = account(fn)
    assert made.total("bytes") == s * (6 * B * D + own + 4 * elements)
    (op,) = made.graph.ops
    collected = sum((made.graph.tensors[i].numel for i in op.outputs[1:]), 0)
    assert account(fn, layout="torch").total("bytes") == s * (6 * B * D + own) + 4 * collected


def test_collecting_nests_and_needs_no_carry():
    def table(x: "n m d"):
        inner = lambda row: sa.repeat("m", lambda _, v: ((), sa.exp(v)), (), xs=row, collect=True)[1]  # noqa: E731
        return sa.repeat("n", lambda _, row: ((), inner(row)), (), xs=x, collect=True)

    made = account(table)
    ((_, stacked),) = [((), made.graph.tensors[made.graph.outputs[0]])]
    assert stacked.shape == (name("n"), name("m"), D)
    assert made.total("flops") == read("n*m*d")
    assert made.total("bytes") == read("4*n*m*d")


REFUSED = {
    "no pair": (lambda h, w: h @ w, "with collect=True a body returns a pair, the next carry and what it made"),
    "nothing collected": (lambda h, w: (h @ w, ()), "with collect=True a body returns a pair"),
    "a number": (lambda h, w: (h @ w, 3), "the body must return tensors that it made"),
}


@pytest.mark.parametrize(("body", "said"), REFUSED.values(), ids=REFUSED)
def test_bodies_that_collect_nothing_are_refused_with_the_line(body, said):
    with pytest.raises(GraphError, match=said) as caught:
        sa.account(lambda x, w: sa.repeat("L", body, x, xs=w, collect=True), x="b d", w="L d d")
    assert "test_collect.py:" in str(caught.value)
