"""Convolutions and pooling: shapes, gradients and what is kept against torch, counts against loops, peers' mistakes."""

from __future__ import annotations

import random

import pytest

import symacct as sa
from symacct.errors import InconclusiveError, ShapeError
from symacct.expr import evaluate, name
from symacct.rules import rule_of
from symacct.symbolic import Builder, Symbolic
from verify.rooms.convolution import CHECKS

torch = pytest.importorskip("torch")
F = torch.nn.functional
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from verify.autograd import gradients_agree, kept_bytes, saved_bytes, symbolic_gradients  # noqa: E402

CONV = {1: (sa.conv1d, F.conv1d), 2: (sa.conv2d, F.conv2d), 3: (sa.conv3d, F.conv3d)}
TRANSPOSED = {
    1: (sa.conv_transpose1d, F.conv_transpose1d),
    2: (sa.conv_transpose2d, F.conv_transpose2d),
    3: (sa.conv_transpose3d, F.conv_transpose3d),
}


def account(fn, *shapes, convention="2n", **options):
    """Account for a function of tensors of given shapes."""
    builder = Builder()
    out = fn(*(Symbolic(builder, builder.input(s, f"x{i}")) for i, s in enumerate(shapes)), **options)
    graph = builder.graph([out.id])
    return sa.Account(graph, sa.Convention(convention) if isinstance(convention, str) else convention, FP32)


FP32 = sa.account("i ->", dtype="fp32").dtypes


def random_case(draw: random.Random, *, transposed: bool) -> tuple[int, tuple, tuple, dict]:
    """Draw the shapes of an input and a weight, and options; None where no window fits."""
    rank = draw.randint(1, 3)
    groups = draw.choice((1, 1, 2, 3))
    channels, out = groups * draw.randint(1, 2), draw.randint(1, 2)
    batch = draw.choice(((2,), (1,), ()))
    options = {
        "stride": tuple(draw.randint(1, 3) for _ in range(rank)),
        "padding": tuple(draw.randint(0, 2) for _ in range(rank)),
        "dilation": tuple(draw.randint(1, 2) for _ in range(rank)),
        "groups": groups,
    }
    kernel = tuple(draw.randint(1, 3) for _ in range(rank))
    n = tuple(draw.randint(3, 6) for _ in range(rank))
    if transposed:
        options["output_padding"] = tuple(draw.randint(0, s - 1) for s in options["stride"])
        return rank, (*batch, channels, *n), (channels, out, *kernel), options
    return rank, (*batch, channels, *n), (groups * out, channels // groups, *kernel), options


def torch_shape(run, x: tuple, w: tuple, options: dict) -> tuple[int, ...] | None:
    """Return the shape of the result, None where torch refuses."""
    try:
        return tuple(run(torch.randn(x, dtype=torch.float64), torch.randn(w, dtype=torch.float64), **options).shape)
    except RuntimeError:
        return None


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_counts_are_the_loops(check) -> None:
    """Under each way to sum, with taps on padding and without, in numbers and in names."""
    assert check.try_fixed() == len(check.fixed) > 0
    assert check.cases is None or check.try_random(10 / check.share, 0) == 10


@pytest.mark.parametrize("seed", range(60))
def test_shapes_are_torchs(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    rank, x, w, options = random_case(draw, transposed=seed % 2 == 1)
    ours, theirs = (TRANSPOSED if seed % 2 else CONV)[rank]
    shape = torch_shape(theirs, x, w, options)
    if shape is None:
        with pytest.raises(ShapeError, match=r"does not fit|sizes are whole and at least 1"):
            account(ours, x, w, **options)
        return
    assert account(ours, x, w, **options).graph.tensors[-1].shape == shape


PEERS = {
    "h1": (2, (2, 8, 10, 10), (16, 8, 3, 3), {"padding": 1}, 230_400),
    "h2, 4 groups": (2, (2, 8, 10, 10), (16, 2, 3, 3), {"padding": 1, "groups": 4}, 57_600),
    "h3, depthwise": (2, (2, 8, 10, 10), (8, 1, 3, 3), {"padding": 1, "groups": 8}, 14_400),
    "h6, no batch": (1, (8, 10), (16, 8, 3), {"padding": 1}, 3_840),
    "h7": (2, (2, 4, 11, 15), (6, 4, 3, 5), {"stride": (2, 1), "dilation": (1, 2)}, 25_200),
}


@pytest.mark.parametrize(("rank", "x", "w", "options", "macs"), PEERS.values(), ids=PEERS)
def test_convolutions_that_counters_get_wrong(rank, x, w, options, macs) -> None:
    ours, theirs = CONV[rank]
    assert account(ours, x, w, convention="mac", **options).total("matmul_flops") == macs
    with FlopCounterMode(display=False) as counter:
        theirs(torch.randn(x), torch.randn(w), **options)
    assert counter.get_total_flops() == 2 * macs


TRANSPOSED_PEERS = {
    "F1, by the output's channels: 81": ((1, 32, 1, 1), (32, 1, 3, 3), {}, 288),
    "P1, by the output's size": ((1, 3, 2, 2), (3, 1, 2, 2), {"stride": 2}, 48),
    "h4": ((2, 8, 5, 5), (8, 6, 3, 3), {"stride": 2}, 21_600),
    "h5, 2 groups": ((2, 8, 5, 5), (8, 3, 3, 3), {"stride": 2, "groups": 2}, 10_800),
}


@pytest.mark.parametrize(("x", "w", "options", "macs"), TRANSPOSED_PEERS.values(), ids=TRANSPOSED_PEERS)
def test_transposed_convolutions_that_counters_get_wrong(x, w, options, macs) -> None:
    assert account(sa.conv_transpose2d, x, w, convention="mac", **options).total("matmul_flops") == macs


@pytest.mark.parametrize(
    ("fn", "x", "w", "options", "nominal", "exact"),
    [
        (sa.conv2d, (2, 8, 10, 10), (16, 8, 3, 3), {"padding": "same"}, 460_800, 401_408),
        (
            sa.conv_transpose2d,
            (2, 8, 5, 5),
            (8, 6, 3, 3),
            {"stride": 2, "padding": 1, "output_padding": 1},
            43_200,
            37_632,
        ),
    ],
)
def test_taps_on_padding_are_a_convention(fn, x, w, options, nominal: int, exact: int) -> None:  # noqa: PLR0917
    """What XLA counts is the exact number: 28 of 30 taps along each axis, 14 of 15."""
    for padding, flops in (("nominal", nominal), ("exact", exact)):
        assert account(fn, x, w, convention=sa.Convention(padding=padding), **options).total("flops") == flops


def conv_attrs(rank: int, **changed) -> dict:
    return {"stride": (1,) * rank, "padding": (0,) * rank, "dilation": (1,) * rank, "groups": 1, **changed}


@pytest.mark.parametrize("groups", [1, 2, 4, 8])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_backward_is_twice_the_forward_whatever_the_groups(groups: int, transposed: bool) -> None:  # noqa: FBT001
    """Torch's counter does not divide the gradient of the weight by the groups."""
    attrs = conv_attrs(2, padding=(1, 1), groups=groups)
    x, w = (2, 8, 10, 10), (16, 8 // groups, 3, 3)
    kind, forward = "conv", 460_800 // groups
    if transposed:
        attrs |= {"padding": (0, 0), "stride": (2, 2), "sizes": (11, 11)}
        kind, x, w, forward = "conv_transpose", (2, 8, 5, 5), (8, 8 // groups, 3, 3), 2 * 2 * 8 * 25 * 72 // groups
    graph = symbolic_gradients(kind, [x, w], **attrs)
    points = [rule_of(op).work(op, graph)["contract", "points"] for op in graph.ops]
    assert [2 * p for p in points] == [forward] * 3
    one = symbolic_gradients(kind, [x, w], (False, True), **attrs)
    assert [op.kind for op in one.ops] == [kind, "conv_backward_weight"]


GRADIENTS = [
    ("conv", (2, 4, 7), (6, 2, 3), conv_attrs(1, stride=(2,), padding=(1,), dilation=(2,), groups=2)),
    ("conv", (4, 7), (3, 4, 2), conv_attrs(1)),
    ("conv", (2, 3, 7, 6), (4, 3, 3, 2), conv_attrs(2, stride=(2, 3), padding=(2, 1))),
    ("conv", (1, 2, 4, 5, 6), (2, 1, 2, 3, 2), conv_attrs(3, stride=(1, 2, 2), groups=2)),
    ("conv_transpose", (2, 4, 5), (4, 3, 3), conv_attrs(1, stride=(2,), padding=(1,), groups=2, sizes=(10,))),
    ("conv_transpose", (3, 4, 5), (3, 2, 2, 3), conv_attrs(2, dilation=(2, 1), sizes=(6, 7))),
    ("conv_transpose", (1, 2, 3, 2, 2), (2, 2, 2, 2, 2), conv_attrs(3, stride=(2, 2, 2), sizes=(6, 4, 4))),
]


@pytest.mark.parametrize(("kind", "x", "w", "attrs"), GRADIENTS)
def test_gradients_are_autograds(kind: str, x: tuple, w: tuple, attrs: dict) -> None:
    channels = w[0] if kind == "conv" else w[1] * attrs["groups"]
    tensors = [torch.randn(s, dtype=torch.float64) for s in (x, w, (channels,))]
    gradients_agree(kind, tensors[:2], **attrs)
    gradients_agree(kind, tensors, **attrs)
    gradients_agree(kind, tensors, (True, False, True), **attrs)
    symbolic_gradients(kind, [x, w, (channels,)], **attrs)


@pytest.mark.parametrize(
    "needs", [(True, True, True), (True, False, False), (False, True, False), (False, False, True)]
)
@pytest.mark.parametrize("transposed", [False, True])
def test_input_and_weight_are_kept_whichever_needs_a_gradient(needs: tuple, transposed: bool) -> None:  # noqa: FBT001
    kind, run = ("conv_transpose", F.conv_transpose2d) if transposed else ("conv", F.conv2d)
    x, w, bias = (2, 3, 6, 7), (3, 3, 2, 2), (3,)
    tensors = [torch.randn(s, requires_grad=need) for s, need in zip((x, w, bias), needs, strict=True)]
    attrs = conv_attrs(2, sizes=(7, 8)) if transposed else conv_attrs(2)
    graph = symbolic_gradients(kind, [x, w, bias], **attrs)
    forward = graph._replace(ops=graph.ops[:1])
    assert kept_bytes(forward, {}, needs) == saved_bytes(lambda: run(*tensors))


def test_names_for_kernel_padding_and_groups() -> None:
    def depthwise(x: "b c n", w: "c 1 k"):
        return sa.conv1d(x, w, padding="same", groups=x.shape[1])

    a = sa.account(depthwise, convention=sa.Convention(padding="exact"))
    assert a.graph.tensors[-1].shape == tuple(name(n) for n in "bcn")
    assert "2 divides k - 1" in [str(c) for c in a.conditions]
    k, n = 5, 9
    reached = sum(0 <= o + j - k // 2 < n for o in range(n) for j in range(k))
    assert evaluate(a.total("flops"), {"b": 1, "c": 1, "k": k, "n": n}) == 2 * reached


def test_what_has_no_closed_form_is_refused_by_name() -> None:
    def layer(x: "b c n", w: "o c k"):
        return sa.conv1d(x, w, padding=1, stride=2)

    assert sa.same(sa.account(layer, k=3, n=9).flops, "30*b*c*o")
    with pytest.raises(InconclusiveError, match="under 2n with padding=exact, taps on padding have no closed form"):
        sa.account(layer, convention=sa.Convention(padding="exact")).matmul_flops  # noqa: B018


@pytest.mark.filterwarnings("ignore:Using padding='same' with even")
@pytest.mark.parametrize("n", [6, 7, 10])
@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 6])
def test_an_uneven_same_is_padding_at_both_ends(kernel: int, dilation: int, n: int) -> None:
    """Torch puts the zero that is more behind the input: taps on it are on padding, forward and going back."""
    reach = dilation * (kernel - 1)
    real = sum(0 <= o + j * dilation - reach // 2 < n for o in range(n) for j in range(kernel))

    def same(x, w):
        return sa.conv1d(x, w, padding="same", dilation=dilation)

    for sizes in ({"n": n}, {}):
        made = sa.account(same, x="b 3 n", w=f"4 3 {kernel}", convention="padding=exact", params=["w"], sizes=sizes)
        at = {"b": 2} | ({} if sizes else {"n": n})
        if not sizes and n < reach:
            continue  # the form in names holds where a window reaches over no more than there is
        assert made.at(sizes=at).matmul_flops == 2 * 2 * 3 * 4 * real
        assert made.training(wrt=["x", "w"]).total.at(sizes=at).matmul_flops == 3 * 2 * 2 * 3 * 4 * real
    x, w = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((2, 3, n), (4, 3, kernel)))
    numbers = sa.account(same, x=f"2 3 {n}", w=f"4 3 {kernel}", dtype="fp64")
    (ran,) = numbers.graph.run({}, inputs=[x, w]).outputs
    torch.testing.assert_close(ran, F.conv1d(x, w, padding="same", dilation=dilation))
