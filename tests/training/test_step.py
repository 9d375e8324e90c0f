"""Forward, backward and both: 6PT as a result, who needs a gradient, loops against the same loops written out."""

from __future__ import annotations

import json

import einops
import pytest
import sympy

import symacct as sa
from symacct.errors import ConventionError, GraphError, InconclusiveError, UnknownAxisError
from symacct.expr import evaluate

b, d, L = sympy.symbols("b d L")


def network(x: "b d", w: "L d d"):
    return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)


def chain(x: "b d0", w1: "d0 d1", w2: "d1 d2", w3: "d2 d3"):
    return ((x @ w1) @ w2) @ w3


@pytest.mark.claim("S54", "S55", "S56", "D7")
def test_a_linear_layer():
    """Forward 2BD^2; backward one product that sums over out and one that sums over batch, 2BD^2 each."""
    training = sa.account("batch in, in out -> batch out").training()
    assert [(c.phase, c.pattern, c.sums) for c in training.contractions] == [
        ("fwd", "batch in, in out -> batch out", ("in",)),
        ("bwd", "batch out, in out -> batch in", ("out",)),
        ("bwd", "batch in, batch out -> in out", ("batch",)),
    ]
    sizes = {"batch": 1024, "in": 256, "out": 256}
    assert evaluate(training.forward.total("flops"), sizes) == 134_217_728
    assert evaluate(training.backward.total("flops"), sizes) == 268_435_456
    assert sa.same(training.flops, 3 * training.forward.flops)


@pytest.mark.claim("S3", "S56", "S57")
def test_a_chain_of_linear_layers_is_two_four_and_six():
    """But for the first product, whose input needs no gradient."""
    params = "d0*d1 + d1*d2 + d2*d3"
    training = sa.account(chain).training()
    assert sa.same(training.forward.flops, f"2*b*({params})")
    assert sa.same(training.backward.flops, f"4*b*({params})")
    assert sa.same(training.flops, f"6*b*({params})")
    only_weights = sa.account(chain, params=["w1", "w2", "w3"]).training()
    assert sa.same(only_weights.flops, f"6*b*({params}) - 2*b*d0*d1")
    assert only_weights.rule_of_thumb().parts.keys() == {"inputs that need no gradient"}


@pytest.mark.claim("S52", "S54", "S55", "S60")
def test_the_lectures_network():
    training = sa.account(network, params=["w"]).training()
    assert sa.same(training.matmul_flops, 6 * b * d**2 * L - 2 * b * d**2)
    assert sa.same(sa.account(network).training().matmul_flops, 6 * b * d**2 * L)
    assert sa.same(training.flops - training.matmul_flops, 2 * b * d * L)  # a comparison an element each way
    with_input = sa.account(network).training().total.at(b=2, d=4, L=3).matmul_flops
    assert with_input == 576  # 6 rows a parameter
    assert training.total.at(b=2, d=4, L=3).matmul_flops == 576 - 2 * 2 * 16
    assert training.total.at(b=2, d=4, L=1).matmul_flops == 4 * 2 * 16


@pytest.mark.claim("S53")
def test_the_lectures_gradient():
    """Y = 0.5*(x.w - 5)^2 at x = (1, 2, 3) and w = 1: a loss of 0.5, a gradient of (1, 2, 3)."""
    torch = pytest.importorskip("torch")
    from symacct.backward import backward

    def loss(x: "n", w: "n"):
        return 0.5 * (einops.einsum(x, w, "n, n ->") - 5) ** 2

    graph = backward(sa.account(loss, params=["w"]).graph)
    value, grad = graph.run({"n": 3}, inputs=[torch.tensor([1.0, 2, 3]), torch.ones(3), torch.tensor(1.0)]).outputs
    assert (value.item(), grad.tolist()) == (0.5, [1, 2, 3])


def decoder(
    *, tokens: "b s", table: "v d", q: "L d h k", key: "L d h k", value: "L d h k", out: "L h k d", up: "L d f",
    down: "L f d", head: "d v",
):  # fmt: skip
    def block(x, layer):
        wq, wk, wv, wo, up, down = layer
        q, k, v = (einops.einsum(x, w, "b s d, d h k -> b h s k") for w in (wq, wk, wv))
        weights = sa.softmax(einops.einsum(q, k, "b h s k, b h t k -> b h s t"))
        mixed = einops.einsum(weights, v, "b h s t, b h t k -> b h s k")
        x = x + einops.einsum(mixed, wo, "b h s k, h k d -> b s d")
        return x + sa.gelu(x @ up) @ down

    x = sa.repeat("L", block, sa.embedding(tokens, table), xs=(q, key, value, out, up, down))
    return x @ head


DECODER = "table q key value out up down head"


@pytest.mark.claim("S57")
def test_what_six_p_t_leaves_out_of_a_transformer():
    """12*L*h*k*s a token of attention; a lookup multiplies nothing, and the head is a product like any other."""
    training = sa.account(decoder, params=DECODER).training()
    blocks = "L*(4*d*h*k + 2*d*f)"
    assert sa.same(training.matmul_flops, f"6*b*s*({blocks} + d*v) + 12*L*h*k*s*b*s")
    thumb = training.rule_of_thumb()
    assert sa.same(sa.account(decoder, params=DECODER).matmul_flops * 3, training.matmul_flops)
    assert str(thumb.tokens) == "b*s"
    assert sa.same(thumb.per_token["products of activations"], "12*L*h*k*s")
    assert sa.same(thumb.per_token["tables that are looked up"], "-6*v*d")
    assert len(thumb.parts) == 2
    without = training.rule_of_thumb(without="table head")
    assert sa.same(without.per_token["products of what P leaves out"], "6*d*v")
    assert sa.same(without.rule, f"6*b*s*{blocks}")
    sizes = {"b": 1, "s": 1024, "d": 768, "h": 12, "k": 64, "f": 3072, "v": 50257, "L": 12}
    shares = training.rule_of_thumb(without=["table"]).shares(sizes=sizes)
    attention = (
        12 * 12 * 12 * 64 * 1024 / (6 * (12 * (4 * 768**2 + 2 * 768 * 3072) + 768 * 50257) + 12 * 12 * 768 * 1024)
    )
    assert float(shares["products of activations"]) == pytest.approx(attention)
    assert sum(shares.values()) == 1


def test_tables_inside_a_loop_are_looked_up_too():
    """A table a layer, and a gain that no product reads."""

    def network(x: "b s d", w: "L d d", tables: "L v d", gain: "d", tokens: "b s"):
        def layer(h, own, tokens):
            w, table = own
            return (h + sa.embedding(tokens, table)) @ w

        return sa.repeat("L", layer, x, xs=(w, tables), consts=sa.cast(tokens, "int64")) * gain

    thumb = sa.account(network, params=["w", "tables", "gain"]).training().rule_of_thumb()
    assert {name: str(form) for name, form in thumb.per_token.items()} == {
        "tables that are looked up": "-6*L*d*v",
        "biases, norms: in no product": "-6*d",
    }


def test_shared_and_tied_weights_are_counted_as_often_as_used():
    def twice(x: "b d", w: "d d"):
        return (x @ w) @ w

    def tied(tokens: "b s", table: "v d"):
        return sa.embedding(tokens, table) @ table.T

    thumb = sa.account(twice, params=["w"]).training().rule_of_thumb(tokens="b")
    assert sa.same(thumb.training.matmul_flops, "10*b*d^2")  # twice 2, 2 gradients of w, one of its input
    assert sa.same(thumb.difference, "4*b*d^2")
    assert {n: str(a) for n, a in thumb.parts.items()} == {
        "inputs that need no gradient": "-2*b*d**2",
        "weights used more or less often": "6*b*d**2",
    }
    # gradients add: an addition an element for w used twice, and for a table looked up and multiplied
    assert sa.same(sa.account(twice, params=["w"]).backward().flops, "6*b*d^2 + d^2")
    adds = sa.account(tied, params=["table"]).backward().by("kind")
    assert {p.name: str(p.flops) for p in adds.parts}["add"] == "d*v"


def test_frozen_weights_and_detach():
    def lora(x: "b d", w: "d k", down: "d r", up: "r k"):
        return x @ w + (x @ down) @ up

    training = sa.account(lora, params="w down up").training(wrt="down up")
    assert sa.same(training.backward.matmul_flops, "2*b*d*r + 4*b*r*k")  # of down its own, of up both
    parts = training.rule_of_thumb().parts
    assert sa.same(parts["weights that need no gradient"], "-2*b*d*k")

    def cut(x: "b d", w: "d d", v: "d d"):
        return sa.detach(x @ w) @ v

    account = sa.account(cut, params=["w", "v"])
    assert sa.same(account.backward().flops, "2*b*d^2")
    assert "none arrives at w" in account.backward().gradients
    with pytest.raises(GraphError, match="no gradient arrives at w"):
        account.backward(wrt=["w"])


def test_the_assumption_is_printed():
    assert "of operand 1, operand 2 (every input of numbers, since no" in str(sa.account("b d, d k -> b k").backward())
    assert "of w (the parameters)" in str(sa.account(network, params=["w"]).training())
    assert "of x (as asked)" in str(sa.account(network).training(wrt="x"))


def test_words_of_the_rule():
    with pytest.raises(InconclusiveError, match=r"no product has a parameter.*give tokens="):
        sa.account(lambda x, y: sa.relu(x) + y, x="n", y="n").training().rule_of_thumb()
    with pytest.raises(InconclusiveError, match="use their weights b, m times"):
        sa.account(lambda x, w, y, v: (x @ w).sum() + (y @ v).sum(), x="b d", w="d k", y="m d", v="d k",
                   params="w v").training().rule_of_thumb()  # fmt: skip
    with pytest.raises(ConventionError, match="6PT counts two operations a product and sum"):
        sa.account(network, params=["w"], convention="exact").training().rule_of_thumb()
    with pytest.raises(UnknownAxisError, match="no parameter 'v' to leave out; the parameters are w"):
        sa.account(network, params=["w"]).training().rule_of_thumb(without="v")


def test_json_and_latex():
    training = sa.account(network, params=["w"]).training()
    data = training.to_json()
    keys = {"title", "gradients", "forward", "backward", "total", "convention", "dtype", "traffic", "rule_of_thumb"}
    assert keys <= set(data)
    assert list(data["rule_of_thumb"]) == ["parameters", "tokens", "rule", "exact", "difference", "parts"]
    assert sa.same(sa.loads(json.loads(json.dumps(data)))["total"]["matmul_flops"], training.matmul_flops)
    assert r"\text{flops, backward}" in training.latex()
    exact = sa.account(network, params=["w"], convention="exact").training()
    assert exact.to_json()["rule_of_thumb"] is None


@pytest.mark.parametrize("options", [{}, {"layout": "torch"}, {"fuse": "pointwise"}, {"traffic": "compulsory"}])
def test_forward_and_backward_are_the_total(options):
    training = sa.account(network, params=["w"], **options).training()
    parts = training.total.by("phase")
    assert [p.name for p in parts.parts] == ["fwd", "bwd"]
    assert sa.same(training.forward.flops + training.backward.flops, training.flops)
    if "traffic" not in options:
        assert sa.same(training.forward.bytes + training.backward.bytes, training.bytes)


@pytest.mark.claim("D6")
@pytest.mark.parametrize("dtype", ["fp32", "nvfp4"])
def test_operations_have_no_dtype_and_bytes_do(dtype):
    ours, in_bf16 = (sa.account(network, params=["w"], dtype=of, sizes={"d": 64}).training() for of in (dtype, "bf16"))
    assert ours.flops == in_bf16.flops
    assert ours.bytes != in_bf16.bytes
