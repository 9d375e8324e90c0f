"""Pooling: gradients, shapes and what is kept, against torch."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.eager import KINDS
from symacct.errors import ShapeError

torch = pytest.importorskip("torch")
F = torch.nn.functional
from tests.rules.autograd import gradients_agree, kept_bytes, saved_bytes, symbolic_gradients  # noqa: E402


def pool_attrs(rank: int, kind: str, **changed) -> dict:
    usual = {"kernel": (2,) * rank, "stride": (2,) * rank, "padding": (0,) * rank, "dilation": (1,) * rank}
    return usual | ({"count_include_pad": True} if kind == "avg_pool" else {}) | changed


POOLS = [
    ("max_pool", (2, 3, 9), pool_attrs(1, "max_pool", kernel=(3,), padding=(1,))),
    ("max_pool", (3, 9, 8), pool_attrs(2, "max_pool", dilation=(2, 1), stride=(1, 3))),
    ("max_pool", (2, 1, 4, 5, 4), pool_attrs(3, "max_pool")),
    ("avg_pool", (2, 3, 9), pool_attrs(1, "avg_pool", kernel=(3,), padding=(1,))),
    (
        "avg_pool",
        (3, 9, 8),
        pool_attrs(2, "avg_pool", kernel=(3, 2), stride=(2, 1), count_include_pad=False, padding=(1, 0)),
    ),
    ("avg_pool", (2, 1, 4, 5, 4), pool_attrs(3, "avg_pool")),
]


@pytest.mark.parametrize(("kind", "x", "attrs"), POOLS)
def test_pooling_is_torchs(kind: str, x: tuple, attrs: dict) -> None:
    gradients_agree(kind, [torch.randn(x, dtype=torch.float64)], **attrs)
    graph = symbolic_gradients(kind, [x], **attrs)
    leaf = torch.randn(x, requires_grad=True)
    real = KINDS[kind](leaf, **attrs)
    assert graph.tensors[graph.ops[0].outputs[0]].shape == tuple(real.shape)
    forward = graph._replace(ops=graph.ops[:1])
    assert kept_bytes(forward, {}) == saved_bytes(lambda: KINDS[kind](leaf, **attrs))
    assert kept_bytes(forward, {}, (False,)) == 0


def test_global_mean() -> None:
    x = torch.randn(2, 3, 4, 5)
    torch.testing.assert_close(sa.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, 1))
    made = sa.account(lambda x: sa.adaptive_avg_pool2d(x, 1), x="2 3 4 5")
    assert made.total("flops") == 6 * 21
    with pytest.raises(ShapeError, match=r"\(2, 3, 4, 5\) to 2; to 1 is known"):
        sa.adaptive_avg_pool2d(x, 2)
