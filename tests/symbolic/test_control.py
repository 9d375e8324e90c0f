"""Repeats: counts, trees, strides, rule evaluations, and what is refused."""

from __future__ import annotations

import dataclasses
from collections import Counter

import einops
import pytest

import symacct as sa
from symacct.errors import GraphError, ShapeError, SizeError
from symacct.expr import name, read, substitute
from symacct.graph import check
from symacct.rules import RULES, check_shapes

B, D, L = name("b"), name("d"), name("L")


def account(fn, **options):
    made = sa.account(fn, **options)
    check(made.graph)
    check_shapes(made.graph)
    return made


# -- repeat ------------------------------------------------------------------------------------------------------------


def test_a_loop_of_ten_costs_ten_bodies():
    def loop(x: "b d", w: "d d"):
        return sa.repeat(10, lambda h, w: sa.relu(h @ w), x, consts=w)

    def body(x: "b d", w: "d d"):
        return sa.relu(x @ w)

    whole, once = account(loop), account(body)
    for quantity in ("flops", "matmul_flops", "bytes"):
        assert whole.total(quantity) == 10 * once.total(quantity)


def attention_block(h, w, norm, heads):
    x = sa.layer_norm(h, h.shape[-1], norm)
    qkv = einops.rearrange(x @ w, "b s (three h k) -> three b h s k", three=3, h=heads)
    scores = einops.einsum(qkv[0], qkv[1], "b h s k, b h t k -> b h s t") / 8
    mixed = einops.einsum(sa.softmax(scores), qkv[2], "b h s t, b h t k -> b h s k")
    return h + einops.rearrange(mixed, "b h s k -> b s (h k)")


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("options", [{}, {"convention": "exact"}, {"layout": "torch"}])
def test_repeated_totals_are_those_of_a_loop_in_python(n, options):
    def repeated(x: "b s h*k", w: "L h*k 3*h*k", norm: "L h*k", h: int):
        return sa.repeat("L", lambda c, p: attention_block(c, *p, h), x, xs=(w, norm))

    def looped(x: "b s h*k", w: "n h*k 3*h*k", norm: "n h*k", h: int):
        for i in range(n):
            x = attention_block(x, w[i], norm[i], h)
        return x

    symbolic, other = account(repeated, **options), account(looped, n=n, **options)
    at_n = account(repeated, L=n, **options)
    for quantity in ("flops", "matmul_flops", "bytes"):
        written_out = other.total(quantity)
        assert at_n.total(quantity) == written_out
        assert substitute(symbolic.total(quantity), {"L": n}) == written_out


@pytest.fixture
def asked(monkeypatch):
    """How often rules are asked, by what is asked."""
    calls: Counter[str] = Counter()

    def counting(what, ask):
        def counted(*args):
            calls[what] += 1
            return ask(*args)

        return counted

    for kind, rule in list(RULES.items()):
        counted = {what: counting(what, getattr(rule, what)) for what in ("shape", "work", "reads", "writes")}
        monkeypatch.setitem(RULES, kind, dataclasses.replace(rule, **counted))
    return calls


@pytest.mark.parametrize("layers", [1, 2, 12, 96, "L"])
def test_a_repeat_takes_as_many_rule_evaluations_as_one_layer(layers, asked):
    """And the shape of the repeat itself."""

    def model(x: "b s h*k", w: "L h*k 3*h*k", norm: "L h*k", h: int):
        return sa.repeat("L", lambda c, p: attention_block(c, *p, h), x, xs=(w, norm))

    def layer(x: "b s h*k", w: "h*k 3*h*k", norm: "h*k", h: int):
        return attention_block(x, w, norm, h)

    counts = []
    for fn, sizes in ((layer, {}), (model, {"L": layers})):
        made = sa.account(fn, **sizes)
        assert made.total("flops") != made.total("bytes")
        counts.append(dict(asked))
        asked.clear()
    one, whole = counts
    assert whole == {**one, "shape": one["shape"] + 1}
    assert one["work"] >= 10


def test_alike_operations_of_a_loop_in_python_are_asked_about_once(asked):
    def deep(x: "b d", w: "d d"):
        for _ in range(200):
            x = sa.relu(x @ w)
        return x

    made = sa.account(deep)
    assert made.total("flops") == 200 * (2 * B * D * D + B * D)
    assert asked == {"shape": 2, "work": 2}
    assert made.total("bytes") == 200 * (2 * (B * D + D * D + B * D) + 4 * B * D)
    assert asked == {"shape": 2, "work": 4, "reads": 2, "writes": 2}
    assert len(made.steps) == 400
    assert sum((s.bytes for s in made.steps), 0) == made.total("bytes")


def test_repeats_nest_with_names_for_both_counts():
    def network(x: "b d", w: "L M d d"):
        return sa.repeat("L", lambda h, ws: sa.repeat("M", lambda h, w: h @ w, h, xs=ws), x, xs=w)

    made = account(network)
    assert made.total("flops") == read("2*L*M*b*d**2")
    assert made.total("bytes") == read("2*L*M*(2*b*d + d**2)")
    assert account(network, L=3, M="2*L").total("flops") == read("12*L*b*d**2")
    assert made.names == ("L", "M", "b", "d")


def test_the_count_may_be_an_expression_or_a_size_of_a_tensor():
    def halves(x: "b d"):
        return sa.repeat("d/2", lambda h: h + 1, x)

    def by_shape(x: "b d", w: "n d d"):
        return sa.repeat(w.shape[0], lambda h, w: h @ w, x, xs=w)

    made = account(halves)
    assert made.total("flops") == read("b*d**2/2")
    assert [str(c) for c in made.conditions] == ["2 divides d"]
    assert account(halves, d=6).total("flops") == 18 * B
    with pytest.raises(SizeError, match=r"n = d/2 is 7/2 at these sizes"):
        account(halves, d=7)
    assert account(by_shape).total("flops") == read("2*n*b*d**2")
    assert account(by_shape, n=4).total("flops") == read("8*b*d**2")


def test_a_count_that_only_a_repeat_has_can_be_put_in():
    def same(x: "b"):
        return sa.repeat("steps", lambda h: h * 2, x)

    assert account(same).names == ("b", "steps")
    assert account(same, steps=7).total("flops") == 7 * B
    with pytest.raises(sa.SymacctError, match=r"there is no size 'step' in the shapes; known: b, steps. Did you mean"):
        account(same, step=7)


def test_a_body_gets_and_returns_trees_of_tensors():
    def lstm_like(x: "t b d", h: "b d", c: "b d", w: "d d", *, u: "d d", v: "d"):
        def step(state, inputs, weights):
            gate = sa.sigmoid(inputs["x"] @ weights[0] + state["h"] @ weights[1][0])
            c = state["c"] * gate
            return {"c": c + weights[1][1], "h": sa.tanh(c)}  # keys in another order

        return sa.repeat("t", step, {"h": h, "c": c}, xs={"x": x}, consts=(w, [u, v]))

    made = account(lstm_like)
    (op,) = made.graph.ops
    assert [made.graph.tensors[i].name for i in op.inputs] == ["h", "c", "x", "w", "u", "v"]
    body = op.attrs["body"]
    makers = {i: o.kind for o in body.ops for i in o.outputs}
    assert [makers[i] for i in body.outputs] == ["tanh", "add"], "h stays h and c stays c"
    assert made.total("matmul_flops") == read("4*t*b*d**2")


def test_tied_weights_are_constants_and_their_strides_count():
    """One weight in every iteration; transposed, it is read as it lies, as in a loop written out."""

    def tied(x: "b d", w: "d d"):
        return sa.repeat(3, lambda h, w: einops.einsum(h, w, "b d, d k -> b k") @ w, x, consts=w.T)

    def written(x: "b d", w: "d d"):
        for _ in range(3):
            x = einops.einsum(x, w.T, "b d, d k -> b k") @ w.T
        return x

    for layout in ("ideal", "torch"):
        assert account(tied, layout=layout).total("bytes") == account(written, layout=layout).total("bytes")
    inner = account(tied).graph.ops[-1].attrs["body"]
    assert inner.tensors[inner.inputs[1]].strides == (1, D)


def test_a_stacked_parameter_keeps_its_strides():
    def stacked(x: "b d", w: "d L d"):
        return sa.repeat("L", lambda h, w: h @ w, x, xs=einops.rearrange(w, "i L o -> L i o"))

    body = account(stacked).graph.ops[-1].attrs["body"]
    assert body.tensors[body.inputs[1]].strides == (L * D, 1)


REFUSED = {
    "another shape": (
        lambda x, w: sa.repeat("L", lambda h, w: (h @ w)[:, :1], x, xs=w),
        ShapeError,
        r"repeat: the carry x changes from \(b, d\) to \(b, 1\); iterations that differ must be written out",
    ),
    "another dtype": (
        lambda x, w: sa.repeat("L", lambda h, w: (h @ w) > 0, x, xs=w),
        ShapeError,
        r"repeat: the carry x changes from the account's dtype to bool",
    ),
    "too long": (
        lambda x, w: sa.repeat("M", lambda h, w: h @ w, x, xs=w),
        ShapeError,
        r"repeat: Symbolic\(w: L, d, d\) is not M long; iterations that differ",
    ),
    "no axis to slice": (
        lambda x, _w: sa.repeat("L", lambda h, v: h + v, x, xs=x.sum()),
        ShapeError,
        r"repeat: Symbolic\(sum: \) is not L long",
    ),
    "another tree": (
        lambda x, w: sa.repeat("L", lambda h, w: (h @ w, h), x, xs=w),
        GraphError,
        r"a body returns a tuple of 2 where a tensor is needed",
    ),
    "other keys": (
        lambda x, w: sa.repeat("L", lambda h, w: {"y": h["x"] @ w}, {"x": x}, xs=w),
        GraphError,
        r"a body returns a dict of y where a dict of x is needed",
    ),
    "a shorter tuple": (
        lambda x, w: sa.repeat("L", lambda h, w: (h[0] @ w,), (x, x), xs=w),
        GraphError,
        r"a body returns a tuple of 1 where a tuple of 2 is needed",
    ),
    "nothing": (
        lambda x, w: sa.repeat("L", lambda _h, _w: None, x, xs=w),
        GraphError,
        r"a body returns None where a tensor is needed",
    ),
    "a number": (
        lambda x, w: sa.repeat("L", lambda _h, _w: 3, x, xs=w),
        GraphError,
        r"repeat: the body must return tensors that it made from its arguments",
    ),
    "what it was not given": (
        lambda x, w: sa.repeat("L", lambda h: h @ w[0], x),
        GraphError,
        r"slice: a tensor from outside the body of a repeat, which is given tensors as xs and consts",
    ),
    "what it was not given, beside its own": (
        lambda x, w: [sa.repeat("L", lambda h, v=v: h @ v, x) for v in (w[0],)],
        GraphError,
        r"einsum: a tensor from outside the body of a repeat",
    ),
    "what it was not given, on the left": (
        lambda x, w: [sa.repeat("L", lambda h, v=v: v @ h.T, x) for v in (w[0],)],
        GraphError,
        r"einsum: a tensor from outside the body of a repeat",
    ),
    "work that it throws away": (
        lambda x, w: sa.repeat("L", lambda h: (w @ w) is None or h * 2, x),
        GraphError,
        r"einsum: a tensor from outside the body of a repeat",
    ),
    "a tensor from outside": (
        lambda x, _w: sa.repeat("L", lambda _h: x, x, consts=()),
        GraphError,
        r"repeat: the body must return tensors that it made from its arguments",
    ),
    "a number among tensors": (
        lambda x, w: sa.repeat("L", lambda h, w: (h[0] @ w, h[1]), (x, 3), xs=w),
        GraphError,
        r"repeat: int beside symbolic tensors",
    ),
    "a count below one": (lambda x, _w: sa.repeat(0, lambda h: h, x), SizeError, r"a size is at least 1"),
    "a count that is no size": (lambda x, _w: sa.repeat(2.5, lambda h: h, x), SizeError, r"2\.5 \(float\)"),
    "a count that is a truth value": (
        lambda x, _w: sa.repeat(n=True, body=lambda h: h, carry=x),
        SizeError,
        r"True \(bool\)",
    ),
}


@pytest.mark.parametrize(("fn", "error", "said"), REFUSED.values(), ids=REFUSED)
def test_bodies_that_cannot_repeat_are_refused_with_the_line(fn, error, said):
    with pytest.raises(error, match=said) as caught:
        sa.account(fn, **dict(zip(fn.__code__.co_varnames, ("b d", "L d d"), strict=False)))
    if error is not SizeError and "a body returns" not in str(caught.value):
        assert "test_control.py:" in str(caught.value)
