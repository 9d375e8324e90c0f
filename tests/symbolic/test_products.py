"""Matrix multiplication and einops' einsum of symbolic tensors against torch: shapes, broadcasting, copies; errors."""

from __future__ import annotations

import pytest

import symacct as sa
import symacct.symbolic.einops_backend  # einops finds the backend once it is loaded
from symacct.errors import GraphError, ShapeError
from symacct.expr import evaluate, product
from symacct.rules import rule_of
from symacct.symbolic import Builder, Symbolic
from verify.rooms.layouts import SIZES

torch = pytest.importorskip("torch")
einops = pytest.importorskip("einops")
from verify.autograd import Copies, symbolic  # noqa: E402

MATMULS = [
    ("vector by vector", (8,), (8,), 8),
    ("matrix by vector", (4, 8), (8,), 32),
    ("vector by matrix", (8,), (8, 5), 40),
    ("vector by batch", (8,), (3, 8, 5), 120),
    ("batch by vector", (3, 4, 8), (8,), 96),
    ("batch by matrix", (5, 10, 3), (3, 8), 1200),
    ("matrix by batch", (4, 8), (3, 8, 5), 480),
    ("batches that broadcast", (2, 1, 4, 8), (3, 8, 5), 960),
    ("a batch of one", (1, 4, 8), (3, 8, 5), 480),
]


@pytest.mark.parametrize(("a", "b", "macs"), [m[1:] for m in MATMULS], ids=[m[0] for m in MATMULS])
@pytest.mark.claim("S21")
def test_matmul_is_torchs(a: tuple, b: tuple, macs: int) -> None:
    """Multiply-accumulates are prod(output) * inner, whatever broadcasts; gradients too come out in shape."""
    builder = Builder()
    left, right = (Symbolic(builder, builder.input(s, n)) for s, n in ((a, "left"), (b, "right")))
    out = left @ right
    x, y = torch.randn(a), torch.randn(b)
    assert tuple(out.shape) == tuple((x @ y).shape)
    graph = builder.graph([out.id])
    account = sa.Account(graph, sa.Convention("mac"), sa.account("i ->").dtypes)
    assert account.counts == {"MAC": macs}
    ran = graph.run({}, inputs=[x, y])
    torch.testing.assert_close(ran.outputs[0], x @ y)


@pytest.mark.parametrize(
    ("axes", "memory"),
    [
        ("abcd,abde", "abcd,abde"),
        ("abcd,abde", "acbd,adbe"),
        ("abcd,abde", "abcd,adbe"),
        ("abcd,de", "abcd,de"),
        ("acd,de", "cad,ed"),
        ("1bcd,a1de", "1bcd,a1de"),
        ("abcd,d", "abcd,d"),
        ("d,ade", "d,ade"),
    ],
)
def test_matmul_copies_what_torch_copies(axes: str, memory: str) -> None:
    """One matrix or vector beside a batch needs a gradient here: else torch may take it as a batch of stride 0."""
    sizes = {**SIZES, "1": 1}
    pairs = list(zip(axes.split(","), memory.split(","), strict=True))
    real = [torch.randn([sizes[n] for n in there], requires_grad=True) for _, there in pairs]
    ours = symbolic(*[there for _, there in pairs], units="1")
    orders = [tuple(there.index(n) for n in here) for here, there in pairs]
    with Copies() as seen:
        theirs = real[0].permute(orders[0]) @ real[1].permute(orders[1])
    out = ours[0].permute(orders[0]) @ ours[1].permute(orders[1])
    graph = out.builder.graph([out.id])
    copies = [r for op in graph.ops for r in rule_of(op).copies(op, graph)]
    assert sorted(evaluate(product(r.shape), sizes) for r in copies) == sorted(seen.copied)
    assert theirs.is_contiguous()
    assert out.tensor.strides is None


def test_a_broadcast_operand_is_read_once_where_nothing_is_copied() -> None:
    def layer(x: "b 1 s d", y: "h d k"):
        return x @ y

    account = sa.account(layer, layout="ideal", dtype="int8")
    assert sa.same(account.flops, "2*b*h*s*d*k")
    assert sa.same(account.bytes, "b*s*d + h*d*k + b*h*s*k")


@pytest.mark.parametrize(
    ("pattern", "shapes"),
    [
        ("... i k, ... k j -> ... i j", ((2, 1, 4, 8), (3, 8, 5))),
        ("... i k, k j -> ... i j", ((2, 3, 4, 8), (8, 5))),
        ("... i, ... i -> ...", ((2, 1, 4), (3, 4))),
        ("... i, ... i -> i ...", ((1, 4), (1, 4))),
        ("... i -> i", ((2, 3, 4),)),
        ("a ..., ... b -> a b", ((4, 1, 3), (2, 3, 5))),
        ("a b, b c, c d -> a d", ((2, 3), (3, 4), (4, 5))),
    ],
)
@pytest.mark.claim("S24", "S25")
def test_einops_einsum_broadcasts_as_torch_does(pattern: str, shapes: tuple) -> None:
    builder = Builder()
    ours = einops.einsum(*[Symbolic(builder, builder.input(s, "x")) for s in shapes], pattern)
    real = [torch.randn(s) for s in shapes]
    with torch.backends.opt_einsum.flags(enabled=False):
        theirs = einops.einsum(*real, pattern)
    ran = builder.graph([ours.id]).run({}, inputs=real).outputs[0]
    assert tuple(ours.shape) == tuple(theirs.shape)
    torch.testing.assert_close(ran, theirs)


def mismatched(x: "b s d", w: "k d"):
    return einops.einsum(x, w, "b s d, d k -> b s k")


def matmul_mismatched(x: "b s d", w: "k d"):
    return x @ w


def batches_mismatched(x: "b s d", w: "k d s"):
    return x @ w


def too_many_axes(x: "b s d", w: "d"):
    return einops.einsum(x, w, "b d, d -> b")


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (mismatched, r"einsum: the shapes \(b, s, d\) and \(k, d\) do not fit: one axis is d and k"),
        (matmul_mismatched, r"matmul: the shapes \(b, s, d\) and \(k, d\) do not fit"),
        (batches_mismatched, r"matmul: the shapes \(b, s, d\) and \(k, d, s\) do not fit"),
        (too_many_axes, r"einsum: Symbolic\(x: b, s, d\) has 3 axes, the pattern 'ab' another number"),
    ],
)
def test_errors_name_shapes_and_the_callers_line(layer, said: str) -> None:
    with pytest.raises(ShapeError, match=said + rf"(?s:.*)at test_products.py:\d+, in {layer.__name__}"):
        sa.account(layer)


def test_symbolic_and_real_tensors_do_not_mix() -> None:
    def layer(x: "b d"):
        return einops.einsum(x, torch.ones(3, 4), "b d, d k -> b k")

    with pytest.raises(GraphError, match="Tensor beside symbolic tensors"):
        sa.account(layer)
