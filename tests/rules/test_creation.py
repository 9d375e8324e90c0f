"""Constants and masks: values against torch and counting, traffic, errors."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import ConventionError, ShapeError, UnknownOpError
from symacct.expr import name
from symacct.rules import rule_of
from symacct.rules.pairs import pairs
from symacct.symbolic import Builder, Symbolic

torch = pytest.importorskip("torch")

F = torch.nn.functional
B, S = name("b"), name("s")


def symbolic(*shapes: tuple) -> list[Symbolic]:
    builder = Builder()
    return [Symbolic(builder, builder.input(s, f"x{i}")) for i, s in enumerate(shapes)]


MASKS = [(5, 5), (3, 7), (7, 3), (1, 6), (6, 1)]


@pytest.mark.parametrize("align", ["top-left", "bottom-right"])
@pytest.mark.parametrize("window", [None, 1, 2, 9])
@pytest.mark.parametrize(("s", "t"), MASKS)
def test_masks_let_the_counted_pairs_through(s, t, window, align):
    """Torch's own attention takes its causal mask from the top left."""
    x = torch.zeros(1)
    mask = "exact" if window is None else "window"
    made = (
        sa.causal_mask(s, t, align, like=x)
        if window is None
        else sa.window_mask(s, t, window=window, align=align, like=x)
    )
    shift = t - s if align == "bottom-right" else 0
    rows, columns = torch.arange(s)[:, None] + shift, torch.arange(t)[None]
    seen = (columns <= rows) & (columns > rows - (window or s + t))
    assert torch.equal(made, seen)
    assert int(made.sum()) == pairs(s, t, mask, align, window)
    if mask == "exact" and align == "top-left":
        q, k, v = torch.randn(1, s, 4), torch.randn(1, t, 4), torch.randn(1, t, 4)
        theirs = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.testing.assert_close(F.scaled_dot_product_attention(q, k, v, attn_mask=made), theirs)


def test_constants_are_made_in_both_worlds():
    x = torch.zeros(2, 3, dtype=torch.float64)
    assert torch.equal(sa.zeros((2, 3), like=x), torch.zeros(2, 3, dtype=torch.float64))
    assert torch.equal(sa.ones((2,), like=x, dtype="fp64"), torch.ones(2, dtype=torch.float64))
    assert torch.equal(sa.arange(4, like=x), torch.arange(4))
    (x,) = symbolic((B, S))
    made = [sa.full(x.shape, 2.0, like=x), sa.arange(x.shape[1], like=x), sa.causal_mask(x.shape[0], 4, like=x)]
    graph = x.builder.graph([m.id for m in made])
    assert [(t.shape, t.dtype) for t in graph.tensors[1:]] == [((B, S), None), ((S,), "int64"), ((B, 4), "bool")]
    for op in graph.ops:
        assert (op.inputs, rule_of(op).reads(op, graph), rule_of(op).work(op, graph)) == ((), (), {})
        assert [r.shape for r in rule_of(op).writes(op, graph)] == [graph.tensors[op.outputs[0]].shape]


@pytest.mark.parametrize("made", [sa.zeros, sa.ones, lambda shape, **how: sa.full(shape, 2.0, **how)])
def test_constants_have_the_format_of_what_they_are_like(made):
    x = torch.randn(3, 4).bfloat16()
    assert made(x.shape, like=x).dtype == torch.bfloat16
    assert made(x.shape, like=x, dtype="fp32").dtype == torch.float32

    def layer(x: "b d"):
        return made(x.shape, like=sa.cast(x, "fp32")), made(x.shape, like=x)

    account = sa.account(layer, dtype="bf16")
    assert [account.formats[i].name for i in account.graph.outputs] == ["fp32", "bf16"]


def test_sums_by_index_start_from_zeros_in_half_formats():
    h, index = torch.randn(3, 4).bfloat16(), torch.tensor([[0], [1], [1]]).expand(3, 4)
    out = sa.scatter_add(sa.zeros(h.shape, like=h), index, h, 0)
    assert torch.equal(out, torch.zeros_like(h).scatter_add(0, index, h))


@pytest.mark.parametrize("seen", [{"is_causal": True}, {"is_causal": True, "window": 2}, {"mask": "of booleans"}])
def test_written_out_attention_runs_in_half_formats(seen):
    q, k, v = (torch.randn(1, 2, 4, 8).bfloat16() for _ in range(3))
    how = {"mask": torch.ones(4, 4, dtype=torch.bool).tril()} if "mask" in seen else seen
    out = sa.scaled_dot_product_attention(q, k, v, backend="math", **how)
    exact = sa.scaled_dot_product_attention(q.float(), k.float(), v.float(), **how)
    assert out.dtype == torch.bfloat16
    torch.testing.assert_close(out.float(), exact, rtol=0.05, atol=0.05)


def test_constants_that_cannot_be():
    (x,) = symbolic((B, S))
    with pytest.raises(ShapeError, match="a size of 0"):
        sa.zeros((0,), like=x)
    with pytest.raises(ConventionError, match="unknown alignment 'middle'"):
        sa.causal_mask(B, like=x, align="middle")
    with pytest.raises(ConventionError, match="a window of 0 keys"):
        sa.window_mask(4, window=0, like=x)
    with pytest.raises(UnknownOpError, match="symbolic or torch tensors, not int"):
        sa.zeros((2,), like=3)
