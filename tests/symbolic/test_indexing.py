"""Indices of symbolic tensors against torch's; what does not fit is refused, what depends on sizes is a condition."""

from __future__ import annotations

import itertools

import pytest

import symacct as sa
from symacct.errors import DtypeError, ShapeError
from symacct.expr import evaluate, name
from symacct.graph import Condition
from symacct.rules import rule_of
from symacct.rules.rule import strides_of
from symacct.symbolic import Builder, Symbolic

torch = pytest.importorskip("torch")

from symacct.eager.run import run  # noqa: E402

B, S, D = name("b"), name("s"), name("d")
SIZES = {"b": 5, "s": 7, "d": 3}
E = Ellipsis
ANY = slice(None)

PLACES = [
    0,
    2,
    -1,
    ANY,
    slice(1, None),
    slice(None, -1),
    slice(-2, None),
    slice(1, 3),
    slice(None, None, 2),
    slice(1, 4, 2),
]


def symbolic(*shape) -> Symbolic:
    builder = Builder()
    return Symbolic(builder, builder.input(shape, "x"))


def conditions(x: Symbolic) -> list[Condition]:
    graph = x.builder.graph([x.id])
    return [c for op in graph.ops for c in rule_of(op).conditions(op, graph)]


@pytest.mark.parametrize("named", [False, True])
def test_every_pair_of_places_is_torchs(named):
    real = torch.arange(35).reshape(5, 7)
    for index in itertools.product(PLACES, repeat=2):
        given = symbolic(B, S) if named else symbolic(5, 7)
        out = given[index]
        expected = real[index]
        assert [evaluate(s, SIZES) for s in out.tensor.shape] == list(expected.shape), index
        strides = [evaluate(s, SIZES) for s in strides_of(out.tensor)]
        matter = [i for i, size in enumerate(expected.shape) if size > 1]
        assert [strides[i] for i in matter] == [expected.stride(i) for i in matter], index
        assert out is given or out.tensor.storage == given.id, index
        graph = given.builder.graph([out.id])
        assert torch.equal(run(graph, SIZES, inputs=[real]).outputs[0], expected), index


@pytest.mark.parametrize(
    "index",
    [
        E,
        (),
        None,
        (None, 0),
        (E, 0),
        (0, E),
        (E, None),
        (None, E, 1, None),
        (0, None, ANY, 1),
        (slice(0, 2), E, None, -1),
    ],
)
def test_new_axes_and_dots_are_torchs(index):
    real = torch.arange(105).reshape(5, 7, 3)
    given = symbolic(B, S, D)
    out = given[index]
    graph = given.builder.graph([out.id])
    assert torch.equal(run(graph, SIZES, inputs=[real]).outputs[0], real[index])
    assert out is given or out.tensor.storage == given.id


@pytest.mark.parametrize("index", [slice(-9, None), slice(None, 9), slice(-9, 9), slice(2, 99, 2)])
def test_what_reaches_beyond_a_number_is_cut(index):
    assert symbolic(4)[index].tensor.shape == tuple(torch.zeros(4)[index].shape)


@pytest.mark.parametrize(
    ("index", "shape", "told"),
    [
        (slice(3, None), S - 3, []),
        (slice(-3, None), 3, [Condition("at_least", S - 3, 0)]),
        (slice(None, 3), 3, [Condition("at_least", S, 3)]),
        (slice(None, -1), S - 1, []),
        (slice(None, B), B, [Condition("at_least", S, B)]),
        (slice(-B, None), B, [Condition("at_least", S - B, 0)]),
        (slice(None, S / 2), S / 2, []),
        (slice(S / 2, None), S / 2, []),
        (slice(None, None, 2), sa.ceildiv(S, 2), []),
    ],
)
def test_what_depends_on_a_name_is_a_condition(index, shape, told):
    out = symbolic(S)[index]
    assert out.tensor.shape == (shape,)
    assert conditions(out) == told


def test_one_place_of_a_named_axis():
    assert conditions(symbolic(S)[4]) == [Condition("at_least", S, 5)]
    assert conditions(symbolic(S)[-1]) == []


def test_a_part_of_a_size_is_a_condition_of_the_graph():
    x = symbolic(S)
    half = x[: x.shape[0] // 2]
    assert [str(c) for c in x.builder.graph([half.id]).conditions] == ["2 divides s"]


def test_a_tensor_of_integers_looks_rows_up():
    def layer(table: "v d", tokens: "b s"):
        return table[tokens]

    graph = sa.account(layer).graph
    assert [op.kind for op in graph.ops] == ["embedding"]
    assert graph.tensors[-1].shape == (B, S, D)
    table, tokens = torch.randn(11, 3), torch.randint(0, 11, (5, 7))
    (ours,) = run(graph, {"v": 11, **SIZES}, inputs=[table, tokens]).outputs
    assert torch.equal(ours, layer(table, tokens))


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ((0, 0, 0), r"3 indices for the shape \(b, 4\)"),
        ((E, E), r"'...' twice for the shape \(b, 4\)"),
        ((0, 4), "position 4 is outside an axis of size 4"),
        ((0, -5), "position -5 is outside an axis of size 4"),
        ((0, slice(3, 3)), "from 3 to 3 there is nothing along axis 1"),
        ((0, slice(4, 2)), "from 4 to 2 there is nothing"),
        ((slice(None, -B),), "there is nothing along axis 0"),
        (slice(None, B + 1), r"from 0 to b \+ 1 leaves axis 0 of \(b, 4\)"),
        (slice(None, 2 * B), r"from 0 to 2\*b leaves axis 0"),
        (B, r"from b to b \+ 1 leaves axis 0"),
        (slice(None, None, -1), "the step -1 is not a positive number"),
        (slice(None, None, 0), "the step 0 is not"),
        (slice(None, None, B), "the step b is not"),
        (1.0, "1.0, which is not an integer"),
        (True, "True, which is not an integer"),
        ("b", "'b', which is not an integer"),
        (slice(0.5, None), "0.5, which is not an integer"),
        ([0, 1], r"\[0, 1\], which is not an integer"),
    ],
)
def test_bad_indices_are_named_with_the_line(index, said):
    with pytest.raises(ShapeError, match=said) as caught:
        symbolic(B, 4)[index]
    assert "test_indexing.py:" in str(caught.value)


def test_masks_and_tensors_beside_other_indices_are_refused():
    def by_mask(x: "b d"):
        return x[x > 0]

    def by_part(x: "b d", i: "b"):
        return x[:, i]

    def by_numbers(x: "b d"):
        return x[x * 2]

    with pytest.raises(ShapeError, match="a question about data"):
        sa.account(by_mask)
    with pytest.raises(ShapeError, match="a tensor beside other indices"):
        sa.account(by_part)
    with pytest.raises(DtypeError, match="as indices, which are integers"):
        sa.account(by_numbers)
