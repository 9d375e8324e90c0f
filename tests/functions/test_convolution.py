"""Convolutions and pooling as a user calls them: padding by name, wrong shapes and options."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import ConventionError, ShapeError
from symacct.symbolic import Builder, Symbolic

torch = pytest.importorskip("torch")
F = torch.nn.functional
from verify.autograd import kept_bytes, saved_bytes  # noqa: E402


def graph_of(fn, *shapes, **options):
    builder = Builder()
    out = fn(*(Symbolic(builder, builder.input(s, f"x{i}")) for i, s in enumerate(shapes)), **options)
    return builder.graph([out.id])


def test_padding_same_of_an_even_kernel_pads_a_copy() -> None:
    graph = graph_of(sa.conv1d, (2, 3, 8), (5, 3, 4), padding="same")
    assert [op.kind for op in graph.ops] == ["pad", "conv"]
    assert graph.tensors[-1].shape == (2, 5, 8)
    x, w = torch.randn(2, 3, 8, requires_grad=True), torch.randn(5, 3, 4, requires_grad=True)
    with pytest.warns(UserWarning, match="zero-padded copy"):
        saved = saved_bytes(lambda: F.conv1d(x, w, padding="same"))
    assert kept_bytes(graph, {}) == saved
    ours = sa.conv1d(x, w, padding="same")
    torch.testing.assert_close(ours, F.conv1d(x, w, padding="same"))


ERRORS = [
    (
        sa.conv2d,
        ((2, 3, 8, 8), (4, 5, 3, 3)),
        {},
        r"\(2, 3, 8, 8\) and \(4, 5, 3, 3\) do not fit: 3 input channels against 5",
    ),
    (sa.conv2d, ((2, 3, 8, 8), (4, 1, 3, 3)), {"groups": 3}, "3 groups do not divide 4 channels"),
    (sa.conv2d, ((2, 3, 8), (4, 3, 3)), {}, r"conv2d: the shapes \(2, 3, 8\) and \(4, 3, 3\) do not fit"),
    (
        sa.conv1d,
        ((2, 3, 2), (4, 3, 3)),
        {},
        "a kernel of 3 taps, 1 apart, does not fit into 2 elements with 0 of padding",
    ),
    (sa.conv1d, ((2, 3, 8), (4, 3, 3), (5,)), {}, r"\(5,\) and \(4, 3, 3\) do not fit: a bias has the shape \(4,\)"),
    (sa.conv1d, ((2, 3, 8), (4, 3, 3)), {"stride": 0}, "a stride of 0; it is at least 1"),
    (sa.conv1d, ((2, 3, 8), (4, 3, 3)), {"stride": (1, 1)}, "2 values of stride for 1 axes"),
    (sa.conv_transpose1d, ((2, 3, 8), (3, 4, 3)), {"output_padding": 1}, "less than the stride"),
    (sa.max_pool1d, ((2, 3, 8),), {"kernel_size": 2, "padding": 2}, "padding of 2 is more than half of a kernel of 2"),
    (sa.max_pool2d, ((3, 8),), {"kernel_size": 2}, r"2 axes.*not \(3, 8\)"),
]


@pytest.mark.parametrize(("fn", "shapes", "options", "said"), ERRORS)
def test_errors_name_shapes_and_the_callers_line(fn, shapes, options, said: str) -> None:
    with pytest.raises(ShapeError, match=said + r"(?s:.*)at test_convolution.py:\d+"):
        graph_of(fn, *shapes, **options)


def test_unknown_padding_is_refused() -> None:
    with pytest.raises(ConventionError, match=r"unknown padding 'full'.*known: sizes, same, valid"):
        graph_of(sa.conv1d, (2, 3, 8), (4, 3, 3), padding="full")
    with pytest.raises(ConventionError, match="needs stride 1"):
        graph_of(sa.conv1d, (2, 3, 8), (4, 3, 3), padding="same", stride=2)
