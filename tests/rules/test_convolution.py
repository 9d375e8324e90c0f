"""Convolutions and pooling: shapes, gradients and what is kept against torch, counts against loops, peers' mistakes."""

from __future__ import annotations

import itertools
import random
from math import prod

import pytest

import symacct as sa
from symacct.conventions import tally
from symacct.eager import KINDS
from symacct.errors import ConventionError, InconclusiveError, ShapeError
from symacct.expr import evaluate, name
from symacct.rules import FORMULAS, rule_of
from symacct.symbolic import Builder, Symbolic

torch = pytest.importorskip("torch")
F = torch.nn.functional
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from tests.rules.autograd import gradients_agree, kept_bytes, saved_bytes, symbolic_gradients  # noqa: E402

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


def loops(windows, n, kernel, options, *, by_place: bool, real: bool) -> dict[tuple, int]:
    """Count products: by the window they belong to, or by the place they fall on; those on padding if not `real`."""
    found: dict[tuple, int] = {}
    for window in itertools.product(*map(range, windows)):
        for tap in itertools.product(*map(range, kernel)):
            per_axis = zip(window, tap, options["stride"], options["padding"], options["dilation"], strict=True)
            place = tuple(o * s + j * d - p for o, j, s, p, d in per_axis)
            if not real or all(0 <= at < size for at, size in zip(place, n, strict=True)):
                key = place if by_place else window
                found[key] = found.get(key, 0) + 1
    return found


def torch_shape(run, x: tuple, w: tuple, options: dict) -> tuple[int, ...] | None:
    """Return the shape of the result, None where torch refuses."""
    try:
        return tuple(run(torch.randn(x, dtype=torch.float64), torch.randn(w, dtype=torch.float64), **options).shape)
    except RuntimeError:
        return None


def expected(sums: dict[tuple, int], each: int, rows: int, way: str) -> int:
    """Return the operations of sums of `each` times as many products, `rows` times."""
    points = rows * each * sum(sums.values())
    return {"2n": 2 * points, "exact": 2 * points - rows * len(sums), "mac": points}[way]


WAYS = [sa.Convention(way, padding=padding) for way in ("2n", "exact", "mac") for padding in ("nominal", "exact")]


@pytest.mark.parametrize("seed", range(40))
def test_convolutions_are_torchs_and_counts_the_loops(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    rank, x, w, options = random_case(draw, transposed=False)
    ours, theirs = CONV[rank]
    shape = torch_shape(theirs, x, w, options)
    if shape is None:
        with pytest.raises(ShapeError, match="does not fit"):
            account(ours, x, w, **options)
        return
    for real in (False, True):
        sums = loops(shape[-rank:], x[-rank:], w[2:], options, by_place=False, real=real)
        for way in ("2n", "exact", "mac"):
            convention = sa.Convention(way, padding="exact" if real else "nominal")
            a = account(ours, x, w, convention=convention, **options)
            assert a.graph.tensors[-1].shape == shape
            assert a.total("matmul_flops") == expected(sums, w[1], prod(shape[:-rank]), way)


@pytest.mark.parametrize("seed", range(40))
def test_transposed_convolutions_are_torchs_and_counts_the_loops(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    rank, x, w, options = random_case(draw, transposed=True)
    ours, theirs = TRANSPOSED[rank]
    shape = torch_shape(theirs, x, w, options)
    if shape is None:
        with pytest.raises(ShapeError, match="sizes are whole and at least 1"):
            account(ours, x, w, **options)
        return
    each = w[0] // options["groups"]  # an output channel sums over the input channels of its group
    for real in (False, True):
        sums = loops(x[-rank:], shape[-rank:], w[2:], options, by_place=True, real=real)
        for way in ("2n", "exact", "mac"):
            convention = sa.Convention(way, padding="exact" if real else "nominal")
            a = account(ours, x, w, convention=convention, **options)
            assert a.graph.tensors[-1].shape == shape
            assert a.total("matmul_flops") == expected(sums, each, prod(shape[:-rank]), way)


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


@pytest.mark.parametrize(("kind", "x", "attrs"), POOLS)
def test_pooling_counts_the_loops(kind: str, x: tuple, attrs: dict) -> None:
    """Each window a reduction, of a mean a division too; its gradient divides once a window and adds to each tap."""
    rank, graph = len(attrs["kernel"]), symbolic_gradients(kind, [x], **attrs)
    rows = prod(x[:-rank])
    windows = graph.tensors[graph.ops[0].outputs[0]].shape[-rank:]
    for way in WAYS:
        real = way.padding == "exact"
        flops = [sum(tally(rule_of(op).work(op, graph), way, FORMULAS).values()) for op in graph.ops]
        by_window, by_place = (
            loops(windows, x[-rank:], attrs["kernel"], attrs, by_place=place, real=real) for place in (False, True)
        )
        less = way.contraction == "exact"
        divisions = rows * prod(windows) if kind == "avg_pool" else 0
        assert flops[0] == rows * (sum(by_window.values()) - less * len(by_window)) + divisions
        backward = rows * prod(windows)
        if kind == "avg_pool":
            backward = rows * (sum(by_place.values()) - less * len(by_place)) + divisions
        assert flops[1] == backward


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


def test_padding_same_of_an_even_kernel_pads_a_copy() -> None:
    a = account(sa.conv1d, (2, 3, 8), (5, 3, 4), padding="same")
    assert [op.kind for op in a.graph.ops] == ["pad", "conv"]
    assert a.graph.tensors[-1].shape == (2, 5, 8)
    x, w = torch.randn(2, 3, 8, requires_grad=True), torch.randn(5, 3, 4, requires_grad=True)
    with pytest.warns(UserWarning, match="zero-padded copy"):
        saved = saved_bytes(lambda: F.conv1d(x, w, padding="same"))
    assert kept_bytes(a.graph, {}) == saved
    ours = sa.conv1d(x, w, padding="same")
    torch.testing.assert_close(ours, F.conv1d(x, w, padding="same"))


@pytest.mark.parametrize("seed", range(40))
def test_closed_forms_hold_at_any_size(seed: int) -> None:
    """With names for batch, channels and the sizes of axes, at sizes that meet the conditions."""
    draw = random.Random(seed)  # noqa: S311
    rank, _, w, options = random_case(draw, transposed=seed % 2 == 1)
    fn = (TRANSPOSED if seed % 2 else CONV)[rank][0]
    groups = options["groups"]
    letters = {"b": 2, "c": groups * 2, "o": groups * 3, **{f"n{i}": draw.randint(5, 8) for i in range(rank)}}
    c, o = name("c"), name("o")
    weight = (c, o / groups, *w[2:]) if seed % 2 else (o, c / groups, *w[2:])
    shape = (name("b"), c, *(name(f"n{i}") for i in range(rank)))
    for way in WAYS:
        try:
            form = account(fn, shape, weight, convention=way, **options)
            ours = evaluate(form.total("matmul_flops"), letters)
        except InconclusiveError:
            continue
        if not all(
            evaluate(k.left, letters) >= evaluate(k.right, letters) for k in form.conditions if k.kind == "at_least"
        ):
            continue
        plain = [tuple(evaluate(s, letters) for s in sizes) for sizes in (shape, weight)]
        assert ours == account(fn, *plain, convention=way, **options).total("matmul_flops")


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


def test_global_mean() -> None:
    x = torch.randn(2, 3, 4, 5)
    torch.testing.assert_close(sa.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, 1))
    assert account(sa.adaptive_avg_pool2d, (2, 3, 4, 5), output_size=1).total("flops") == 6 * 21
    with pytest.raises(ShapeError, match=r"\(2, 3, 4, 5\) to 2; to 1 is known"):
        sa.adaptive_avg_pool2d(x, 2)


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
    (sa.conv1d, ((2, 3, 8), (4, 3, 3)), {"stride": name("s")}, "the stride s is a name"),
    (sa.conv_transpose1d, ((2, 3, 8), (3, 4, 3)), {"output_padding": 1}, "less than the stride"),
    (sa.max_pool1d, ((2, 3, 8),), {"kernel_size": 2, "padding": 2}, "padding of 2 is more than half of a kernel of 2"),
    (sa.max_pool2d, ((3, 8),), {"kernel_size": 2}, r"2 axes.*not \(3, 8\)"),
]


@pytest.mark.parametrize(("fn", "shapes", "options", "said"), ERRORS)
def test_errors_name_shapes_and_the_callers_line(fn, shapes, options, said: str) -> None:
    with pytest.raises(ShapeError, match=said + r"(?s:.*)at test_convolution.py:\d+"):
        account(fn, *shapes, **options)


def test_unknown_padding_is_refused() -> None:
    with pytest.raises(ConventionError, match=r"unknown padding 'full'.*known: sizes, same, valid"):
        account(sa.conv1d, (2, 3, 8), (4, 3, 3), padding="full")
    with pytest.raises(ConventionError, match="needs stride 1"):
        account(sa.conv1d, (2, 3, 8), (4, 3, 3), padding="same", stride=2)
