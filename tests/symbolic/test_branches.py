"""Repeats and choices on torch, conditionals, and scopes."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import GraphError, InconclusiveError, ShapeError, SizeError
from symacct.expr import name, read
from symacct.graph import check
from symacct.rules import check_shapes

B, D, L = name("b"), name("d"), name("L")


def account(fn, **options):
    made = sa.account(fn, **options)
    check(made.graph)
    check_shapes(made.graph)
    return made


# -- repeat ------------------------------------------------------------------------------------------------------------


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
