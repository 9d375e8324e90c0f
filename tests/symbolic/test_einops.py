"""The real einops on symbolic tensors: shapes and values against einops on torch; every wrong size is caught."""

from __future__ import annotations

import math
import random
import re

import einops
import numpy as np
import pytest
import sympy

import symacct as sa
from symacct.errors import ShapeError, SizeError, SymacctError, UndefinedSizeError
from symacct.expr import evaluate, name
from symacct.rules import rule_of
from symacct.rules.rule import strides_of
from symacct.symbolic import Builder, Symbolic, wrap

torch = pytest.importorskip("torch")

from symacct.eager.run import run  # noqa: E402

SIZES = {"b": 2, "s": 3, "d": 20, "h": 4, "k": 5, "c": 3, "t": 7}

SAME = [
    ("b s d", lambda x: einops.rearrange(x, "b s d -> s d b")),
    ("b s d", lambda x: einops.rearrange(x, "b s d -> b (s d)")),
    ("b s d", lambda x: einops.rearrange(x, "b s d -> (d b) s")),
    ("b s h*k", lambda x: einops.rearrange(x, "b s (h k) -> b h s k", h=4)),
    ("b s h*k", lambda x: einops.rearrange(x, "b s (k h) -> (b h) s k", h=4)),
    ("b s d", lambda x: einops.rearrange(x, "b s (h k) -> b h s k", k=5)),
    ("b h s k", lambda x: einops.rearrange(x, "b h s k -> b s (h k)")),
    ("b s d", lambda x: einops.rearrange(x, "b s d -> b 1 s d 1")),
    ("b 1 d", lambda x: einops.rearrange(x, "b 1 d -> d b")),
    ("b s d", lambda x: einops.rearrange(x, "... d -> d ...")),
    ("b s d", lambda x: einops.rearrange(x, "b ... -> (b ...)")),
    ("b 6 8 c", lambda x: einops.rearrange(x, "b (h p) (w q) c -> b (h w) (p q c)", p=3, q=2)),
    ("b s d", lambda x: einops.rearrange([x, x, x], "n b s d -> b (n s) d")),
    ("b s d", lambda x: einops.reduce(x, "b s d -> b d", "sum")),
    ("b s d", lambda x: einops.reduce(x, "b s d -> s", "mean")),
    ("b s d", lambda x: einops.reduce(x, "b s d -> b 1 d", "max")),
    ("b s d", lambda x: einops.reduce(x, "b s d -> ", "min")),
    ("b c d", lambda x: einops.reduce(x, "b c (w p) -> b c w", "mean", p=4)),
    ("b s d", lambda x: einops.reduce(x, "... d -> ...", "sum")),
    ("c t", lambda x: einops.reduce(x, "c t -> c", "prod")),
    ("s d", lambda x: einops.repeat(x, "s d -> b s d", b=2)),
    ("s d", lambda x: einops.repeat(x, "s d -> (s r) d", r=3)),
    ("s d", lambda x: einops.repeat(x, "s d -> (r s) (d q)", r=3, q=2)),
    ("s 1", lambda x: einops.repeat(x, "s 1 -> s r", r=7)),
    ("b h s k", lambda x: einops.repeat(x, "b h s k -> b (h r) s k", r=2)),
    ("b s d", lambda x: einops.pack([x, x[:, 0], x[:, :2]], "b * d")[0]),
    ("b s 11", lambda x: einops.unpack(x, [(4,), (2, 3), ()], "b s *")[1]),
    ("b s 11", lambda x: einops.unpack(x, [(4,), (2, 3), ()], "b s *")[2]),
    ("b s d", lambda x: einops.rearrange(x, "b s d -> (s b) d", **einops.parse_shape(x, "b s _"))),
    ("b s d", lambda x: einops.unpack(x, [(4,), (-1,), (2, 3)], "b s *")[1]),
    ("b s d", lambda x: einops.unpack(x, [(4,), (-1,), (2, 3)], "b s *")[2]),
    ("b s d", lambda x: einops.einsum(x, x, "b s d, b t d -> b s t")),
    ("b s d", lambda x: einops.einsum(x, x, x, "... s d, ... t d, ... t k -> ... s k")),
]


@pytest.mark.claim("S21", "S24", "S25", "S26", "S27")
@pytest.mark.parametrize(("shape", "what"), SAME)
def test_shapes_and_values_are_those_of_einops_on_torch(shape, what):
    """What is recorded runs on arange, so that the order of every index shows."""
    graph = sa.account(what, x=shape).graph
    numbers = [evaluate(s, SIZES) for s in graph.tensors[0].shape]
    x = torch.arange(1, 1 + torch.Size(numbers).numel(), dtype=torch.float64).reshape(numbers)
    expected = what(x)
    (ours,) = run(graph, SIZES, inputs=[x]).outputs
    assert [evaluate(s, SIZES) for s in graph.tensors[graph.outputs[0]].shape] == list(expected.shape)
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=0)


def symbolic(*shape) -> Symbolic:
    import symacct.symbolic.einops_backend  # noqa: F401 # einops finds it once it is loaded

    builder = Builder()
    sizes = tuple(name(s) if isinstance(s, str) else s for s in shape)
    return Symbolic(builder, builder.input(sizes, "x"))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: einops.reduce(x, "b s d -> b d", "mean", s=7),
        lambda x: einops.reduce(x, "b s d -> b d", "sum", d=x.shape[1]),
        lambda x: einops.reduce(x, "b s d -> b d", "mean", s="t"),
        lambda x: einops.reduce(x, "b s d -> b d", "mean", s="d + 1"),
        lambda x: einops.reduce(x, "b s d -> b d", "mean", s=sympy.Symbol("t")),
        lambda x: einops.reduce(x, "b s d -> b d", "mean", s=name("t")),
        lambda x: einops.reduce(x, "b s d -> b d", "mean", s=np.int64(7)),
        lambda x: einops.reduce(x, "b s d -> b d", "mean", s=7.0),
        lambda x: einops.reduce(x, "b s d -> b d", "mean", s=[7]),
        lambda x: einops.reduce(x, "... d -> ...", "sum", d="s"),
        lambda x: einops.reduce(x[:, :6], "b s d -> b d", "sum", s=np.int64(7)),
        lambda x: einops.rearrange(x, "b s d -> d s b", s="t"),
        lambda x: einops.rearrange(x, "b s ... -> ... s b", s="t"),
        lambda x: einops.rearrange(x, "b (s r) d -> b s r d", s=2, r="t"),
        lambda x: einops.rearrange([x, x], "n b s d -> n s b d", n="m"),
        lambda x: einops.repeat(x, "b s d -> b s d r", s="t", r=2),
        lambda x: einops.repeat(x, "b s d -> b s d r", s=7, r=2),
        lambda x: einops.rearrange(x, "b s d -> s b d", s=7),
        lambda x: einops.rearrange(x, "b s d -> s b d", s=x.shape[0]),
        lambda x: einops.rearrange(x, "b (s r) d -> r b s d", s=x.shape[1], r=2),
        lambda x: einops.rearrange(x, "b (h k) d -> h b k d", h=x.shape[0], k=x.shape[2]),
        lambda x: einops.rearrange(x, "b (h k) d -> h b k d", h=2, k=3),
        lambda x: einops.reduce(x, "b s (w p) -> b s w", "max", w=2, p=x.shape[2]),
        lambda x: einops.rearrange(x, "b 1 d -> b d"),
        lambda x: einops.rearrange([x, x[:, :2]], "n b s d -> n b s d"),
        lambda x: einops.pack([x, x[:2]], "b * d"),
        lambda x: einops.unpack(x, [(2,), (3,)], "b s *"),
        lambda x: einops.unpack(x[:, :6], [(2,), (3,)], "b * d"),
        lambda x: einops.einsum(x, x, "b s d, s b d -> b d"),
        lambda x: einops.einsum(x, x, "b s d, b d -> s"),
        lambda x: einops.repeat(x, "b s d -> b s d r", r=0),
        lambda x: einops.repeat(x, "b s d -> b s d r", r=-1),
        lambda x: einops.repeat(x, "b s d -> b s (d r)", r=-2),
        lambda x: einops.rearrange(x[:, :6], "b (h k) d -> b h k d", h=4),
        lambda x: einops.reduce(x, "b s d -> b", "median"),
    ],
)
def test_no_wrong_size_passes_in_silence(wrong):
    """With sizes that einops does not take for ints the first ones pass whatever they are."""
    with pytest.raises((einops.EinopsError, SymacctError)):
        wrong(symbolic("b", "s", "d"))


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (lambda x: list(range(x.shape[0])), UndefinedSizeError),
        (lambda x: x.shape[0] > 2, UndefinedSizeError),
        (lambda x: 1 if x.shape[0] else 2, UndefinedSizeError),
        (lambda x: int(x.shape[0]), UndefinedSizeError),
        (lambda x: [1, 2, 3][x.shape[0]], UndefinedSizeError),
        (lambda x: x.reshape(x.shape[0] / x.shape[0] / 2, -1), SizeError),
    ],
)
def test_a_size_that_is_a_name_is_no_number(asked, error):
    with pytest.raises(error):
        asked(symbolic("b", "s"))


def test_names_in_text_are_sizes_where_einops_leaves_them_alone():
    x = symbolic("b", "s", "d")
    assert einops.reduce(x, "b s d -> b d", "mean", s="s").tensor.shape == (name("b"), name("d"))
    assert einops.rearrange(x, "b s (h k) -> b s h k", h="h").tensor.shape[2:] == (name("h"), name("d") / name("h"))
    with pytest.raises(
        SizeError, match=r"h='q'.*sizes are put in for that; make it an argument, h: int\n  at test_einop"
    ):
        sa.account(lambda x: einops.rearrange(x, "b (h k) -> b h k", h="q"), x="b d", q=4)


def test_an_axis_is_split_by_a_sum_and_merged_again():
    def layer(x: "b d", y: "s"):
        split = einops.rearrange(x, "b (s k) -> b s k", s=y.shape[0] + 1)
        return einops.rearrange(split * 2, "b s k -> b (s k)") + x

    account = sa.account(layer)
    assert [str(c) for c in account.conditions] == ["(s + 1) divides d"]
    assert sa.same(account.bytes, "10*b*d")
    account.graph.run({"b": 2, "d": 12, "s": 3})


def test_divisions_become_conditions_also_the_second_time():
    """Recipes are remembered by einops, so a division is executed once only: the condition lies in the shape."""
    for _ in range(2):
        graph = sa.account(lambda x: einops.rearrange(x, "b (h k) -> h b k", h=4), x="b d").graph
        assert [str(c) for c in graph.conditions] == ["4 divides d"]


@pytest.mark.claim("S27")
def test_heads_are_split_without_flops_or_bytes():
    """The lecture's 3 x 8 in 2 heads by a 4 x 4: split and merge are views, the product is 192 operations."""

    def layer(x: "3 8", w: "4 4"):
        x = einops.rearrange(x, "... (heads hidden) -> ... heads hidden", heads=2)
        x = einops.einsum(x, w, "... hidden1, hidden1 hidden2 -> ... hidden2")
        return einops.rearrange(x, "... heads hidden -> ... (heads hidden)")

    account = sa.account(layer)
    assert account.flops == account.matmul_flops == 2 * 3 * 2 * 4 * 4 == 192
    moved = [(op.kind, rule_of(op).reads(op, account.graph)) for op in account.graph.ops]
    assert [(kind, bool(reads)) for kind, reads in moved] == [("reshape", False), ("einsum", True), ("reshape", False)]


@pytest.mark.claim("S27")
def test_heads_times_hidden_is_solved_for_a_name():
    def layer(x: "b s total", heads: int):
        return einops.rearrange(x, "... (heads hidden) -> ... heads hidden", heads=heads)

    graph = sa.account(layer).graph
    assert graph.tensors[-1].shape == (name("b"), name("s"), name("heads"), name("total") / name("heads"))
    assert [str(c) for c in graph.conditions] == ["heads divides total"]
    assert sa.account(layer, total=8, heads=2).graph.tensors[-1].shape[-1] == 4


def test_errors_of_shapes_name_both_and_the_line():
    x = symbolic("b", "s", "d")
    with pytest.raises(ShapeError, match=r"\(b, s, d\) and \(s, d\)") as caught:
        einops.einsum(x, x[0], "b s d, b d -> s")
    assert "test_einops.py:" in str(caught.value)
    assert "einops.py" not in str(caught.value).replace("test_einops.py", "")


def random_rearrangement(rng: random.Random) -> tuple[str, str, dict[str, int]]:
    """Draw a pattern of composite axes on both sides, and numbers for the names: primes, all different."""
    sizes = dict(zip("abcde"[: rng.randint(2, 5)], rng.sample([2, 3, 5, 7, 11], 5), strict=False))

    def side() -> str:
        names = rng.sample(list(sizes), len(sizes))
        groups: list[list[str]] = [[]]
        for n in names:
            groups[-1].append(n)
            if rng.random() < 0.6:
                groups.append([])
        return " ".join(f"({' '.join(g)})" if len(g) > 1 else g[0] for g in groups if g)

    return side(), side(), sizes


@pytest.mark.parametrize("seed", range(3))
def test_random_rearrangements_have_einops_values_and_copy_where_torch_does(seed):
    rng = random.Random(seed)  # noqa: S311
    views = 0
    for _ in range(60):
        left, right, sizes = random_rearrangement(rng)
        inside = {n: name(n) for n in sizes}
        shape = [math.prod(inside[n] for n in axis.strip("()").split()) for axis in re.findall(r"\([^)]*\)|\w", left)]
        x = torch.arange(math.prod(sizes.values())).reshape([evaluate(s, sizes) for s in shape])
        expected = einops.rearrange(x, f"{left} -> {right}", **sizes)
        given = symbolic(*shape)
        out = einops.rearrange(given, f"{left} -> {right}", **{n: wrap(s) for n, s in inside.items()})
        told = f"{left} -> {right} at {sizes}"
        assert [evaluate(s, sizes) for s in out.tensor.shape] == list(expected.shape), told
        shares = expected.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert (given.id in (out.id, out.tensor.storage)) == shares, told
        assert [evaluate(s, sizes) for s in strides_of(out.tensor)] == list(expected.stride()), told
        graph = given.builder.graph([out.id])
        assert torch.equal(run(graph, sizes, inputs=[x]).outputs[0], expected), told
        views += shares
    assert 0 < views < 60
