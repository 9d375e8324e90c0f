"""What is kept for the backward pass: closed forms derived by hand, and torch's autograd with storages merged."""

from __future__ import annotations

import einops
import pytest

import symacct as sa
from symacct.errors import ConventionError, GraphError
from symacct.expr import add, evaluate

POLICIES = ("torch", "ideal", "outputs", "pre_and_post")


def blocks(activation):
    def network(x: "b d", w: "L d d"):
        return sa.repeat("L", lambda h, w: activation(h @ w), x, xs=w)

    return sa.account(network, params=["w"])


@pytest.mark.claim("D12", "S66", "S59")
@pytest.mark.parametrize(
    ("activation", "kept"),
    [
        (
            sa.relu,
            ["b*d*(L + 1)", "b*d*(L + 1)", "b*d*L", "2*b*d*L"],
        ),  # its result is the next input
        (sa.gelu, ["2*b*d*L", "2*b*d*L", "b*d*L", "2*b*d*L"]),  # gelu keeps its input too
        (sa.silu, ["2*b*d*L", "2*b*d*L", "b*d*L", "2*b*d*L"]),
        (sa.tanh, ["b*d*(L + 1)", "b*d*(L + 1)", "b*d*L", "2*b*d*L"]),
    ],
)
def test_blocks_of_a_linear_layer_and_a_non_linearity(activation, kept):
    account = blocks(activation)
    for policy, elements in zip(POLICIES, kept, strict=True):
        assert sa.same(account.residuals(policy).elements, elements), policy
        assert sa.same(account.residuals(policy).bytes, f"2*({elements})")


@pytest.mark.claim("S59", "S62", "S64")
def test_the_lectures_activations():
    """Two bytes an element of each layer; a quarter with a fourth of the batch; inference holds one layer."""
    kept = blocks(sa.relu).residuals("outputs")
    assert kept.at(b=2, d=4, L=3) == 48
    assert kept.at(b=64, d=1024, L=16) == 2097152
    assert kept.at(b=16, d=1024, L=16) == 524288
    assert sa.same(kept.bytes.subs("L", 1), "2*b*d")


def test_what_needs_no_gradient_is_not_kept():
    def two(x: "b d", w: "d k", v: "k m"):
        return (x @ w) @ v

    account = sa.account(two, params=["w", "v"])
    names = {wrt: [(r.name, r.what) for r in account.residuals(wrt=wrt).rows] for wrt in ("w v", "v", "w", "x")}
    assert names["w v"] == [("x", "input"), ("v", "parameter"), ("einsum", "activation")]
    assert names["v"] == [("einsum", "activation")]
    assert names["w"] == [("x", "input"), ("v", "parameter")]
    assert names["x"] == [("w", "parameter"), ("v", "parameter")]
    with pytest.raises(GraphError, match="no gradient arrives at v"):
        sa.account(lambda x, v: x @ sa.detach(v), x="b d", v="d k").residuals(wrt="v")


def test_frozen_weights_keep_no_inputs():
    def lora(x: "b d", w: "d k", down: "d r", up: "r k"):
        return x @ w + (x @ down) @ up

    account = sa.account(lora, params=["w", "down", "up"])
    assert sa.same(account.residuals(wrt="down up").elements, "b*d + b*r")
    assert sa.same(account.residuals(wrt="down up x").elements, "b*d + b*r")
    assert [r.name for r in account.residuals(wrt="x").rows] == ["w", "down", "up"]


def explicit(q, k, v, drop):
    scores = einops.einsum(q, k, "b h s k, b h t k -> b h s t") * q.shape[-1] ** -0.5
    return einops.einsum(drop(sa.softmax(scores)), v, "b h s t, b h t k -> b h s k")


def masked(q, k, v, drop):
    scores = einops.einsum(q, k, "b h s k, b h t k -> b h s t") * q.shape[-1] ** -0.5
    scores = sa.where(sa.causal_mask(scores.shape[-1], like=scores), scores, float("-inf"))
    return einops.einsum(drop(sa.softmax(scores)), v, "b h s t, b h t k -> b h s k")


def fused(q, k, v, drop):  # noqa: ARG001 # there is none in it
    return sa.scaled_dot_product_attention(q, k, v, is_causal=True)


def block(attention, p=0.0):
    """A block of width D = h*k with an MLP of 4*D, a LayerNorm before each; dropout in its three places if p > 0."""

    def drop(x):
        return sa.dropout(x, p) if p else x

    def layer(
        *, x: "b s h*k", n1: "h*k", c1: "h*k", qkv: "h*k 3*h*k", bias: "3*h*k", out: "h*k h*k", out_bias: "h*k",
        n2: "h*k", c2: "h*k", up: "h*k 4*h*k", up_bias: "4*h*k", down: "4*h*k h*k", down_bias: "h*k", h: int,
    ):  # fmt: skip
        y = sa.layer_norm(x, n1.shape, n1, c1) @ qkv + bias
        three = einops.rearrange(y, "b s (n h k) -> n b h s k", n=3, h=h)
        heads = einops.rearrange(attention(three[0], three[1], three[2], drop), "b h s k -> b s (h k)")
        x = x + drop(heads @ out + out_bias)
        return x + drop(sa.gelu(sa.layer_norm(x, n2.shape, n2, c2) @ up + up_bias) @ down + down_bias)

    return layer


PARAMS = "n1 c1 qkv bias out out_bias n2 c2 up up_bias down down_bias"
STATISTICS = "16*b*s"  # two norms, a mean and a deviation each, in fp32


@pytest.mark.claim("D12")
@pytest.mark.parametrize(
    ("attention", "bytes"),
    [
        (explicit, "4*(16*b*s*(h*k) + h*b*s^2) + 16*b*s"),
        (fused, "4*(16*b*s*(h*k) + h*b*s) + 16*b*s"),
        (masked, "4*(16*b*s*(h*k) + h*b*s^2) + 16*b*s + s^2"),  # the mask is a byte a pair
    ],
)
def test_a_gpt_block_in_fp32(attention, bytes):
    """Inputs of two norms, of four products, q, k, v, heads, and both sides of GELU: 16 D a token."""
    account = sa.account(block(attention), params=PARAMS, dtype="fp32")
    for policy in ("torch", "ideal"):
        assert sa.same(account.residuals(policy).bytes, bytes)
    rows_of_scores = "4*b*h*s" if attention is fused else "0"
    in_bf16 = sa.account(block(attention), params=PARAMS).residuals(device="cuda")
    assert sa.same(in_bf16.by("what")["statistic"], f"{STATISTICS} + {rows_of_scores}")


@pytest.mark.claim("D12")
def test_the_block_of_2022_under_its_assumptions():
    """34 bytes an element and 5 a pair: masks of a byte, no norm statistics; a CPU keeps its masks as numbers."""
    account = sa.account(block(explicit, p=0.1), params=PARAMS, sizes={"k": "d/h"})
    published = "s*b*d*(34 + 5*h*s/d)"
    on_cuda, on_cpu = (account.residuals(device=device) for device in ("cuda", "cpu"))
    assert sa.same(on_cuda.without("statistic").bytes, published)
    assert sa.same(on_cuda.bytes, f"{published} + {STATISTICS}")
    assert sa.same(on_cpu.bytes, f"{published} + 8*b*s + 2*b*s*d + b*h*s^2")
    shown = str(on_cuda)
    assert all(told in shown for told in ("of which", "cuda: dropout keeps its mask in bytes"))


def nested(x: "b d", w: "L M d d", v: "L d d"):
    def outer(h, layer):
        w, v = layer
        return sa.relu(sa.repeat("M", lambda h, w: sa.tanh(h @ w), h, xs=w) @ v)

    return sa.repeat("L", outer, x, xs=(w, v))


def tied(x: "b d", w: "d d"):
    return sa.repeat(4, lambda h, w: sa.gelu(h @ w), x, consts=w)


def states(x: "L b d", h: "b d", w: "d d"):
    def step(h, x, w):
        h = sa.tanh(x + h @ w)
        return h, h

    return sa.repeat("L", step, h, xs=x, consts=w, collect=True)[1]


def branching(p: "", x: "b d", w: "d d"):
    return sa.cond(p > 0, lambda x, w: sa.relu(x @ w) @ w, lambda x, w: x @ w, x @ w, w)


def normalised(x: "b d", w: "d d"):
    """The root mean square as torch code writes it: a power keeps what it is of, a reciprocal itself."""
    h = x @ w
    return h * ((h * h).mean(-1, keepdim=True) + 1e-5) ** -0.5


def inverted(x: "b d", w: "d d"):
    h = sa.exp(x @ w)
    return h**0.5 + 2 / h - 1 / h


def test_powers_and_reciprocals_are_kept_as_torch_does():
    """x, h and two a row: the mean that the power is of, and its result; exp and both reciprocals."""
    kept = {f: sa.account(f, params=["w"], dtype="fp32").residuals() for f in (normalised, inverted)}
    assert sa.same(kept[normalised].elements, "2*b*d + 2*b")
    assert sa.same(kept[inverted].elements, "4*b*d")
    assert sa.same(sa.account(inverted, params=["w"]).residuals("ideal").elements, "2*b*d")


def test_memories_are_merged_across_turns():
    """L turns of M products: each keeps its input once, the result of the turn before."""
    kept = sa.account(nested, params=["w", "v"]).residuals()
    assert sa.same(kept.elements, "b*d*(L*(M + 1) + 1)")
    assert sa.same(sa.account(tied, params=["w"]).residuals().elements, "8*b*d")
    assert sa.same(sa.account(states, params=["w"]).residuals().elements, "b*d*(L + 1)")
    assert sa.same(sa.account(branching, params=["w"]).residuals().elements, "3*b*d")


def test_by_and_its_words():
    kept = sa.account(block(explicit), params=PARAMS, dtype="fp32").residuals()
    assert sa.same(sum(v for name, v in kept.by("what").items() if name != "parameter"), kept.bytes)
    assert set(kept.by("dtype")) == {"fp32"}
    assert evaluate(kept.total(), {"b": 2, "s": 3, "h": 2, "k": 4}) == kept.at(b=2, s=3, h=2, k=4).value
    for wrong in ({"policy": "all"}, {"device": "tpu"}):
        with pytest.raises(ConventionError, match="of what is kept; known: "):
            sa.account(block(explicit), params=PARAMS).residuals(**wrong)
    with pytest.raises(ConventionError, match="cannot group by 'op'; known: what, scope, dtype, name"):
        kept.by("op")
    with pytest.raises(ConventionError, match="nothing that is kept is called 'masks'; known: input, parameter"):
        kept.without("masks")


def test_json_has_stable_keys():
    data = blocks(sa.relu).residuals().to_json()
    assert list(data) == ["title", "policy", "device", "gradients", "bytes", "elements", "conditions", "tensors"]
    keys = ["name", "what", "scope", "shape", "dtype", "times", "numel", "bytes", "by"]
    assert [list(t) for t in data["tensors"]] == [keys] * 3
    assert sa.same(sa.loads(data)["elements"], "b*d*(L + 1)")


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("attention", [explicit, masked, fused])
def test_a_block_keeps_what_autograd_keeps(attention, dtype):
    torch = pytest.importorskip("torch")
    from verify.autograd import saved_bytes

    sizes = {"b": 2, "s": 5, "h": 3, "k": 4}
    for p in (0.0, 0.25) if attention is not fused else (0.0,):
        layer = block(attention, p)
        account = sa.account(layer, params=PARAMS, dtype=dtype)
        kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[dtype]
        inputs = [account.graph.tensors[i] for i in account.graph.inputs]
        given = {t.name: torch.randn([evaluate(s, sizes) for s in t.shape], dtype=kind) for t in inputs}
        given = {name: t.requires_grad_(name != "x") for name, t in given.items()}
        ours = evaluate(add(r.bytes for r in account.residuals().rows), sizes)
        assert ours == saved_bytes(lambda layer=layer, given=given: layer(**given, h=3))


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (nested, {"x": "b d", "w": "L M d d", "v": "L d d"}),
        (tied, {"x": "b d", "w": "d d"}),
        (normalised, {"x": "b d", "w": "d d"}),
        (inverted, {"x": "b d", "w": "d d"}),
        (states, {"x": "L b d", "h": "b d", "w": "d d"}),
        (branching, {"p": "", "x": "b d", "w": "d d"}),
    ],
)
@pytest.mark.parametrize("wrt", ["w", "x w", "x"])
def test_loops_and_branches_keep_what_autograd_keeps(function, shapes, wrt):
    torch = pytest.importorskip("torch")
    from verify.autograd import saved_bytes

    sizes = {"b": 2, "d": 3, "L": 4, "M": 5}
    account = sa.account(function, params=["w"], dtype="fp32")
    given = {n: torch.randn([sizes[a] for a in axes.split()]) for n, axes in shapes.items()}
    given = {n: t.requires_grad_(n in wrt.split()) if n != "p" else t.abs() for n, t in given.items()}
    ours = evaluate(add(r.bytes for r in account.residuals(wrt=wrt).rows), sizes)
    assert ours == saved_bytes(lambda: function(**given))
