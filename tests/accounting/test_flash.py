"""Attention as one kernel or as three: by hand, by torch's kernels, and what is said of chains that are not merged."""

from __future__ import annotations

import importlib.util

import pytest

import symacct as sa
from symacct.graph import check
from symacct.rules import check_shapes
from symacct.symbolic import Builder, Symbolic, apply
from verify.rooms.flash import CHECKS

PLAIN = {"is_causal": True, "scale": None, "enable_gqa": True, "align": "top-left", "window": None}


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch")
@pytest.mark.parametrize("which", CHECKS, ids=lambda which: which.name)
def test_bytes_are_those_of_torchs_kernels(which):
    assert which.try_fixed() == len(which.fixed) > 0


def attend(q: "b g*r s d", k: "b g t d", v: "b g t e"):
    return sa.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


OPERANDS = "2*(b*g*r*s*d + b*g*t*d + b*g*t*e + b*g*r*s*e)"


@pytest.mark.parametrize("layout", ["ideal", "torch"])
def test_scores_are_written_and_read_twice_unless_a_flash_kernel_runs(layout):
    """Keys and values by their own heads, scores by those of queries, whatever is masked: 4 times 2 bytes."""
    flash, unfused = (sa.account(attend, layout=layout, fuse=fuse) for fuse in ("flash", "none"))
    assert sa.same(flash.bytes, OPERANDS)
    assert sa.same(unfused.bytes, f"{OPERANDS} + 8*b*g*r*s*t")
    assert flash.flops == unfused.flops
    (step,) = unfused.steps
    assert [name for name, _ in step.reads] == ["q", "k", "v", "scores", "probabilities"]
    assert unfused.total("bytes") == step.bytes
    compulsory = sa.account(attend, traffic="compulsory")
    assert sa.same(compulsory.bytes, OPERANDS)


def test_the_intensity_of_a_flash_kernel():
    """The scaling book: T*S*G/(T*G + S) for G queries a key and value head, T queries and S keys, products alone."""
    flash = sa.account(attend, fuse="flash", e="d")
    assert sa.same(flash.matmul_flops / flash.bytes, "s*t*r/(s*r + t)")


def trained(fuse):
    """A forward and its gradient in one graph."""
    builder = Builder()
    shapes = {"q": "bhsd", "k": "bhtd", "v": "bhtd", "dO": "bhsd"}
    q, k, v, grad = (
        Symbolic(builder, builder.input([builder.size(a, a) for a in axes], n)) for n, axes in shapes.items()
    )
    out, lse = apply("sdpa", q, k, v, **PLAIN)
    made = apply("sdpa_backward", grad, q, k, v, out, lse, **PLAIN)
    graph = builder.graph([out.id, *(g.id for g in made)])
    check(graph)
    check_shapes(graph)
    return sa.account(graph, fuse=fuse)


def test_the_logsumexp_is_written_where_a_gradient_reads_it():
    rows, kv = "2*b*h*s*d", "2*b*h*t*d"
    forward = f"2*{rows} + 2*{kv} + 4*b*h*s"
    backward = f"3*{rows} + 2*{kv} + 4*b*h*s + {rows} + 2*{kv}"
    flash, unfused = trained("flash"), trained("none")
    assert sa.same(flash.bytes, f"{forward} + {backward}")
    assert sa.same(unfused.bytes, f"{forward} + {backward} + (4 + 7)*2*b*h*s*t")


def test_attentions_that_differ_in_whether_their_logsumexp_is_read_are_not_alike():
    """Five attentions alike in all else, of which one has a gradient: rules are asked about both kinds."""
    builder = Builder()
    q = Symbolic(builder, builder.input([builder.size(a, a) for a in "bhsd"], "q"))
    outs = [apply("sdpa", q, q, q, **PLAIN) for _ in range(5)]
    grads = apply("sdpa_backward", q, q, q, q, *outs[0], **PLAIN)
    graph = builder.graph([*(out.id for out, _ in outs), *(g.id for g in grads)])
    account = sa.account(graph, fuse="flash")
    assert sa.same(account.bytes, "5*8*b*h*s*d + 4*b*h*s + 8*2*b*h*s*d + 4*b*h*s")


def chain(x: "b s d", bias: "s s"):
    scores = sa.where(bias > 0, x @ x.mT / 8 + bias, float("-inf"))
    return sa.dropout(sa.softmax(scores), 0.1) @ x


def test_a_chain_that_is_written_out_is_said_not_to_be_merged():
    written = sa.account(chain, fuse="flash")
    assert written.bytes == sa.account(chain).bytes
    said = "1 softmax between two products is written out and not merged"
    assert said in " ".join(str(written).split())
    assert written.to_json()["not_fused"].startswith(said)
    assert "not merged" not in str(sa.account(chain))

    def twice(x: "L b s d"):
        return sa.repeat("L", lambda _, x: ((), chain(x, x[0] @ x[0].mT)), (), xs=x, collect=True)

    assert "1 softmax between" in str(sa.account(twice, fuse="pointwise+flash")), "inside a body too, once"

    def head(x: "b d", w: "d v"):
        return sa.softmax(x @ w)

    assert "no scaled_dot_product_attention here: nothing is merged" in str(sa.account(head, fuse="flash"))
    assert "merged" not in str(sa.account(attend, fuse="flash"))


def test_a_convention_of_pairs_says_where_it_does_not_reach():
    """What is written out multiplies all pairs, whatever is masked afterwards."""
    said = "1 written out in operations, where all pairs are counted"
    assert said in str(sa.account(chain, convention="2n, attention=half"))
    assert said not in str(sa.account(chain))
    assert said not in str(sa.account(attend, convention="2n, attention=half"))
    assert sa.account(chain, convention="2n, attention=half").flops == sa.account(chain).flops


def test_both_kinds_of_kernels_together():
    def layer(q: "b h s d"):
        return sa.relu(sa.scaled_dot_product_attention(q, q, q) * 2)

    moved = {fuse: sa.account(layer, fuse=fuse).bytes for fuse in ("none", "pointwise", "flash", "pointwise+flash")}
    attention, chained = "8*b*h*s*d", "2*4*b*h*s*d"
    assert sa.same(moved["none"], f"{attention} + 8*b*h*s^2 + {chained}")
    assert sa.same(moved["pointwise"], f"{attention} + 8*b*h*s^2 + {chained}/2")
    assert sa.same(moved["flash"], f"{attention} + {chained}")
    assert sa.same(moved["pointwise+flash"], f"{attention} + {chained}/2")


def test_a_long_chain_before_a_softmax_takes_no_long_time() -> None:
    """Each operation is asked once, not once for every way that leads to it: here there are 2**60."""

    def layer(x: "n n", w: "n n"):
        x = x @ w
        for _ in range(60):
            x = x + sa.relu(x)
        return sa.softmax(x, -1) @ w

    assert "1 softmax between two products" in str(sa.account(layer, fuse="flash"))
