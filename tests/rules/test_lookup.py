"""Rows and places picked by index: values, gradients and what is kept against torch; additions and traffic counted."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

import symacct as sa
from symacct.conventions import convention_of, tally
from symacct.errors import DtypeError, ShapeError
from symacct.expr import evaluate, name, product
from symacct.graph import Condition, Graph
from symacct.rules import rule_of
from symacct.symbolic import Builder, Symbolic, apply
from symacct.testing.counting import Counted

torch = pytest.importorskip("torch")

from verify.autograd import gradients_agree, kept_bytes, saved_bytes  # noqa: E402

B, S, D, V = name("b"), name("s"), name("d"), name("v")
SIZES = {"b": 2, "s": 3, "d": 4, "v": 5}


def symbolic(*shapes: tuple, dtypes: tuple = ()) -> list[Symbolic]:
    builder = Builder()
    known = (*dtypes, *[None] * (len(shapes) - len(dtypes)))
    ids = [builder.input(s, f"x{i}", "input", t) for i, (s, t) in enumerate(zip(shapes, known, strict=True))]
    return [Symbolic(builder, i) for i in ids]


def graph_of(kind: str, shapes: list[tuple], index: int, **attrs) -> Graph:
    dtypes = tuple("int64" if i == index else None for i in range(len(shapes)))
    tensors = symbolic(*shapes, dtypes=dtypes)
    made = apply(kind, *tensors, **attrs)
    return tensors[0].builder.graph([made.id])


def elements(touched) -> list[tuple[int, int]]:
    return [(r.tensor, evaluate(product(r.shape), SIZES)) for r in touched]


def test_values_are_torchs():
    tokens, table = torch.tensor([[4, 0, 2], [1, 1, 3]]), torch.randn(5, 4)
    F = torch.nn.functional
    assert torch.equal(sa.embedding(tokens, table), F.embedding(tokens, table))
    x, index = torch.randn(3, 5), torch.tensor([[0, 2], [4, 4], [1, 0]])
    assert torch.equal(sa.gather(x, index, axis=-1), torch.gather(x, -1, index))
    source = torch.randn(3, 2)
    assert torch.equal(sa.scatter_add(x, index, source, axis=1), torch.scatter_add(x, 1, index, source))
    assert torch.equal(sa.one_hot(tokens, 5), F.one_hot(tokens, 5))
    assert sa.one_hot(tokens, 5).dtype == torch.int64


KINDS = {
    "embedding": ([(V, D), (B, S)], 1, {}),
    "embedding_backward": ([(B, S, D), (B, S)], 1, {"rows": V}),
    "gather": ([(V, D), (S, D)], 1, {"axis": 0}),
    "gather_backward": ([(S, D), (S, D)], 1, {"axis": 0, "shape": (V, D)}),
    "scatter": ([(S, D), (S, D)], 1, {"axis": 0, "shape": (V, D)}),
    "scatter_add": ([(V, D), (S, D), (S, D)], 1, {"axis": 0}),
    "one_hot": ([(B, S)], 0, {"classes": V}),
}


def at_sizes(value):
    return tuple(at_sizes(v) for v in value) if isinstance(value, tuple) else evaluate(value, SIZES)


def executed(kind: str) -> tuple[Counter, list[tuple[int, int]], list[tuple[int, int]]]:
    """Walk over every element that a plain loop touches; return calls, and elements read and written by tensor."""
    calls: Counter[str] = Counter()
    shapes, *_ = KINDS[kind]
    numbers = [at_sizes(s) for s in shapes]
    picked = numbers[-1] if kind != "embedding" else (*numbers[1], numbers[0][1])
    places = list(itertools.product(*(range(n) for n in (numbers[0] if kind == "embedding_backward" else picked))))
    table = {p: Counted(0, calls) for p in itertools.product(range(5), range(4))}
    if "scatter" in kind or "backward" in kind:
        for place in places:
            there = (sum(place) % 5, place[-1])
            if kind == "scatter":
                table[there] = Counted(1, calls)
            else:
                table[there] = table[there] + Counted(1, calls)
    out = len(shapes)
    if kind in ("embedding", "gather"):
        index = numbers[1]
        return calls, [(0, len(places)), (1, product(index))], [(out, len(places))]
    if kind == "one_hot":
        return calls, [(0, product(numbers[0]))], [(out, product(numbers[0]) * 5)]
    reads = [(i, product(n)) for i, n in enumerate(numbers)]
    added = [] if kind == "scatter" else [(out, len(places))]
    return calls, reads + added, [(out, len(table)), (out, len(places))]


@pytest.mark.parametrize("kind", KINDS)
def test_additions_and_elements_touched_are_those_of_a_plain_loop(kind):
    shapes, index, attrs = KINDS[kind]
    graph = graph_of(kind, shapes, index, **attrs)
    op = graph.ops[-1]
    calls, reads, writes = executed(kind)
    for preset in ("2n", "exact", "unit"):
        work = tally(rule_of(op).work(op, graph), convention_of(preset))
        assert evaluate(work.get("FLOP", 0), SIZES) == calls["add"]
    assert elements(rule_of(op).reads(op, graph)) == reads
    assert elements(rule_of(op).writes(op, graph)) == writes


def test_an_embedding_is_no_flops_forward_and_bsd_additions_backward():
    forward = graph_of("embedding", *KINDS["embedding"][:2])
    work = rule_of(forward.ops[0]).work(forward.ops[0], forward)
    assert all(primitive.endswith("@embedding=matmul") for primitive, _ in work)
    assert sa.account(forward).total("flops") == 0
    backward = graph_of("embedding_backward", *KINDS["embedding_backward"][:2], rows=V)
    assert sa.account(backward).total("flops") == B * S * D
    assert sa.account(backward).total("matmul_flops") == 0


CASES = {
    "embedding": ([(5, 4), (2, 3)], {}),
    "embedding_backward": ([(2, 3, 4), (2, 3)], {"rows": 5}),
    "gather": ([(3, 5), (3, 2)], {"axis": 1}),
    "gather_backward": ([(3, 2), (3, 2)], {"axis": -1, "shape": (3, 5)}),
    "scatter_add": ([(3, 5), (3, 2), (3, 2)], {"axis": 1}),
}


def tensors_of(kind: str) -> list:
    shapes, _ = CASES[kind]
    generator = torch.Generator().manual_seed(3)
    return [
        torch.randint(0, 5, s, generator=generator) if i == 1 else torch.randn(s, generator=generator)
        for i, s in enumerate(shapes)
    ]


@pytest.mark.parametrize("kind", CASES)
def test_gradients_are_autograds(kind):
    """Indices repeat, so that rows are added up."""
    gradients_agree(kind, tensors_of(kind), **CASES[kind][1])


def test_the_gradient_of_a_scatter_picks_its_places():
    index = torch.tensor([[0, 3], [2, 1], [4, 0]])
    gradients_agree("scatter", [torch.randn(3, 2), index], axis=1, shape=(3, 5))


THEIRS = {
    "embedding": lambda table, index: torch.nn.functional.embedding(index, table),
    "gather": lambda x, index: x.gather(1, index),
    "scatter_add": lambda x, index, source: x.scatter_add(1, index, source),
}


@pytest.mark.parametrize("kind", THEIRS)
def test_what_is_kept_is_what_autograd_keeps(kind):
    shapes, attrs = CASES[kind]
    tensors = tensors_of(kind)
    for needs in itertools.product([False, True], repeat=len(shapes)):
        if needs[1] or not any(needs):
            continue
        given = [t.clone().requires_grad_(need) for t, need in zip(tensors, needs, strict=True)]
        graph = graph_of(kind, shapes, 1, **attrs)
        assert kept_bytes(graph, {}, needs) == saved_bytes(lambda given=given: THEIRS[kind](*given))


def test_arguments_without_a_dtype_are_indices_of_int64():
    def layer(tokens: "b s", table: "v d"):
        return sa.embedding(tokens, table)

    graph = sa.account(layer).graph
    assert [t.dtype for t in graph.tensors] == ["int64", None, None]
    tokens = torch.zeros(2, 3, dtype=torch.int64)
    real = [torch.zeros(2, 3, 4, dtype=torch.bfloat16), tokens, torch.zeros(2, 3, 4, dtype=torch.bfloat16)]
    assert sa.account(layer, dtype="bf16", **SIZES).bytes == sum(t.nbytes for t in real)


def test_indices_that_are_no_integers():
    x, index = symbolic((V, D), (B, S))
    with pytest.raises(DtypeError, match="annotate the argument as Int"):
        sa.embedding(index * 2, x)
    for dtype in ("fp32", "bool"):
        table, wrong = symbolic((V, D), (V, D), dtypes=(None, dtype))
        with pytest.raises(DtypeError, match=f"of dtype {dtype} as indices"):
            sa.gather(table, wrong, axis=0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda x, i: sa.gather(x, i[0], axis=0), r"\(s,\) does not fit \(v, d\)"),
        (lambda x, i: sa.gather(x[:3, :4], i[:2, :5], axis=0), r"\(2, 5\) does not fit \(3, 4\) along axis 0"),
        (lambda x, i: sa.gather(x, i, axis=2), "no axis 2"),
        (lambda x, i: sa.scatter_add(x, i, x, axis=0), r"\(b, s\) for elements of the shape \(v, d\)"),
        (lambda x, i: sa.embedding(i, x[0, 0]), "a scalar has no rows"),
        (lambda _, i: sa.one_hot(i, 0), "a size of 0"),
    ],
)
def test_errors_name_shapes_and_the_line(wrong, said):
    with pytest.raises(ShapeError, match=said) as caught:
        wrong(*symbolic((V, D), (B, S), dtypes=(None, "int64")))
    assert "test_lookup.py:" in str(caught.value)


def test_an_index_longer_than_what_it_points_into_is_a_condition():
    graph = graph_of("gather", [(V, D), (S, B)], 1, axis=0)
    assert rule_of(graph.ops[0]).conditions(graph.ops[0], graph) == [Condition("at_least", D, B)]
    graph = graph_of("gather", [(V, D), (S, D)], 1, axis=0)
    assert rule_of(graph.ops[0]).conditions(graph.ops[0], graph) == []
