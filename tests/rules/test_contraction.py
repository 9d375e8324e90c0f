"""Products against torch itself: shapes, strides, copies, gradients, what is kept; counts against loops; errors."""

from __future__ import annotations

import random

import pytest

import symacct as sa
from symacct.errors import GraphError
from symacct.expr import evaluate, name
from symacct.graph import Einsum
from symacct.rules import rule_of
from symacct.symbolic import trace
from symacct.symbolic.products import einsum
from symacct.testing.counting import totals
from symacct.testing.loops import run
from verify.rooms.layouts import HEADS, SIZES, agrees, random_case

torch = pytest.importorskip("torch")
einops = pytest.importorskip("einops")
from verify.autograd import Copies, gradients_agree, kept_bytes, saved_bytes, symbolic, symbolic_gradients  # noqa: E402


@pytest.mark.parametrize("seed", range(150))
def test_shape_strides_and_copies_are_torchs(seed: int) -> None:
    agrees(random_case(random.Random(seed), 2 + seed % 2))  # noqa: S311


@pytest.mark.parametrize("case", HEADS)
def test_heads_are_copied(case) -> None:
    agrees(case)


@pytest.mark.parametrize("seed", range(60))
def test_counts_are_the_loops(seed: int) -> None:
    """Pairs from the left, lone axes summed first: what plain loops execute."""
    draw = random.Random(seed)  # noqa: S311
    pattern = random_case(draw, 1 + seed % 3).pattern
    ours = einsum(pattern, symbolic(*pattern.partition("->")[0].split(",")))
    graph = ours.builder.graph([ours.id])
    spaced = pattern.replace(",", " , ").replace("->", " -> ")
    spaced = " ".join(" ".join(part) if part.isalpha() else part for part in spaced.split())
    for way in ("2n", "exact", "mac"):
        account = sa.Account(graph, sa.Convention(way), sa.account("i ->").dtypes)
        ours_at = {unit: evaluate(n, SIZES) for unit, n in account.counts.items() if evaluate(n, SIZES)}
        assert ours_at == totals(run(spaced, SIZES, way=way).calls), (spaced, way)


def heads(q, k, v):
    q, k, v = (einops.rearrange(x, "b s (h k) -> b h s k", h=3) for x in (q, k, v))
    scores = einops.einsum(q, k, "b h s k, b h t k -> b h s t")
    out = einops.einsum(scores, v, "b h s t, b h t k -> b h s k")
    return einops.rearrange(out, "b h s k -> b s (h k)")


def test_split_heads_are_copied() -> None:
    """Heads split off the last axis lie between b and h: each operand, and merging them back, is a copy."""

    def layer(q: "b s 3*k", k: "b t 3*k", v: "b t 3*k"):
        return heads(q, k, v)

    sizes = {"b": 2, "s": 5, "t": 7, "k": 4}
    ideal, laid_out = (sa.account(layer, layout=layout, dtype="fp32") for layout in ("ideal", "torch"))
    real = [torch.randn(2, n, 12) for n in (5, 7, 7)]
    with Copies() as seen:
        heads(*real)
    assert len(seen.copied) == 4
    extra = evaluate(laid_out.total("bytes") - ideal.total("bytes"), sizes)
    assert extra == 4 * 2 * sum(seen.copied)


def test_what_is_kept_of_split_heads_is_the_copy() -> None:
    """Two relu outputs feed a head einsum: autograd keeps the outputs and the copies, 4*b*s*g*k and not 2*b*s*g*k."""

    def scores(x: "b s 3*k", y: "b s 3*k"):
        x, y = (einops.rearrange(sa.relu(t), "b s (h k) -> b h s k", h=3) for t in (x, y))
        return einops.einsum(x, y, "b h s k, b h t k -> b h s t")

    real = [torch.randn(2, 5, 12, requires_grad=True) for _ in range(2)]
    assert saved_bytes(lambda: scores(*real)) == 4 * 4 * (2 * 5 * 12)
    assert kept_bytes(trace(scores, {}, {}), {"b": 2, "s": 5, "k": 4}) == 4 * 4 * (2 * 5 * 12)


PATTERNS = (
    "ab,bc->ac",
    "abc,cd->abd",
    "bc,acd->ab",
    "ab,ab->",
    "a,b->ab",
    "abc,b->ca",
    "ab,->ba",
    "abd,abd->ab",
    "ab,c->bc",
)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.claim("S55")
def test_gradients_are_autograds(pattern: str) -> None:
    left, _, right = pattern.partition("->")
    terms = tuple(tuple(term) for term in left.split(","))
    e = Einsum(terms, tuple(right), SIZES)
    tensors = [torch.randn([SIZES[a] for a in term], dtype=torch.float64) for term in terms]
    for needs in ((True, True), (True, False), (False, True)):
        gradients_agree("einsum", tensors, needs, einsum=e)
    names = Einsum(terms, tuple(right), {a: name(a) for a in SIZES})
    symbolic_gradients("einsum", [tuple(name(a) for a in term) for term in terms], einsum=names)


@pytest.mark.claim("S54", "S55", "S56", "D7")
def test_gradients_exchange_output_and_operand() -> None:
    """The gradient of h sums over out, that of w over the batch; each visits the points of the forward once more."""
    b, i, o = (name(n) for n in ("batch", "in", "out"))
    e = Einsum((("batch", "in"), ("in", "out")), ("batch", "out"), {"batch": b, "in": i, "out": o})
    graph = symbolic_gradients("einsum", [(b, i), (i, o)], einsum=e)
    backward = graph.ops[1:]
    assert [op.label for op in backward] == ["batch out, in out -> batch in", "batch in, batch out -> in out"]
    summed = [{a for axes in op.einsum.operands for a in axes} - set(op.einsum.output) for op in backward]
    assert summed == [{"out"}, {"batch"}]
    points = [rule_of(op).work(op, graph)["contract", "points"] for op in graph.ops]
    assert points == [b * i * o] * 3
    assert evaluate(2 * points[0], {"batch": 1024, "in": 256, "out": 256}) == 134_217_728
    assert evaluate(2 * (points[1] + points[2]), {"batch": 1024, "in": 256, "out": 256}) == 268_435_456


def test_three_operands_in_one_nest_have_gradients() -> None:
    e = Einsum((("a", "b"), ("b", "c"), ("c", "d")), ("a", "d"), SIZES, nest=True)
    tensors = [torch.randn(SIZES[x], SIZES[y], dtype=torch.float64) for x, y in ("ab", "bc", "cd")]
    gradients_agree("einsum", tensors, einsum=e)


def test_a_composite_axis_has_the_gradient_of_its_tensor() -> None:
    """Of the pattern `b (h d), d k -> b h k`, the first tensor has two axes."""
    e = Einsum((("b", "h", "d"), ("d", "k")), ("b", "h", "k"), {"b": 2, "h": 3, "d": 5, "k": 7})
    tensors = [torch.randn(2, 15, dtype=torch.float64), torch.randn(5, 7, dtype=torch.float64)]
    gradients_agree("einsum", tensors, einsum=e)


def test_the_gradient_of_a_diagonal_is_refused() -> None:
    e = Einsum((("i", "i"), ("i",)), ("i",), {"i": 3})
    with pytest.raises(GraphError, match=r"operand 1 of 'i i, i -> i'.*diagonal.*identity matrix"):
        gradients_agree("einsum", [torch.randn(3, 3), torch.randn(3)], einsum=e)
    gradients_agree("einsum", [torch.randn(3, 3), torch.randn(3)], (False, True), einsum=e)


@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("pattern", ["ab,bc->ac", "a,b->ab", "ab,ab->a"])
def test_x_is_kept_only_if_w_needs_a_gradient(pattern: str, needs: tuple[bool, bool]) -> None:
    terms = pattern.partition("->")[0].split(",")
    out = einsum(pattern, symbolic(*terms))
    tensors = [torch.randn([SIZES[a] for a in t], requires_grad=n) for t, n in zip(terms, needs, strict=True)]
    saved = saved_bytes(lambda: torch.einsum(pattern, *tensors))
    assert kept_bytes(out.builder.graph([out.id]), SIZES, needs) == saved


def test_a_pattern_with_a_lone_axis_keeps_its_sum() -> None:
    graph = sa.account("a b c, b d -> a d").graph
    tensors = [torch.randn([SIZES[a] for a in t], requires_grad=True) for t in ("abc", "bd")]
    assert kept_bytes(graph, SIZES) == saved_bytes(lambda: torch.einsum("abc,bd->ad", *tensors))
