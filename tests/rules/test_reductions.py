"""Reductions: the lecture's numbers, what masks sum to, torch's values, errors. Work is proved in verify/rooms."""

from __future__ import annotations

import einops
import pytest

import symacct as sa
from symacct.errors import ShapeError
from symacct.symbolic import apply


@pytest.mark.claim("S26")
def test_a_sum_of_n_is_n_or_one_less() -> None:
    def layer(x: "... hidden"):
        return einops.reduce(x, "... hidden -> ...", "sum")

    a = sa.account(layer, hidden=4, convention="exact")
    assert a.at(batch=2 * 3).flops == 2 * 3 * (4 - 1) == 18
    assert sa.account(layer, hidden=4).at(batch=2 * 3).flops == 24


@pytest.mark.claim("S26")
def test_einops_and_methods_are_the_same_reductions() -> None:
    def pattern(x: "b s d"):
        return [einops.reduce(x, "b s d -> b d", how) for how in ("sum", "mean", "max", "min")]

    def methods(x: "b s d"):
        return [x.sum(1), x.mean(1), x.amax(1), x.amin(1)]

    for convention in ("2n", "exact"):
        assert sa.account(pattern, convention=convention).flops == sa.account(methods, convention=convention).flops
    assert sa.same(sa.account(methods).flops, "4*b*s*d + b*d")


def test_a_mask_is_counted_in_whole_numbers() -> None:
    def count(x: "b n"):
        return (x > 0).sum(1)

    a = sa.account(count, dtype="bf16")
    assert a.graph.tensors[-1].dtype == "int64"
    assert sa.same(a.bytes, "2*b*n + b*n + b*n + 8*b")


def test_an_axis_that_is_not_there() -> None:
    def layer(x: "b n"):
        return apply("sum", x, axes=(2,), keepdims=False)

    with pytest.raises(ShapeError, match=r"sum: there is no axis 2 in a tensor with 2 axes\n  at test_reductions\.py"):
        sa.account(layer)


@pytest.mark.parametrize(("kind", "name"), [("max", "amax"), ("mean", "mean"), ("min", "amin"), ("sum", "sum")])
def test_they_run_as_torchs(kind: str, name: str) -> None:
    torch = pytest.importorskip("torch")
    x = torch.rand(2, 3, 4)
    for axes in ((1,), (-1, 0), (0, 1, 2)):
        for keepdims in (False, True):
            ours = apply(kind, x, axes=axes, keepdims=keepdims)
            torch.testing.assert_close(ours, getattr(torch, name)(x, dim=axes, keepdim=keepdims))
    assert apply(kind, x, axes=(), keepdims=False) is x


def test_a_product_runs_axis_by_axis() -> None:
    torch = pytest.importorskip("torch")
    x = torch.rand(2, 3, 4)
    torch.testing.assert_close(apply("prod", x, axes=(0, 2), keepdims=False), x.prod(2).prod(0))
    ours, theirs = apply("prod", x, axes=(0, -1), keepdims=True), x.prod(2, keepdim=True).prod(0, keepdim=True)
    torch.testing.assert_close(ours, theirs)
