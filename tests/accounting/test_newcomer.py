"""Questions that a newcomer asks of layers: parameters, parts, crossovers of groups, and where a design is cheaper."""

from __future__ import annotations

from fractions import Fraction

import pytest

import symacct as sa
from symacct.errors import ConventionError, GraphError, SymacctError
from symacct.expr import evaluate
from tests.graph.examples import GRAPHS

FILES = {path.stem: path for path in GRAPHS}


def account(which, **options):
    return sa.load_worked(FILES[which]).account(**options)


def test_parameters_of_a_layer():
    """A projection to queries, keys and values with biases, and back; by hand."""
    made = account("transformer")
    assert sa.same(made.params, "4*d*h*k + 2*d*f + 3*h*k + f + 6*d")
    assert "params" in str(made)
    assert made.to_json()["params"]["text"]
    tied = sa.account(lambda x, w: sa.embedding(x, w) @ w.T, x="b s", w="v d", params=["w"])
    assert sa.same(tied.params, "v*d")
    with pytest.raises(GraphError, match="no argument is known to be a parameter; name them"):
        _ = sa.account("b d, d k -> b k").params
    assert sa.account("b d, d k -> b k").to_json()["params"] is None


def test_shares_of_products_alone():
    """8*s*d*h*k for projections against 4*s*s*h*k for pairs."""
    heads = account("multi_head_attention").by(lambda step: "projections" if " d" in step.label else "rest")
    sizes = {"b": 1, "s": 8, "d": 16, "h": 2, "k": 4}
    shares = heads.shares("matmul_flops", sizes=sizes)
    assert shares["projections"] == Fraction(8 * 16, 8 * 16 + 4 * 8)
    assert heads.top(1, "bytes", **sizes) == ["projections"]
    with pytest.raises(ConventionError, match="'time' has no shares; known: flops, matmul_flops, bytes"):
        heads.shares("time", sizes=sizes)


def test_when_pairs_overtake_projections():
    heads = account("multi_head_attention")
    (found,) = heads.crossovers(
        "s", of="matmul_flops", by=lambda step: "projections" if " d" in step.label else "pairs"
    )
    assert str(found) == "projections = pairs at s = 2*d"
    assert found.larger_above == "pairs"
    (other,) = heads.crossovers("s", of="flops", by="family")
    assert str(other).endswith("where that is positive"), "4*k - 5 is in its denominator"
    assert repr(other) == str(other)


def test_where_a_design_is_cheaper_nowhere():
    """Fewer heads of keys never cost more; at r = 1 as much."""
    many = account("multi_head_attention", sizes={"h": "g*r"})
    found = sa.compare(many, account("grouped_query_attention"), of="bytes")
    assert (found.cheaper, found.region) == (None, "never: b costs more at no sizes")
    assert evaluate(found.a, dict.fromkeys("bdgkrs", 1)) == evaluate(found.b, dict.fromkeys("bdgkrs", 1))


SIZES = (
    {"b": 1, "s": 512, "d": 64, "h": 4, "k": 16, "q": 24, "c": 8, "n": 8, "r": 4, "v": 8},
    {"b": 2, "s": 16, "d": 64, "h": 4, "k": 16, "q": 96, "c": 80, "n": 30, "r": 14, "v": 18},
)


def test_regions_of_many_names_are_products():
    """Reciprocals would be longer; at numbers the region says which is cheaper."""
    one, other = account("multi_head_attention"), account("latent_attention")
    found = sa.compare(one, other, of="matmul_flops")
    assert "/" not in found.region
    verdicts = set()
    for sizes in SIZES:
        a, b = (x.at(sizes={n: sizes[n] for n in x.names}).matmul_flops.value for x in (one, other))
        assert (evaluate(found.left, sizes) < evaluate(found.right, sizes)) == (a < b)
        verdicts.add(a < b)
    assert verdicts == {True, False}


def test_gelu_against_swiglu():
    """4*f*(d + 5) against 3*f*(2*d + 1) a token: with f = 4*d and 8*d/3 the products are equal, gelu is 20."""
    found = sa.compare(account("mlp"), account("gated_mlp"))
    assert found.region == "17 < 2*d"
    fair = sa.compare(account("mlp", sizes={"f": "4*d"}), account("gated_mlp", sizes={"f": "8*d/3"}))
    assert sa.same(fair.difference, "-72*b*s*d")
    assert fair.cheaper == "b"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"param": ["w"]}, "Did you mean 'params'"),
        ({"dtypes": "fp32"}, "no size 'dtypes'.*Did you mean 'dtype'"),
        ({"dtypes": ["fp32"]}, "Did you mean 'dtype'"),
        ({"params": [3]}, r"give them as in params=\['w'\]"),
        ({"params": 3}, r"give them as in params=\['w'\]"),
    ],
)
def test_options_that_are_mistyped(options, says):
    with pytest.raises(SymacctError, match=says):
        sa.account(lambda x, w: x @ w, x="b d", w="d k", **options)
