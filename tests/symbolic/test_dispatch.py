"""One function, two worlds: written down on symbolic tensors, run on torch tensors, refused on anything else."""

from __future__ import annotations

import dataclasses

import pytest

import symacct as sa
from symacct.errors import DtypeError, GraphError, ShapeError, UnknownOpError
from symacct.expr import name
from symacct.rules import RULES
from symacct.symbolic import Builder, Symbolic, apply, create

N = name("n")


def symbolic(*shape, dtype=None) -> Symbolic:
    builder = Builder()
    return Symbolic(builder, builder.input(shape, "x", "input", dtype))


def test_what_is_applied_is_written_down():
    x = symbolic(N)
    y = apply("mul", x, x)
    graph = x.builder.graph([y.id])
    (op,) = graph.ops
    assert (op.kind, op.inputs, op.outputs, op.attrs) == ("mul", (0, 0), (1,), {})
    assert [t.role for t in graph.tensors] == ["input", "output"]


def test_several_outputs_are_a_tuple():
    values, places = apply("top_k", symbolic(N), k=2, axis=0, largest=True)
    assert values.shape == places.shape == (2,)
    assert [t.tensor.name for t in (values, places)] == ["top_k 1", "top_k 2"]


def test_the_same_runs_on_torch():
    torch = pytest.importorskip("torch")
    x = torch.tensor([1.0, -2.0])
    assert torch.equal(apply("mul", x, x), x * x)
    assert torch.equal(apply("relu", x), torch.tensor([1.0, 0.0]))
    made = create("full", x, shape=(2, 3), value=7.0, dtype=None)
    assert torch.equal(made, torch.full((2, 3), 7.0))
    parameter = torch.nn.Parameter(x)
    assert torch.equal(apply("relu", parameter), torch.relu(x)), "subclasses of torch's tensors are torch's"


def test_what_is_made_from_nothing_is_of_the_same_graph():
    x = symbolic(N)
    made = create("full", x, shape=(2, N), value=0.0, dtype=None)
    assert made.builder is x.builder
    assert made.shape[0] == 2
    assert x.builder.ops[0].inputs == ()


@pytest.mark.parametrize("other", [1.0, [1.0], "x", None, object()])
def test_anything_else_is_refused(other):
    with pytest.raises(UnknownOpError, match=r"relu takes symbolic or torch tensors, not \w+"):
        apply("relu", other)
    with pytest.raises(UnknownOpError, match="full takes symbolic or torch tensors"):
        create("full", other, shape=(2,), value=0.0, dtype=None)
    with pytest.raises(UnknownOpError, match="relu takes symbolic or torch tensors, not nothing"):
        apply("relu")


def test_numpy_arrays_are_no_tensors():
    np = pytest.importorskip("numpy")
    with pytest.raises(UnknownOpError, match="relu takes symbolic or torch tensors, not ndarray"):
        sa.relu(np.ones(3))


def test_an_operation_without_a_rule_is_refused_in_both_worlds():
    with pytest.raises(
        UnknownOpError, match=r"no rule for the operation 'dance'; known: abs, absent, ad.*; see symacct.opaque"
    ):
        apply("dance", symbolic(N))
    torch = pytest.importorskip("torch")
    with pytest.raises(UnknownOpError, match="dance cannot run on torch tensors; it can be abs, absent, ad"):
        apply("dance", torch.ones(2))


def test_worlds_do_not_mix_in_either_order():
    torch = pytest.importorskip("torch")
    for pair in ((symbolic(3), torch.ones(3)), (torch.ones(3), symbolic(3))):
        with pytest.raises(
            GraphError, match="mul: Tensor beside symbolic tensors; make it an argument of the function"
        ):
            apply("mul", *pair)


def test_a_finished_graph_takes_nothing_more():
    x = symbolic(N)
    x.builder.graph([x.id])
    with pytest.raises(GraphError, match="relu: the graph is finished; a symbolic tensor is of use only inside"):
        apply("relu", x)
    with pytest.raises(GraphError, match="full: the graph is finished"):
        create("full", x, shape=(2,), value=0.0, dtype=None)


def test_errors_keep_their_class_and_get_the_kind_and_the_line():
    with pytest.raises(
        ShapeError, match=r"^add: the shapes \(n,\) and \(3,\) do not fit.*\n  at test_dispatch\.py:\d+"
    ):
        apply("add", (x := symbolic(N)), Symbolic(x.builder, x.builder.input((3,), "y")))
    assert x.builder.ops == [], "what was refused leaves nothing behind"


# -- operations that are alike are asked about once --------------------------------------------------------------------


def count_shapes(monkeypatch, kind):
    asked = []
    rule = RULES[kind]
    shape = lambda tensors, attrs: asked.append(attrs) or rule.shape(tensors, attrs)  # noqa: E731
    monkeypatch.setitem(RULES, kind, dataclasses.replace(rule, shape=shape))
    return asked


def test_a_rule_is_asked_once_about_what_is_alike(monkeypatch):
    asked = count_shapes(monkeypatch, "add")
    x = symbolic(N, 2)
    for _ in range(5):
        x = apply("add", x, scalar=1, side="right")
    assert len(asked) == 1
    assert len(x.builder.ops) == 5


DIFFERENT = {
    "another number": ({"scalar": 1}, {"scalar": 2}),
    "a float for an int": ({"scalar": 1}, {"scalar": 1.0}),
    "a truth value for a number": ({"scalar": 1}, {"scalar": True}),
    "a size for a number": ({"scalar": 1}, {"scalar": N}),
    "another key": ({"scalar": 1}, {"scalar": 1, "side": "left"}),
    "a tuple for a list": ({"axes": (0,)}, {"axes": [0]}),
}


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_and_again_about_what_differs_in_an_attribute(one, other, monkeypatch):
    asked = count_shapes(monkeypatch, "neg")
    x = symbolic(N)
    for attrs in (one, other, one, other):
        apply("neg", x, **attrs)
    assert len(asked) == 2


def test_and_again_about_tensors_that_differ(monkeypatch):
    asked = count_shapes(monkeypatch, "neg")
    x = symbolic(N, 2)
    builder = x.builder
    others = [(N, 3), (2, N), (N, 2, 1)]
    tensors = [x, x.T, *(Symbolic(builder, builder.input(s, "y")) for s in others)]
    tensors.append(Symbolic(builder, builder.input((N, 2), "z", dtype="fp32")))
    tensors.append(Symbolic(builder, builder.input((N, 2), "another name", "param")))
    outs = [apply("neg", t).tensor for t in tensors * 2]
    assert len(asked) == 6, "a name and a role make no difference to a rule"
    assert [o.shape for o in outs[:6]] == [(N, 2), (2, N), (N, 3), (2, N), (N, 2, 1), (N, 2)]
    assert [o.dtype for o in outs[:7]] == [None] * 5 + ["fp32", None]
    assert outs[1].strides != outs[3].strides


def test_views_of_one_shape_that_lie_differently_are_told_apart(monkeypatch):
    asked = count_shapes(monkeypatch, "neg")
    x = symbolic(N, N)
    outs = [apply("neg", view).tensor for view in (x.T, x.T.T, x.T)]
    assert [o.strides for o in outs] == [(1, N), None, (1, N)]
    assert len(asked) == 2


def test_views_of_alike_tensors_share_their_own_memory():
    x = symbolic(N, 4)
    y = Symbolic(x.builder, x.builder.input((N, 4), "y"))
    assert [t.reshape(4 * N).tensor.storage for t in (x, y)] == [x.id, y.id]


# -- arguments whose dtype is open become indices ----------------------------------------------------------------------


def test_an_open_argument_becomes_integers_where_it_is_an_index():
    def layer(table: "v d", i: "b"):
        return table[i] + sa.embedding(i, table)

    graph = sa.account(layer).graph
    assert graph.tensors[1].dtype == "int64"


def test_an_open_argument_becomes_a_mask_where_it_is_one_also_through_views():
    """What a mask is taken for counts: a byte an element, and random booleans where the graph runs."""

    def layer(x: "b s s", seen: "s s", i: "b s"):
        return sa.where(seen.T[None] & ~seen, x, 0.0) + sa.one_hot(i.reshape(-1), 3).sum()

    account = sa.account(layer)
    assert [account.graph.tensors[i].dtype for i in account.graph.inputs] == [None, "bool", "int64"]
    assert [t.dtype for t in account.graph.tensors if t.name in ("permute", "reshape")] == ["bool", "bool", "int64"]
    account.graph.run({"b": 2, "s": 3})


def test_what_was_used_as_numbers_does_not_become_indices():
    def layer(table: "v d", i: "b"):
        return (i + 1).sum() + table[i]

    with pytest.raises(
        DtypeError, match=r"Symbolic\(i: b\) of dtype of the account as indices, which are integers; annot"
    ):
        sa.account(layer)


def test_inside_a_body_indices_must_be_said_to_be_integers():
    def layer(x: "v d", i: "v"):
        return sa.repeat("L", lambda h, i: h[i], x, consts=i)

    with pytest.raises(DtypeError, match="annotate the argument as Int"):
        sa.account(layer)
