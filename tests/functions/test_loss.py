"""Losses: closed forms, traffic, torch's own functions, errors."""

from __future__ import annotations

from typing import Any

import pytest

import symacct as sa
from symacct.errors import ConventionError, DtypeError, ShapeError


def test_cross_entropy_of_rows() -> None:
    def loss(logits: "b v", targets: "b"):
        return sa.cross_entropy(logits, targets)

    a = sa.account(loss, dtype="bf16")
    assert sa.same(a.flops, "b*(5*v + 1) + b + 2")
    assert sa.same(sa.account(loss, convention="exact").flops, "b*(5*v - 1) + b - 1 + 2")
    # logits in, log-probabilities out, one of them a target and the target in, the loss and the count out
    assert sa.same(a.bytes, "2*b*v + 2*b*v + 2*b + 8*b + 2 + 2")
    assert [s.kind for s in a.steps] == ["log_softmax", "nll_loss"]


def test_classes_may_be_the_last_axis() -> None:
    def last(logits: "b s v", targets: "b s", how: tuple[str]):
        return sa.cross_entropy(logits, targets, *how, dim=-1)

    def torchs(logits: "b v s", targets: "b s", how: tuple[str]):
        return sa.cross_entropy(logits, targets, *how)

    for reduction, rest, results in (("mean", "b*s + 2", "1"), ("sum", "b*s + 1", "1"), ("none", "b*s", "b*s")):
        for loss in (last, torchs):
            a = sa.account(loss, how=(reduction,), dtype="fp32")
            assert sa.same(a.flops, f"b*s*(5*v + 1) + {rest}")
            assert sa.same(a.bytes, f"4*2*b*s*v + (4 + 8)*b*s + 4*({results} + 1)")


def test_squared_error() -> None:
    def loss(x: "n", y: "n", how: tuple[str]):
        return sa.mse_loss(x, y, *how)

    found = [sa.account(loss, how=(r,), convention=c).flops for r in ("mean", "sum", "none") for c in ("2n", "exact")]
    assert [str(f) for f in found] == ["3*n + 1", "3*n", "3*n", "3*n - 1", "2*n", "2*n"]


@pytest.mark.claim("S53")
def test_the_lectures_loss_has_its_gradient() -> None:
    """0.5 * (x.w - 5)^2 at x = (1, 2, 3), w = 1: loss 0.5, gradient (1, 2, 3)."""
    torch = pytest.importorskip("torch")
    x, w = torch.tensor([1.0, 2.0, 3.0]), torch.ones(3, requires_grad=True)
    loss = 0.5 * sa.mse_loss(x @ w, torch.tensor(5.0))
    loss.backward()
    assert loss.item() == 0.5
    assert w.grad.tolist() == [1, 2, 3]


MISTAKES = {
    r"nll_loss: the shapes \(b, v\) and \(c,\) do not fit: the targets have to be \(b,\)": (
        lambda logits, targets: sa.cross_entropy(logits[0], targets)
    ),
    r"cross_entropy: the shapes \(s, b, v\) and \(c,\) do not fit: the classes are the last axis": (
        lambda logits, targets: sa.cross_entropy(logits, targets, dim=-1)
    ),
    "cross_entropy: the classes are on axis 2": lambda logits, targets: sa.cross_entropy(logits, targets, dim=2),
    r"mse_loss: the shapes \(s, b, v\) and \(c,\) differ": sa.mse_loss,
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_name_shapes_and_line(message: str) -> None:
    def loss(logits: "s b v", targets: "c"):
        return MISTAKES[message](logits, targets)

    with pytest.raises(ShapeError, match=message) as caught:
        sa.account(loss)
    assert "at test_loss.py:" in str(caught.value)


def test_targets_are_integers() -> None:
    def loss(logits: "b v", targets: "b"):
        return sa.cross_entropy(logits, targets)

    def half(logits: "b v", targets: "b"):
        return sa.cross_entropy(logits, targets * 0.5)

    assert sa.account(loss).graph.tensors[1].dtype == "int64"
    with pytest.raises(DtypeError, match="as indices, which are integers"):
        sa.account(half)


def test_an_unknown_reduction() -> None:
    with pytest.raises(ConventionError, match="cross_entropy: unknown reduction 'max'; known: mean, sum, none"):
        sa.cross_entropy(None, None, "max")


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_torchs_functions_and_ours_are_the_same(reduction: str) -> None:
    torch = pytest.importorskip("torch")
    f = torch.nn.functional
    draw = torch.Generator().manual_seed(0)

    def both(logits: Any, targets: Any, **how: Any) -> None:
        ours = sa.cross_entropy(logits, targets, reduction, 2, **how)
        moved = logits.movedim(-1, min(1, logits.ndim - 1)) if how else logits
        torch.testing.assert_close(ours, f.cross_entropy(moved, targets, reduction=reduction, ignore_index=2))

    both(torch.randn(5, 7, generator=draw), torch.tensor([0, 2, 6, 1, 2]))
    both(torch.randn(7, generator=draw), torch.tensor(3))
    both(torch.randn(5, 7, 2, 3, generator=draw), torch.randint(7, (5, 2, 3), generator=draw))
    both(torch.randn(5, 2, 7, generator=draw), torch.randint(7, (5, 2), generator=draw), dim=-1)
    both(torch.randn(7, generator=draw), torch.tensor(3), dim=-1)
    x, y = torch.randn(4, 3, generator=draw), torch.randn(4, 3, generator=draw)
    torch.testing.assert_close(sa.mse_loss(x, y, reduction), f.mse_loss(x, y, reduction=reduction))
