"""Questions about graphs: crossovers between parts, leading behaviour, and two designs against each other."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import einops
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.accounting.analysis import terms
from symacct.errors import ConventionError, ExpressionError, InconclusiveError
from symacct.expr import evaluate, name, names_in, read
from tests.graph.examples import GRAPHS

FILES = {path.stem: path for path in GRAPHS}


@sa.scope("projections")
def project(x, w):
    return x @ w


@sa.scope("attention")
def attend(q, k, v):
    scores = einops.einsum(q, k, "b h s k, b h t k -> b h s t") * 0.125
    return einops.einsum(sa.softmax(scores), v, "b h s t, b h t k -> b h s k")


def attention(x: "b s d", qkv: "d 3*d", out: "d d", h: int):
    t = einops.rearrange(project(x, qkv), "b s (three h k) -> three b h s k", three=3, h=h)
    return project(einops.rearrange(attend(t[0], t[1], t[2]), "b h s k -> b s (h k)"), out)


def crossing(account, axis, of, by, pair):
    (found,) = [c for c in account.crossovers(axis, of=of, by=by) if {c.first, c.second} == set(pair)]
    return found


@pytest.mark.claim("S44")
def test_where_attention_overtakes_the_projections():
    """Scores and values are 4bs^2d, projections 8bsd^2: at s = 2d; with softmax and scaling a little before."""
    account = sa.account(attention, d="h*k")
    pair = ("projections", "attention")
    found = crossing(account, "s", "matmul_flops", "scope", pair)
    assert str(found) == "projections = attention at s = 2*h*k"
    assert found.larger_above == "attention"
    found = crossing(account, "s", "flops", "scope", pair)
    assert sa.same(found.at, "8*h*k**2/(4*k + 6)")
    assert found.larger_above == "attention"


PARTS = [
    (attention, {"d": "h*k"}, of, by, axis)
    for of in ("flops", "matmul_flops", "bytes")
    for by in ("scope", "op", "kind", "family")
    for axis in ("s", "h", "k", "b")
]


@pytest.mark.parametrize(("fn", "given", "of", "by", "axis"), PARTS, ids=[f"{p[2]} by {p[3]} in {p[4]}" for p in PARTS])
def test_at_a_crossover_parts_are_equal_and_just_above_as_said(fn, given, of, by, axis):
    account = sa.account(fn, **given)
    parts = dict(terms(account, of, by))
    assert sum(parts.values(), 0) == account.total(of)
    try:
        found = account.crossovers(axis, of=of, by=by)
    except InconclusiveError:
        assert of == "bytes"
        return
    others = {n: v for n, v in {"b": 3, "h": 7, "k": 11, "s": 13}.items() if n in account.names and n != axis}
    for c in found:
        at = float(evaluate(c.value, others))
        if at <= 0:
            continue
        first, second = (float(evaluate(parts[p], {**others, axis: Fraction(at)})) for p in (c.first, c.second))
        assert math.isclose(first, second, rel_tol=1e-9)
        above = {**others, axis: Fraction(at) * Fraction(1001, 1000)}
        gap = evaluate(parts[c.first], above) - evaluate(parts[c.second], above)
        assert c.larger_above in ((c.first if gap > 0 else c.second), None)


def polynomials(**shapes):
    """An account whose parts are as many operations as its tensors have elements."""

    def layer(x, y):
        return sa.relu(x), y + 1

    return sa.account(layer, **shapes).crossovers("n", of="flops")


@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 60), st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=150)
def test_crossings_of_quadratics_are_all_found(a, b, c, d, e):
    """``a n^2 + d n + c`` against ``b n + e``: sizes at which the sign changes, from all of them."""
    found = polynomials(x=f"{a}*n**2+{d}*n+{c}", y=f"{b}*n+{e}" if e else f"{b}*n")
    exact = [c for c in found if evaluate(c.value, {}) > 0]

    def gap(n):
        return a * n * n + (d - b) * n + c - e

    roots = [float(evaluate(c.value, {})) for c in exact]
    assert roots == sorted(roots)
    for crossover, root in zip(exact, roots, strict=True):
        assert math.isclose(gap(root), 0, abs_tol=1e-6 * max(1, a * root * root))
        assert crossover.larger_above == ("relu" if gap(root + 1e-4) > 0 else "add")
    step = Fraction(1, 8)
    signs = [gap(step * i) for i in range(1, 800)]
    changes = sum(x * y < 0 for x, y in itertools.pairwise(signs)) + sum(
        s == 0 and 0 < i < len(signs) - 1 and signs[i - 1] * signs[i + 1] < 0 for i, s in enumerate(signs)
    )
    inside = [r for r in roots if 1 / 8 < r < 99]
    assert len(inside) >= changes


def test_closed_forms_of_quadratics_in_names():
    (found,) = polynomials(x="n*(n+6*m)", y="5*q")
    assert sa.same(found.at, "sqrt(9*m**2 + 5*q) - 3*m")
    assert found.larger_above == "relu"
    (found,) = polynomials(x="n**2", y="n+q")
    assert sa.same(found.at, "(1 + sqrt(1 + 4*q))/2")
    (found,) = polynomials(x="q+m*n", y="m*n**2")
    assert evaluate(found.value, {"q": 6, "m": 1}) == pytest.approx(3)
    assert found.larger_above == "add"
    assert polynomials(x="n**2+n+q", y="n") == []
    assert polynomials(x="n**2+q", y="q") == []
    assert [(str(c.at), c.larger_above) for c in polynomials(x="n**2+6", y="5*n")] == [("2", "add"), ("3", "relu")]
    assert polynomials(x="n**2+9", y="6*n") == [], "where they touch, neither overtakes"


@pytest.mark.parametrize(
    ("x", "y"), [("n**3+1", "n+q"), ("n**2+q", "m*n"), ("n**2+m", "n+q"), ("n**2*m", "n*q+n**2+5")]
)
def test_what_depends_on_other_names_or_has_no_closed_form_is_said(x, y):
    with pytest.raises(InconclusiveError, match=r"no closed form of the n at which .*; give some sizes as numbers"):
        polynomials(x=x, y=y)


def test_crossovers_refuse_an_unknown_group():
    with pytest.raises(ConventionError, match="cannot group by 'layers'; known: op, kind, scope, family"):
        sa.account(attention).crossovers("s", by="layers")


# -- leading behaviour -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", FILES)
def test_leading_behaviour_in_any_dimension(which):
    """What is left out vanishes: total / leading tends to 1 as a size grows, others as they are."""
    worked = sa.load_worked(FILES[which])
    account = worked.account()
    for axis in account.names:
        for of in ("flops", "bytes"):
            total = account.total(of)
            if total == 0:
                continue
            try:
                leading = account.leading(axis, of=of)
            except ExpressionError as error:
                assert "stands inside" in str(error)  # noqa: PT017 # a size that is rounded has no leading power
                continue
            sizes = {n: worked.tiny[n] for n in account.names}
            whole = Fraction(evaluate(total, {**sizes, axis: 10**30}))
            part = Fraction(str(leading.subs({n: (10**30 if n == axis else v) for n, v in sizes.items()})))
            assert abs(whole / part - 1) < Fraction(1, 10**20), (axis, of)


# -- two designs -------------------------------------------------------------------------------------------------------


def gelu_mlp(x: "b s d", up: "d f", down: "f d"):
    return sa.gelu(x @ up) @ down


def gated_mlp(x: "b s d", gate: "d g", up: "d g", down: "g d"):
    return (sa.silu(x @ gate) * (x @ up)) @ down


def queries(x: "b s d", wq: "d h k", wk: "d g k", wv: "d g k", *, wo: "h k d", r: int):
    q = einops.einsum(x, wq, "b s d, d h k -> b h s k")
    k, v = (
        einops.repeat(einops.einsum(x, w, "b s d, d g k -> b g s k"), "b g s k -> b (g r) s k", r=r) for w in (wk, wv)
    )
    scores = sa.softmax(einops.einsum(q, k, "b h s k, b h t k -> b h s t"))
    return einops.einsum(einops.einsum(scores, v, "b h s t, b h t k -> b h s k"), wo, "b h s k, h k d -> b s d")


DESIGNS = {
    "GELU and SwiGLU": (lambda: (sa.account(gelu_mlp), sa.account(gated_mlp))),
    "GELU and SwiGLU at one width": (lambda: (sa.account(gelu_mlp), sa.account(gated_mlp, g="f"))),
    "MHA and GQA": (lambda: (sa.account(queries, g="h", r=1), sa.account(queries, r=4, h="4*g"))),
    "GQA and MQA": (lambda: (sa.account(queries, r="r", h="g*r"), sa.account(queries, g=1, r="h"))),
    "unfused and fused": (lambda: (sa.account(gelu_mlp), sa.account(gelu_mlp, fuse="pointwise"))),
    "ideal and torch": (lambda: (sa.account(attention, d="h*k"), sa.account(attention, d="h*k", layout="torch"))),
}


@pytest.mark.parametrize("name_", DESIGNS)
@pytest.mark.parametrize("of", ["flops", "matmul_flops", "bytes"])
def test_the_region_is_where_the_first_is_cheaper(name_, of):
    a, b = DESIGNS[name_]()
    found = sa.compare(a, b, of=of)
    names = sorted({*names_in(a.total(of)), *names_in(b.total(of))})

    @given(st.fixed_dictionaries({n: st.integers(1, 50) for n in names}))
    @settings(max_examples=60)
    def agrees(sizes):
        first, second = evaluate(a.total(of), sizes), evaluate(b.total(of), sizes)
        assert found.cheaper in (None, "a" if first < second else "b" if second < first else "equal")
        assert (evaluate(found.left, sizes) < evaluate(found.right, sizes)) == (first < second)
        assert found.difference.subs(sizes) == second - first

    agrees()


def test_designs_by_hand():
    one, other = DESIGNS["GELU and SwiGLU"]()
    found = sa.compare(one, other, of="matmul_flops")
    assert sa.same(found.difference, "6*b*s*d*g - 4*b*s*d*f")
    assert found.region == "2*f < 3*g", "SwiGLU at 2/3 of the width costs as much"
    equal = sa.compare(sa.account(gelu_mlp, f="3*m"), sa.account(gated_mlp, g="2*m"), of="matmul_flops")
    assert equal.cheaper == "equal"
    one, other = DESIGNS["MHA and GQA"]()
    found = sa.compare(one, other, of="matmul_flops")
    assert evaluate(found.left, {"h": 8, "g": 2, "d": 32, "s": 9}) > evaluate(
        found.right, {"h": 8, "g": 2, "d": 32, "s": 9}
    )
    assert read("h") == name("h")
