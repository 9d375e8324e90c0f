"""Rotary embedding: values by complex numbers, gradients and what is kept against torch, shapes that do not fit."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import GraphError, ShapeError
from symacct.symbolic import Builder, Symbolic
from verify.rooms.rotary import CHECKS

torch = pytest.importorskip("torch")
from verify.autograd import gradients_agree, kept_bytes, saved_bytes, symbolic_gradients  # noqa: E402


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_counts_are_the_programs(check) -> None:
    assert check.try_fixed() == len(check.fixed) > 0


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_turns_pairs(interleaved: bool) -> None:  # noqa: FBT001
    """As the real and imaginary parts of a product of complex numbers."""
    x, angle = torch.randn(2, 3, 5, 6, dtype=torch.float64), torch.randn(5, 3, dtype=torch.float64)
    turned = sa.rotary(x, angle.cos(), angle.sin(), interleaved=interleaved)
    pairs = x.unflatten(-1, (3, 2)) if interleaved else torch.stack(x.chunk(2, -1), -1)
    expected = torch.view_as_real(
        torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angle), angle)
    )
    expected = expected.flatten(-2) if interleaved else torch.cat(expected.unbind(-1), -1)
    torch.testing.assert_close(turned, expected)
    attrs = {"interleaved": interleaved, "back": False}
    tensors = [x, angle.cos(), angle.sin()]
    gradients_agree("rotary", tensors, (True, False, False), **attrs)
    graph = symbolic_gradients("rotary", [(2, 3, 5, 6), (5, 3), (5, 3)], (True, False, False), **attrs)
    leaf = torch.randn(2, 3, 5, 6, requires_grad=True)
    saved = saved_bytes(lambda: sa.rotary(leaf, *(t.float() for t in tensors[1:]), interleaved=interleaved))
    assert kept_bytes(graph._replace(ops=graph.ops[:1]), {}, (True, False, False)) == saved
    with pytest.raises(GraphError, match="the angles are constants"):
        gradients_agree("rotary", tensors, (True, True, False), **attrs)


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ([(2, 5, 7), (5, 3), (5, 3)], r"the last axis of \(2, 5, 7\) has no pairs"),
        ([(2, 5, 6), (5, 6), (5, 6)], r"\(2, 5, 6\) and \(5, 6\) do not fit: .* an angle a pair, 3"),
        ([(2, 5, 6), (4, 3), (4, 3)], r"\(4, 3\) and \(2, 5, 3\) do not fit"),
    ],
)
def test_rotary_shapes_are_checked(shapes, said: str) -> None:
    builder = Builder()
    with pytest.raises(ShapeError, match=said):
        sa.rotary(*(Symbolic(builder, builder.input(s, "x")) for s in shapes))
