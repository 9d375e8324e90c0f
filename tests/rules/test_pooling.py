"""Pooling: gradients, shapes and what is kept, against torch."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.eager import KINDS
from symacct.errors import ShapeError

torch = pytest.importorskip("torch")
F = torch.nn.functional
from verify.autograd import gradients_agree, kept_bytes, saved_bytes, symbolic_gradients  # noqa: E402
from verify.rooms.adaptive import CHECKS  # noqa: E402


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
    ("max_pool", (2, 3, 8), pool_attrs(1, "max_pool", kernel=(3,), padding=(1,), ceil=True)),
    ("avg_pool", (3, 9, 8), pool_attrs(2, "avg_pool", kernel=(2, 3), ceil=True)),
    ("adaptive_avg_pool", (2, 3, 7), {"sizes": (3,)}),
    ("adaptive_avg_pool", (3, 6, 8), {"sizes": (4, 2)}),
    ("adaptive_max_pool", (2, 3, 7, 5), {"sizes": (3, 7)}),
    ("adaptive_max_pool", (2, 1, 4, 5, 4), {"sizes": (2, 1, 3)}),
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


@pytest.mark.parametrize("which", CHECKS, ids=lambda which: which.name)
def test_adaptive_counts_are_the_loops(which) -> None:
    assert which.try_fixed() == len(which.fixed) > 0


def test_global_mean() -> None:
    x = torch.randn(2, 3, 4, 5)
    torch.testing.assert_close(sa.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, 1))
    made = sa.account(lambda x: sa.adaptive_avg_pool2d(x, 1), x="2 3 4 5")
    assert made.total("flops") == 6 * 21


ADAPTIVE = [
    (sa.adaptive_avg_pool1d, F.adaptive_avg_pool1d, (2, 3, 7), 3),
    (sa.adaptive_avg_pool2d, F.adaptive_avg_pool2d, (3, 7, 8), (None, 3)),
    (sa.adaptive_avg_pool3d, F.adaptive_avg_pool3d, (2, 3, 4, 5, 6), (2, 1, 4)),
    (sa.adaptive_max_pool1d, F.adaptive_max_pool1d, (2, 3, 7), 9),
    (sa.adaptive_max_pool2d, F.adaptive_max_pool2d, (2, 3, 7, 8), 1),
    (sa.adaptive_max_pool3d, F.adaptive_max_pool3d, (3, 4, 5, 6), 2),
]


@pytest.mark.parametrize(("ours", "theirs", "shape", "size"), ADAPTIVE)
def test_adaptive_pooling_takes_torchs_arguments(ours, theirs, shape, size) -> None:
    x = torch.randn(shape)
    expected = theirs(x, size)
    torch.testing.assert_close(ours(x, size), expected)
    graph = sa.account(lambda x: ours(x, size), x=" ".join(map(str, shape))).graph
    assert graph.tensors[graph.outputs[0]].shape == tuple(expected.shape)


def test_adaptive_pooling_of_names() -> None:
    """As a pooling by windows of n/m; where n/m is a number that is no whole one, by the formula."""
    named = sa.account(lambda x: sa.adaptive_avg_pool1d(x, "m"), x="b n")
    assert [str(c) for c in named.conditions] == ["m divides n"]
    plain = sa.account(lambda x: sa.avg_pool1d(x, 4), x="b 4*m")
    assert sa.account(lambda x: sa.adaptive_avg_pool1d(x, "m"), x="b 4*m").flops == plain.flops
    odd = sa.account(lambda x: sa.adaptive_max_pool1d(x, "2*k"), x="b 3*k")
    assert sa.same(odd.flops, "4*b*k")
    assert odd.conditions == ()
    with pytest.raises(ShapeError, match=r"2 sizes pool \(batch, channels, 2 axes\)"):
        sa.account(lambda x: sa.adaptive_max_pool2d(x, 2), x="b c")


@pytest.mark.parametrize(
    ("n", "kernel", "stride", "padding"), [(8, 3, 2, 1), (10, 3, 3, 0), (9, 2, 3, 0), (5, 2, 3, 1)]
)
@pytest.mark.parametrize("ours", [sa.max_pool1d, sa.avg_pool1d])
def test_ceil_mode_has_torchs_shapes(ours, n: int, kernel: int, stride: int, padding: int) -> None:
    real = F.max_pool1d(torch.randn(2, 3, n), kernel, stride, padding, ceil_mode=True)
    x = torch.randn(2, 3, n)
    assert ours(x, kernel, stride, padding, ceil_mode=True).shape == real.shape
    graph = sa.account(lambda x: ours(x, kernel, stride, padding, ceil_mode=True), x=f"2 3 {n}").graph
    assert graph.tensors[graph.outputs[0]].shape == tuple(real.shape)


def test_a_window_that_hangs_over_with_names() -> None:
    made = sa.account(lambda x: sa.max_pool1d(x, 3, 2, 1, ceil_mode=True), x="b n")
    for n in range(3, 9):
        real = F.max_pool1d(torch.randn(1, 1, n), 3, 2, 1, ceil_mode=True)
        assert made.at(b=1, n=n).flops.value == 3 * real.numel()
    with pytest.raises(ShapeError, match="whether a last window of 2 taps with stride 3 starts on the n elements"):
        sa.account(lambda x: sa.max_pool1d(x, 2, 3, ceil_mode=True), x="b n")


def test_windows_and_strides_of_names() -> None:
    """n/k windows of k taps: an operation an element."""
    made = sa.account(lambda x: sa.max_pool1d(x, "k"), x="b m*k")
    assert sa.same(made.flops, "b*m*k")
    patches = sa.account(lambda x, w: sa.conv2d(x, w, stride="p"), x="b c m*p m*p", w="d c p p")
    assert sa.same(patches.matmul_flops, "2*b*d*m^2*c*p^2")
    dilated = sa.account(lambda x, w: sa.conv1d(x, w, dilation="r"), x="b c n", w="o c 3")
    assert sa.same(dilated.matmul_flops, "6*b*o*c*(n - 2*r)")
