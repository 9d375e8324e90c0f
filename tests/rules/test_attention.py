"""Attention and rotary embedding: values, gradients and what is kept against torch; peers' mistakes; conventions."""

from __future__ import annotations

import itertools

import pytest

import symacct as sa
from symacct.conventions import Convention
from symacct.errors import ConventionError, GraphError, ShapeError
from symacct.expr import evaluate, name
from symacct.rules import rule_of
from symacct.symbolic import Builder, Symbolic, apply, trace
from verify.rooms.attention import CHECKS

torch = pytest.importorskip("torch")
F = torch.nn.functional
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from verify.autograd import kept_bytes, saved_bytes, symbolic_gradients  # noqa: E402

PLAIN = {"is_causal": False, "scale": None, "enable_gqa": False, "align": "top-left", "window": None}
attend = sa.scaled_dot_product_attention


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_counts_are_the_loops(check) -> None:
    assert check.try_fixed() == len(check.fixed) > 0


def graph_of(shapes, **options):
    builder = Builder()
    made = [Symbolic(builder, builder.input(s, n)) for s, n in zip(shapes, "qkv", strict=True)]
    out = attend(*made, **options)
    return builder.graph([out.id])


def account(shapes, convention="2n", dtype="fp32", **options):
    chosen = convention if isinstance(convention, Convention) else Convention(convention)
    return sa.Account(graph_of(shapes, **options), chosen, sa.account("i ->", dtype=dtype).dtypes)


def same_heads(b: int, h: int, s: int, d: int) -> list[tuple[int, ...]]:
    return [(b, h, s, d)] * 3


PEERS = {
    "T1: 0 by torch's counter on a CPU": (same_heads(1, 12, 64, 64), {}, 12_582_912),
    "T11: counted twice": (same_heads(2, 5, 9, 4), {}, 12_960),
    "T2, M8: by the heads of queries": (
        [(2, 8, 64, 16), (2, 2, 64, 16), (2, 2, 64, 16)],
        {"enable_gqa": True},
        4_194_304,
    ),
    "T4: values of another width": ([(2, 3, 5, 24), (2, 3, 7, 24), (2, 3, 7, 16)], {}, 2 * 2 * 3 * 5 * 7 * (24 + 16)),
    "b1": (same_heads(2, 8, 64, 16), {}, 2 * 2_097_152),
    "b2, a causal mask counted in full": (same_heads(2, 8, 64, 16), {"is_causal": True}, 2 * 2_097_152),
}


@pytest.mark.parametrize(("shapes", "options", "flops"), PEERS.values(), ids=PEERS)
def test_attention_that_counters_get_wrong(shapes, options, flops: int) -> None:
    assert account(shapes, **options).total("matmul_flops") == flops
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        F.scaled_dot_product_attention(*[torch.randn(s) for s in shapes], **options)
    assert counter.get_total_flops() == flops


def test_a_causal_mask_is_a_convention() -> None:
    """b2 and b4: 2080 of 64*64 pairs."""
    shapes = [(2, 8, 64, 16), (2, 2, 64, 16), (2, 2, 64, 16)]
    options = {"is_causal": True, "enable_gqa": True}
    flops = {
        value: account(shapes, Convention(attention=value), **options).total("matmul_flops")
        for value in ("full", "half", "exact")
    }
    assert flops == {"full": 4_194_304, "half": 2_097_152, "exact": 2_129_920}
    unmasked = account(same_heads(2, 8, 64, 16), Convention(attention="half")).total("matmul_flops")
    assert unmasked == 4_194_304


def test_what_a_window_does_not_see_never_counts() -> None:
    """M5: S*w - w(w-1)/2 pairs, whatever the convention."""
    for value in ("full", "half", "exact"):
        a = account(same_heads(1, 1, 9, 2), Convention(attention=value), is_causal=True, window=4)
        assert a.total("matmul_flops") == 2 * (2 + 2) * (9 * 4 - 6)


def test_one_step_with_a_cache_sees_every_key() -> None:
    shapes = [(1, 1, 1, 2), (1, 1, 7, 2), (1, 1, 7, 2)]
    exact = Convention(attention="exact")
    assert account(shapes, exact, is_causal=True, align="bottom-right").total("matmul_flops") == 2 * 4 * 7
    assert account(shapes, exact, is_causal=True).total("matmul_flops") == 2 * 4 * 1


@pytest.mark.parametrize(("products", "ratio"), [(4, 2), (5, 2.5)])
def test_backward_is_two_or_two_and_a_half_times_the_forward(products: int, ratio: float) -> None:
    """M7: a flash kernel multiplies QK^T again. T4: with widths d_k and d_v, 3*d_k + 2*d_v against d_k + d_v."""
    b, h, s, t, d, e = (name(n) for n in "bhstde")
    graph = symbolic_gradients("sdpa", [(b, h, s, d), (b, h, t, d), (b, h, t, d)], **PLAIN)
    forward, backward = (
        sa.Account(graph._replace(ops=(op,)), Convention(flash_backward=products), sa.account("i ->").dtypes)
        for op in graph.ops
    )
    assert backward.total("matmul_flops") == forward.total("matmul_flops") * ratio
    wide = symbolic_gradients("sdpa", [(b, h, s, d), (b, h, t, d), (b, h, t, e)], **PLAIN)
    wide = wide._replace(ops=wide.ops[1:])
    total = sa.Account(wide, Convention(flash_backward=products), sa.account("i ->").dtypes).total("matmul_flops")
    assert total == 2 * b * h * s * t * ((products - 2) * d + 2 * e)


def test_bytes_of_keys_and_values_go_by_their_own_heads() -> None:
    def layer(q: "b h s d", k: "b g t d", v: "b g t d"):
        return attend(q, k, v, enable_gqa=True)

    a = sa.account(layer, dtype="bf16", fuse="flash")
    assert sa.same(a.bytes, "2*(2*b*h*s*d + 2*b*g*t*d)")
    assert sa.same(a.matmul_flops, "4*b*h*s*t*d")
    assert "g divides h" in [str(c) for c in a.conditions]
    assert sa.same(sa.account(layer, dtype="bf16", traffic="compulsory").bytes, "2*(2*b*h*s*d + 2*b*g*t*d)")


CASES = {
    "plain": (same_heads(2, 3, 5, 4), {}),
    "causal": (same_heads(2, 3, 5, 4), {"is_causal": True}),
    "other lengths": ([(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4)], {"is_causal": True, "scale": 0.3}),
    "shared keys": ([(2, 6, 5, 4), (2, 2, 7, 4), (2, 2, 7, 4)], {"enable_gqa": True}),
    "wide values": ([(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)], {}),
    "no batch": ([(3, 5, 4), (3, 7, 4), (3, 7, 4)], {}),
    "no heads": ([(5, 4), (7, 4), (7, 2)], {"is_causal": True}),
}


@pytest.mark.parametrize(("shapes", "options"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("backend", ["flash", "math"])
def test_values_are_torchs(shapes, options, backend: str) -> None:
    tensors = [torch.randn(s, dtype=torch.float64) for s in shapes]
    theirs = F.scaled_dot_product_attention(*tensors, **options)
    torch.testing.assert_close(attend(*tensors, backend=backend, **options), theirs)
    graph = graph_of(shapes, backend=backend, **options)
    assert graph.tensors[graph.outputs[0]].shape == tuple(theirs.shape)
    torch.testing.assert_close(graph.run({}, inputs=tensors).outputs[0], theirs)


def test_masks_windows_and_alignment_are_a_mask_of_torch() -> None:
    shapes = [(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 4)]
    tensors = [torch.randn(s, dtype=torch.float64) for s in shapes]
    masks = torch.rand(5, 7) < 0.7, torch.randn(3, 5, 7, dtype=torch.float64)
    cases = [({"mask": m}, m) for m in masks]
    for align, window in itertools.product(("top-left", "bottom-right"), (None, 2)):
        shift = 2 if align == "bottom-right" else 0
        seen = [[j <= i + shift and (window is None or j > i + shift - window) for j in range(7)] for i in range(5)]
        cases.append(({"is_causal": True, "align": align, "window": window}, torch.tensor(seen)))
    for options, mask in cases:
        theirs = F.scaled_dot_product_attention(*tensors, attn_mask=mask)
        for backend in ("flash", "math"):
            torch.testing.assert_close(attend(*tensors, backend=backend, **options), theirs)


@pytest.mark.parametrize(("shapes", "options"), CASES.values(), ids=CASES)
def test_gradients_are_autograds(shapes, options) -> None:
    """Of the output alone; the logsumexp is kept, and no one's result."""
    attrs = {**PLAIN, **options}
    tensors = [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes]
    out = F.scaled_dot_product_attention(*tensors, **options)
    grad = torch.randn_like(out)
    theirs = torch.autograd.grad(out, tensors, grad)
    plain = [t.detach() for t in tensors]
    made = apply("sdpa", *plain, **attrs)
    ours = apply("sdpa_backward", grad, *plain, *made, **attrs)
    for mine, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, expected)
    graph = symbolic_gradients("sdpa", shapes, (True, False, True), **attrs)
    assert [op.kind for op in graph.ops] == ["sdpa", "sdpa_backward"]


@pytest.mark.parametrize("mask", [None, "bool", "numbers"])
def test_flash_keeps_what_torchs_cpu_kernel_keeps(mask: str | None) -> None:
    shapes = [(2, 6, 5, 4), (2, 2, 7, 4), (2, 2, 7, 4)]
    real = [torch.randn(s, requires_grad=True) for s in shapes]
    masks = {"bool": torch.ones(5, 7, dtype=torch.bool), "numbers": torch.zeros(5, 7)}
    options = {} if mask is None else {"attn_mask": masks[mask]}
    saved = saved_bytes(lambda: F.scaled_dot_product_attention(*real, enable_gqa=True, **options))
    builder = Builder()
    tensors = [Symbolic(builder, builder.input(s, n)) for s, n in zip(shapes, "qkv", strict=True)]
    if mask:
        dtype = "bool" if mask == "bool" else None
        tensors.append(Symbolic(builder, builder.input((5, 7), "mask", "input", dtype)))
    out = attend(*tensors, enable_gqa=True)
    graph = builder.graph([out.id])
    needs = (True, True, True, False)[: len(tensors)]
    assert kept_bytes(graph, {}, needs) == saved
    assert kept_bytes(graph, {}, (False,) * len(tensors)) == 0
    assert saved == 4 * (2 * 2 * 6 * 5 * 4 + 2 * 2 * 2 * 7 * 4 + 2 * 6 * 5) + (4 * 5 * 7 if mask else 0)


def test_math_keeps_scores() -> None:
    """Scaled queries and keys, weights and values: torch's math backend and ours, written out."""
    shapes = [(2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)]
    real = [torch.randn(s, requires_grad=True) for s in shapes]
    with sdpa_kernel(SDPBackend.MATH):
        saved = saved_bytes(lambda: F.scaled_dot_product_attention(*real))
    assert kept_bytes(graph_of(shapes, backend="math"), {}) == saved
    assert saved_bytes(lambda: attend(*real, backend="math")) == saved
    flash = account(shapes).total("matmul_flops")
    assert account(shapes, backend="math").total("matmul_flops") == flash


def test_outputs_lie_in_memory_as_queries_do() -> None:
    """So that heads split off the last axis merge back without a copy."""

    def layer(q: "b s h*d", k: "b s h*d", v: "b s h*d"):
        import einops

        heads = [einops.rearrange(x, "b s (h d) -> b h s d", h=3) for x in (q, k, v)]
        return einops.rearrange(attend(*heads), "b h s d -> b s (h d)")

    graph = trace(layer, {}, {"h": 3})
    assert all(not rule_of(op).writes(op, graph) for op in graph.ops if op.kind == "reshape")
    q = torch.randn(2, 5, 3, 4).transpose(1, 2)
    assert F.scaled_dot_product_attention(q, q, q).stride() == q.stride()


def test_the_gradient_of_a_mask_is_refused() -> None:
    with pytest.raises(GraphError, match=r"no gradient of a mask.*backend='math'"):
        symbolic_gradients("sdpa", [*same_heads(1, 2, 3, 4), (3, 3)], (True, True, True, True), **PLAIN)


Q, K = (2, 6, 5, 4), (2, 2, 7, 4)
ERRORS = [
    ([Q, K, K], {}, r"\(2, 6, 5, 4\) and \(2, 2, 7, 4\) do not fit: .*need enable_gqa=True"),
    ([Q, (2, 4, 7, 4), (2, 4, 7, 4)], {"enable_gqa": True}, "4 heads of keys do not divide 6 heads of queries"),
    ([Q, (3, 2, 7, 4), (3, 2, 7, 4)], {"enable_gqa": True}, r"batch and heads are \(2, 6\) and \(3, 2\)"),
    ([Q, (2, 6, 7, 3), (2, 6, 7, 3)], {}, "queries have the width 4, keys 3"),
    ([Q, (2, 6, 7, 4), (2, 6, 8, 4)], {}, r"\(2, 6, 7, 4\) and \(2, 6, 8, 4\) do not fit: keys and values"),
    ([(4,), (7, 4), (7, 4)], {}, r"queries of the shape \(4,\)"),
]


@pytest.mark.parametrize(("shapes", "options", "said"), ERRORS)
def test_errors_name_shapes_and_the_callers_line(shapes, options, said: str) -> None:
    with pytest.raises(ShapeError, match=said + r"(?s:.*)at test_attention.py:\d+"):
        graph_of(shapes, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"window": 3}, "a window of 3 keys goes with is_causal=True"),
        ({"is_causal": True, "align": "middle"}, "unknown alignment 'middle'"),
        ({"is_causal": True, "window": 0}, "a window of 0 keys"),
        ({"backend": "fast"}, "unknown backend 'fast' of attention; known: flash, math"),
    ],
)
def test_unknown_words_are_refused(options, said: str) -> None:
    with pytest.raises(ConventionError, match=said):
        graph_of(same_heads(1, 2, 3, 4), **options)


def test_a_mask_must_fit_and_stand_alone() -> None:
    def layer(q: "b h s d", k: "b h t d", v: "b h t d", m: "t s"):
        return attend(q, k, v, m)

    with pytest.raises(ShapeError, match="do not fit"):
        sa.account(layer)
    q = torch.randn(2, 3, 5, 4)
    with pytest.raises(ConventionError, match="put both into one mask"):
        attend(q, q, q, torch.ones(5, 5, dtype=torch.bool), is_causal=True)


def test_symbolic_sizes_give_closed_forms() -> None:
    def layer(q: "b h s d", k: "b h t d", v: "b h t e"):
        return attend(q, k, v, is_causal=True)

    exact = sa.account(layer, convention=Convention(attention="exact"))
    assert sa.same(exact.matmul_flops, "2*b*h*(s*(s + 1)/2)*(d + e)")
    assert [str(c) for c in exact.conditions] == ["t >= s"]
    softmax = sa.account(layer).total("flops") - sa.account(layer).total("matmul_flops")
    assert evaluate(softmax, {"b": 1, "h": 1, "s": 3, "t": 5, "d": 1, "e": 1}) == 6 * 15
