"""Repeats, branches and scopes: what they cost, what they refuse, and that they are loops and choices on torch."""

from __future__ import annotations

import dataclasses
from collections import Counter

import einops
import pytest

import symacct as sa
from symacct.errors import GraphError, InconclusiveError, ShapeError, SizeError
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


@pytest.mark.parametrize("n", [1, 2, 3, 5])
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


def test_after_an_error_in_a_body_the_outer_graph_goes_on():
    def layer(x: "b d"):
        with pytest.raises(ShapeError):
            sa.repeat(2, lambda h: h[:, :1], x)
        return x + 1

    assert account(layer).total("flops") == B * D


def test_a_tensor_kept_from_a_body_is_of_no_use_outside():
    kept = []

    def layer(x: "b d"):
        y = sa.repeat(2, lambda h: kept.append(h * 2) or kept[-1], x)
        return y + kept[0]

    with pytest.raises(GraphError, match="add: the graph is finished"):
        sa.account(layer)


def test_kernels_do_not_cross_the_border_of_a_body():
    def repeated(x: "b d"):
        return sa.repeat(4, lambda h: sa.relu(h) + 1, x)

    def looped(x: "b d"):
        for _ in range(4):
            x = sa.relu(x) + 1
        return x

    assert account(repeated, fuse="pointwise").total("bytes") == 4 * (2 * 2 * B * D)
    assert account(looped, fuse="pointwise").total("bytes") == 2 * 2 * B * D


def test_on_torch_loops_really_run():
    torch = pytest.importorskip("torch")

    def network(x, w, v):
        def block(state, layer, tied):
            return {"h": torch.tanh(state["h"] @ layer) @ tied, "n": state["n"] + 1}

        return sa.repeat("L", block, {"h": x, "n": torch.zeros(())}, xs=w, consts=v)

    x, w, v = torch.randn(2, 3), torch.randn(5, 3, 3), torch.randn(3, 3)
    made = network(x, w, v)
    expected = x
    for layer in w:
        expected = torch.tanh(expected @ layer) @ v
    assert torch.equal(made["h"], expected)
    assert made["n"] == 5
    assert torch.equal(sa.repeat(3, lambda h: h * 2, x), x * 8)
    calls = []
    sa.repeat(5, lambda h, layer: calls.append(layer) or h, x, xs=w)
    assert all(torch.equal(a, b) for a, b in zip(calls, w, strict=True))


TORCH_REFUSED = {
    "another length": (lambda x, w: sa.repeat(4, lambda h, w: h @ w, x, xs=w), "repeat: 4 and 5 iterations"),
    "two lengths": (lambda x, w: sa.repeat("L", lambda h, _w: h, x, xs=(w, w[:2])), "repeat: 2 and 5 iterations"),
    "no number": (lambda x, _w: sa.repeat("L", lambda h: h, x), "repeat: 'L' is not a number, and there are no xs"),
    "none": (lambda x, _w: sa.repeat(0, lambda h: h, x), "repeat: 0 iterations"),
    "below none": (lambda x, _w: sa.repeat(-3, lambda h: h, x), "repeat: -3 iterations"),
    "another tree": (lambda x, w: sa.repeat(5, lambda h, w: (h @ w, h), x, xs=w), "a body returns a tuple of 2 where"),
}


@pytest.mark.parametrize(("fn", "said"), TORCH_REFUSED.values(), ids=TORCH_REFUSED)
def test_on_torch_the_same_is_refused(fn, said):
    torch = pytest.importorskip("torch")
    with pytest.raises((SizeError, GraphError), match=said):
        fn(torch.randn(2, 3), torch.randn(5, 3, 3))


def test_on_torch_a_choice_is_a_choice():
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, 2.0])
    for predicate, expected in ((torch.tensor([[1]]), 2 * x), (torch.tensor([0.0]), x + 1), (False, x + 1)):
        assert torch.equal(sa.cond(predicate, lambda x: x * 2, lambda x: x + 1, x), expected)


# -- cond --------------------------------------------------------------------------------------------------------------


def test_the_dearest_branch_counts_and_all_are_shown():
    def layer(p: "", x: "n n"):
        return sa.cond(p > 0, lambda x: x @ x, lambda x: x @ x @ x, x)

    made = account(layer)
    n = name("n")
    assert made.total("flops") == 4 * n**3 + 1
    first, second = made.branches.parts
    assert (first.counted, second.counted) == (False, True)
    assert [b.account.total("flops") for b in made.branches.parts] == [2 * n**3, 4 * n**3]
    assert [b.account.total("bytes") for b in made.branches.parts] == [6 * n**2, 12 * n**2]
    shown = str(made)
    assert "1.1      1        2*n**3   6*n**2    no" in shown
    assert "1.2      1        4*n**3   12*n**2   yes" in shown
    data = made.to_json()["branches"]
    assert [(d["branch"], d["counted"], d["bytes"]["text"]) for d in data] == [
        (1, False, "6*n**2"),
        (2, True, "12*n**2"),
    ]


def test_which_branch_is_dearest_depends_on_the_convention():
    """Under `exact` a sum of n is n - 1: of one product against two additions the convention decides."""

    def layer(p: "", x: "n n", y: "n 1"):
        return sa.cond(p > 0, lambda x, y: x @ y, lambda _x, y: y + y, x, y)

    assert [b.counted for b in account(layer, n=1, convention="2n").branches.parts] == [True, False]
    assert account(layer, n=1, convention="2n").total("flops") == 3
    weighed = sa.Convention("exact", weights={"add": 5})
    assert [b.counted for b in account(layer, n=1, convention=weighed).branches.parts] == [False, True]


def test_equal_at_the_smallest_size_is_decided():
    def layer(p: "", x: "n n"):
        return sa.cond(p > 0, lambda x: x * x.sum(), lambda x: (x @ x) * 2, x)

    made = account(layer, convention="exact")
    assert [b.counted for b in made.branches.parts] == [False, True]


def test_what_sizes_do_not_decide_is_refused_and_shown():
    def layer(p: "", x: "b d", w: "d k", v: "b k"):
        return sa.cond(p > 0, lambda x, w, v: x @ w, lambda x, w, v: sa.gelu(v), x, w, v)  # noqa: ARG005

    made = sa.account(layer)
    with pytest.raises(InconclusiveError, match=r"depends on the sizes \(branch 1: 2\*b\*d\*k; branch 2: 20\*b\*k\)"):
        made.flops  # noqa: B018
    assert [b.counted for b in made.branches.parts] == [None, None]
    assert [b.account.total("flops") for b in made.branches.parts] == [read("2*b*d*k"), read("20*b*k")]
    shown = str(made)
    assert "depends" in shown
    assert "which branch counts depends on the sizes: give some as numbers" in shown
    assert sa.account(layer, d=9).total("flops") == read("20*b*k + 1")
    assert sa.account(layer, d=11).total("flops") == read("22*b*k + 1")
    assert sa.account(layer, d=10).total("flops") == read("20*b*k + 1")


def test_conditionals_inside_repeats_and_branches_are_listed_with_their_runs():
    def layer(p: "", x: "n n"):
        def inner(x):
            return sa.cond(x.sum() > 0, lambda x: x @ x, lambda x: x, x)

        def looped(x):
            return sa.repeat("L", lambda h: inner(h) @ h, x)

        return sa.cond(p > 0, looped, lambda x: inner(x) * 2, x)

    made = account(layer, L=5)
    told = [(b.conditional, b.branch, b.times) for b in made.branches.parts]
    assert told == [(1, 1, 1), (1, 2, 1), (2, 1, 5), (2, 2, 5), (3, 1, 1), (3, 2, 1)]
    n = name("n")
    assert made.total("matmul_flops") == 5 * (2 * n**3 + 2 * n**3)
    assert "2.1      5" in str(made.branches)


COND_REFUSED = {
    "shapes": (
        lambda p, x: sa.cond(p > 0, lambda x: x, lambda x: x[0], x),
        r"cond: the branches return \(n, n\) and \(n,",
    ),
    "dtypes": (
        lambda p, x: sa.cond(p > 0, lambda x: x, lambda x: x > 0, x),
        r"cond: the branches return \(n, n\) and \(n, n\) bool",
    ),
    "trees": (
        lambda p, x: sa.cond(p > 0, lambda x: x, lambda x: (x, x), x),
        "a body returns a tuple of 2 where a tensor",
    ),
    "outside": (lambda p, x: sa.cond(p > 0, lambda: x * 2, lambda: x), "mul: a tensor from outside the body of a cond"),
    "predicate": (
        lambda p, x: sa.cond(x > p, lambda x: x, lambda x: x, x),
        r"cond: the predicate Symbolic\(gt: n, n\) is not one element; see symacct.where",
    ),
    "operands": (lambda p, x: sa.cond(p > 0, lambda x, k: x * k, lambda x, _k: x, x, 3), "cond: int beside symbolic"),
}


@pytest.mark.parametrize(("fn", "said"), COND_REFUSED.values(), ids=COND_REFUSED)
def test_branches_that_do_not_fit_are_refused(fn, said):
    with pytest.raises((GraphError, ShapeError), match=said):
        sa.account(fn, p="", x="n n")


def test_a_predicate_of_one_element_may_have_axes():
    assert (
        account(lambda p, x: sa.cond(p > 0, lambda x: x * 2, lambda x: x, x), p="1 1", x="n").total("flops")
        == name("n") + 1
    )


def test_a_predicate_that_is_known_takes_its_branch():
    def layer(x: "n", *, training: bool = False):
        return sa.cond(training, lambda x: x * 2, lambda x: x + 1, x)

    assert [op.kind for op in account(layer).graph.ops] == ["add"]
    assert [op.kind for op in account(layer, training=True).graph.ops] == ["mul"]


# -- scope -------------------------------------------------------------------------------------------------------------


class Model:
    @sa.scope("attention")
    def attend(self, x):
        return self.mix(x, scale=x.sum())

    @sa.scope
    def mix(self, x, *, scale):
        return x * scale

    @sa.scope("model")
    def __call__(self, x: "b d", w: "L d d"):
        h = sa.repeat("L", lambda h, w: self.attend(h @ w), x, xs=w)
        return sa.cond(h.sum() > 0, self.attend, lambda x: x, h) + sa.scope("end")(lambda x: x)(h)


def test_scopes_nest_over_methods_keywords_bodies_and_branches():
    made = account(Model(), d=3)
    assert [(s.kind, s.scope) for s in made.steps] == [
        ("einsum", "model"),
        ("sum", "model/attention"),
        ("mul", "model/attention/mix"),
        ("sum", "model"),
        ("gt", "model"),
        ("sum", "model/attention"),
        ("mul", "model/attention/mix"),
        ("add", "model"),
    ]
    parts = {p.name: p.flops for p in made.by("scope").parts}
    assert parts["model/attention/mix"] == L * 3 * B + 3 * B
    assert sum(parts.values(), 0) == made.total("flops")


def test_a_scope_keeps_the_function_as_it_is():
    @sa.scope("named")
    def layer(x: "b d", *, times: int = 2):
        """Multiply."""
        return x * times

    assert (layer.__name__, layer.__doc__) == ("layer", "Multiply.")
    assert account(layer).title == "layer(x (b, d))"
    assert layer(21) == 42


def test_a_scope_ends_with_an_error():
    @sa.scope("inner")
    def breaks(x):
        raise ValueError(x)

    def layer(x: "b"):
        with pytest.raises(ValueError, match="Symbolic"):
            breaks(x)
        return x + 1

    assert [s.scope for s in account(layer).steps] == [""]
