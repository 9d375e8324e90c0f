"""What orders or accumulates: values, gradients and what is kept against torch; comparisons and additions counted."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest

import symacct as sa
from symacct.conventions import convention_of, tally
from symacct.errors import ShapeError
from symacct.expr import evaluate, name
from symacct.graph import Condition, Graph
from symacct.rules import rule_of
from symacct.symbolic import Builder, Symbolic, apply
from symacct.testing.counting import Counted, call

torch = pytest.importorskip("torch")

from verify.autograd import gradients_agree, kept_bytes, saved_bytes  # noqa: E402

B, S, N = name("b"), name("s"), name("n")


def graph_of(kind: str, *shape, **attrs) -> Graph:
    builder = Builder()
    made = apply(kind, Symbolic(builder, builder.input(shape, "x")), **attrs)
    return builder.graph([t.id for t in (made if isinstance(made, tuple) else (made,))])


def flops(graph: Graph, preset: str = "exact", **sizes: int) -> float:
    (op,) = graph.ops
    return evaluate(tally(rule_of(op).work(op, graph), convention_of(preset)).get("FLOP", 0), sizes)


def test_values_are_torchs():
    x = torch.randn(3, 7, 2)
    for ours, theirs in zip(sa.top_k(x, 3, axis=1), x.topk(3, dim=1), strict=True):
        assert torch.equal(ours, theirs)
    for ours, theirs in zip(sa.sort(x, axis=1, descending=True), x.sort(dim=1, descending=True), strict=True):
        assert torch.equal(ours, theirs)
    assert torch.equal(sa.argmax(x, axis=1, keepdims=True), x.argmax(dim=1, keepdim=True))
    assert torch.equal(sa.cumsum(x, axis=-2), x.cumsum(dim=-2))


@pytest.mark.parametrize(
    ("kind", "attrs", "shapes"),
    [
        ("top_k", {"k": 3, "axis": 1}, [(B, 3, S), (B, 3, S)]),
        ("sort", {"axis": -1, "descending": False}, [(B, N, S), (B, N, S)]),
        ("argmax", {"axis": 1, "keepdims": False}, [(B, S)]),
        ("argmax", {"axis": -2, "keepdims": True}, [(B, 1, S)]),
        ("cumsum", {"axis": 0}, [(B, N, S)]),
    ],
)
def test_shapes_dtypes_and_traffic(kind, attrs, shapes):
    graph = graph_of(kind, B, N, S, **attrs)
    (op,) = graph.ops
    made = [graph.tensors[i] for i in op.outputs]
    assert [t.shape for t in made] == shapes
    indices = {"top_k": 1, "sort": 1, "argmax": 0}.get(kind)
    assert [t.dtype for t in made] == ["int64" if i == indices else None for i in range(len(made))]
    (read,) = rule_of(op).reads(op, graph)
    assert (read.shape, read.row) == ((B, N, S), (attrs["axis"] % 3,))
    assert [r.shape for r in rule_of(op).writes(op, graph)] == shapes
    out = torch.empty(2, 5, 3, device="meta")
    theirs = apply(kind, out, **attrs)
    real = [tuple(t.shape) for t in (theirs if isinstance(theirs, tuple) else (theirs,))]
    assert [tuple(evaluate(s, {"b": 2, "n": 5, "s": 3}) for s in shape) for shape in shapes] == real


def test_a_sorted_tensor_lies_as_what_was_sorted():
    x = torch.randn(2, 5, 3).permute(2, 0, 1)
    builder = Builder()
    ours = Symbolic(builder, builder.input((2, 5, 3), "x")).permute(2, 0, 1)
    for kind, attrs in (
        ("sort", {"axis": 1, "descending": False}),
        ("cumsum", {"axis": 1}),
        ("top_k", {"axis": 1, "k": 2}),
    ):
        real, mine = apply(kind, x, **attrs), apply(kind, ours, **attrs)
        real, mine = (real, mine) if isinstance(real, tuple) else ((real,), (mine,))
        for theirs, own in zip(real, mine, strict=True):
            assert (own.tensor.strides is None) == theirs.is_contiguous()
            assert own.tensor.strides in (None, theirs.stride())


def running_sums(row: list[Counted]) -> list[Counted]:
    out = row[:1]
    for x in row[1:]:
        out.append(out[-1] + x)
    return out


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_cumsum_adds_and_argmax_compares_n_less_one(n):
    calls: Counter[str] = Counter()
    out = running_sums([Counted(i, calls) for i in range(n)])
    assert [x.value for x in out] == list(itertools.accumulate(range(n)))
    assert flops(graph_of("cumsum", N, axis=0), n=n) == calls["add"] == n - 1
    calls.clear()
    best = 0
    row = [Counted(v, calls) for v in (3, 1, 4, 1, 5, 9, 2, 6)[:n]]
    for i in range(1, n):
        best = i if call("gt", row[i], row[best]).value else best
    assert best == torch.tensor([x.value for x in row]).argmax()
    assert flops(graph_of("argmax", N, axis=0, keepdims=False), n=n) == calls["gt"] == n - 1
    assert flops(graph_of("argmax", B, N, axis=1, keepdims=False), "2n", b=3, n=n) == 3 * n


def merged(row: list[Counted]) -> list[Counted]:
    """Sort by merging halves."""
    if len(row) < 2:
        return row
    left, right = merged(row[: len(row) // 2]), merged(row[len(row) // 2 :])
    out = []
    while left and right:
        out.append((right if call("gt", left[0], right[0]).value else left).pop(0))
    return out + left + right


@pytest.mark.parametrize("n", range(1, 8))
def test_merge_sort_never_exceeds_the_comparisons_of_sort(n):
    ours = flops(graph_of("sort", N, axis=0, descending=False), n=n)
    assert ours == n * math.ceil(math.log2(n))
    worst = 0
    for order in itertools.permutations(range(n)):
        calls: Counter[str] = Counter()
        assert [x.value for x in merged([Counted(v, calls) for v in order])] == list(range(n))
        worst = max(worst, calls["gt"])
    assert math.log2(math.factorial(n)) <= worst <= ours
    assert n == 1 or ours < 2 * worst + n


def largest(row: list[Counted], k: int) -> list:
    """Keep the k largest: each element is compared once with the smallest kept; keeping them in order is free."""
    kept = [-math.inf] * k
    for x in row:
        if call("gt", x, kept[-1]).value:
            kept = sorted([*kept[:-1], x.value], reverse=True)
    return kept


@pytest.mark.parametrize(("n", "k"), [(1, 1), (5, 2), (8, 8), (9, 4)])
def test_top_k_compares_each_element_once(n, k):
    calls: Counter[str] = Counter()
    values = [(7 * i) % 11 for i in range(n)]
    assert largest([Counted(v, calls) for v in values], k) == sorted(values, reverse=True)[:k]
    for preset in ("2n", "exact", "unit"):
        assert flops(graph_of("top_k", B, N, k=k, axis=-1), preset, b=3, n=n) == 3 * calls["gt"] == 3 * n


KEPT = {
    "top_k": {"k": 2, "axis": -1},
    "sort": {"axis": 0, "descending": True},
    "cumsum": {"axis": 1},
}


@pytest.mark.parametrize("kind", KEPT)
def test_gradients_and_what_is_kept_are_autograds(kind):
    x = torch.randn(4, 5)
    gradients_agree(kind, [x], **KEPT[kind])
    given = x.clone().requires_grad_()
    graph = graph_of(kind, 4, 5, **KEPT[kind])
    assert kept_bytes(graph, {}, (True,)) == saved_bytes(lambda: apply(kind, given, **KEPT[kind]))
    assert rule_of(graph.ops[0]).residuals(graph.ops[0], graph, (False,)) == ()


@pytest.mark.parametrize(
    ("kind", "attrs", "said"),
    [
        ("top_k", {"k": 4, "axis": 1}, r"the 4 largest along axis 1 of \(b, 3\), which has 3"),
        ("top_k", {"k": 0, "axis": 0}, "the 0 largest"),
        ("top_k", {"k": 1, "axis": 2}, "no axis 2"),
        ("sort", {"axis": 2, "descending": False}, "no axis 2"),
        ("argmax", {"axis": -3, "keepdims": False}, "no axis -3"),
        ("cumsum", {"axis": 2}, "no axis 2"),
    ],
)
def test_errors_name_shapes_and_the_line(kind, attrs, said):
    with pytest.raises(ShapeError, match=said) as caught:
        graph_of(kind, B, 3, **attrs)
    assert "test_orderings.py:" in str(caught.value)


def test_more_than_there_are_is_a_condition():
    graph = graph_of("top_k", B, N, k=S, axis=1)
    assert rule_of(graph.ops[0]).conditions(graph.ops[0], graph) == [Condition("at_least", N, S)]
    graph = graph_of("top_k", B, 4, k=4, axis=1)
    assert rule_of(graph.ops[0]).conditions(graph.ops[0], graph) == []
