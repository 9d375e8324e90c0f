"""What a legal graph is: every graph that is built is one, and every way to break one is found."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import GraphError, ShapeError, SymacctError
from symacct.expr import name
from symacct.graph import Einsum, Graph, Op, Tensor, check
from symacct.graph.legal import faults
from symacct.rules import check_shapes
from tests.graph.examples import all_graphs

GRAPHS = all_graphs()
B, D, K = name("b"), name("d"), name("k")
MATMUL = Einsum((("b", "d"), ("d", "k")), ("b", "k"), {"b": B, "d": D, "k": K})


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_every_graph_that_is_built_is_legal_and_as_its_rules_say(graph):
    check(graph)
    check_shapes(graph)


@pytest.mark.parametrize(
    "pattern", ["b d, d k -> b k", "i j, j k, k l -> i l", "i i -> i", "b (h d), d k -> b h k", "->", "b 1, b -> b ()"]
)
@pytest.mark.parametrize("order", ["left", "naive"])
def test_graphs_of_patterns_are_legal(pattern, order):
    graph = sa.account(pattern, order=order).graph
    check(graph)
    check_shapes(graph)


def layer() -> Graph:
    """A product, then relu of it seen as one axis."""
    tensors = (
        Tensor(0, (B, D), "input", "x"),
        Tensor(1, (D, K), "param", "w"),
        Tensor(2, (B, K), "act", "einsum"),
        Tensor(3, (B * K,), "act", "reshape", storage=2),
        Tensor(4, (B * K,), "output", "relu"),
    )
    ops = (
        Op(0, "einsum", (0, 1), (2,), MATMUL, {"einsum": MATMUL}),
        Op(1, "reshape", (2,), (3,), attrs={"shape": (B * K,)}),
        Op(2, "relu", (3,), (4,)),
    )
    return Graph(tensors, ops, (0, 1), (4,))


def with_tensor(i, **changed):
    g = layer()
    return g._replace(tensors=tuple(t._replace(**changed) if t.id == i else t for t in g.tensors))


def with_op(i, **changed):
    g = layer()
    return g._replace(ops=tuple(op._replace(**changed) if op.id == i else op for op in g.ops))


def einsum(**changed):
    return with_op(0, einsum=MATMUL._replace(**changed))


BROKEN = {
    "an id out of place": (with_tensor(1, id=5), r"tensor 5 \(w\): an id is a place, and it stands at 1"),
    "an unknown role": (with_tensor(0, role="weight"), r"tensor 0 \(x\): the role 'weight' is none of"),
    "no size": (with_tensor(0, shape=(B, 0)), r"tensor 0 \(x\): a size of \(b, 0\) is neither"),
    "a negative size": (with_tensor(0, shape=(-B, D)), r"tensor 0 \(x\): a size of \(-b, d\) is neither"),
    "a size that is no number": (with_tensor(0, shape=(B, "d")), r"tensor 0 \(x\): a size of"),
    "a truth value as a size": (with_tensor(0, shape=(B, True)), r"tensor 0 \(x\): a size of"),
    "too few strides": (with_tensor(0, strides=(1,)), r"tensor 0 \(x\): 1 strides for 2 axes"),
    "an unknown dtype": (with_tensor(0, dtype="fp13"), r"tensor 0 \(x\): unknown dtype 'fp13'"),
    "memory of a later tensor": (with_tensor(2, storage=3), r"tensor 2 \(einsum\): it lies in tensor 3, which is no"),
    "memory of itself": (with_tensor(2, storage=2), r"tensor 2 \(einsum\): it lies in tensor 2, which is no earlier"),
    "memory of none": (with_tensor(2, storage=-1), r"it lies in tensor -1"),
    "memory of a view": (with_tensor(4, storage=3), r"tensor 4 \(relu\): it lies in tensor 3 \(reshape\), which does"),
    "memory of another dtype": (
        with_tensor(3, dtype="fp32"),
        r"it is of dtype fp32 and lies in tensor 2 .* dtype None",
    ),
    "an output called act": (with_tensor(4, role="act"), r"tensor 4 \(relu\): it is made by .*, so its role is output"),
    "an act called output": (with_tensor(2, role="output"), r"tensor 2 \(einsum\): .* so its role is act"),
    "an op id out of place": (with_op(2, id=0), r"operation 0 \(relu\): an id is a place, and it stands at 2"),
    "an unknown phase": (with_op(2, phase="later"), r"operation 2 \(relu\): the phase 'later' is none of fwd, bwd"),
    "read before it is made": (with_op(1, inputs=(4,)), r"operation 1 \(reshape\): it reads tensor 4 before that"),
    "read what is none": (with_op(1, inputs=(9,)), r"operation 1 \(reshape\): it reads tensor 9 before"),
    "read what it makes": (with_op(2, inputs=(4,)), r"operation 2 \(relu\): it reads tensor 4 before"),
    "made twice": (with_op(2, outputs=(3,)), r"operation 2 \(relu\): it makes tensor 3, which is made already"),
    "an input is made": (with_op(2, outputs=(0,)), r"it makes tensor 0, which is made already"),
    "made twice at once": (with_op(2, outputs=(4, 4)), r"it makes tensor 4, which is made already"),
    "makes what is none": (with_op(2, outputs=(9,)), r"it makes tensor 9, which is none"),
    "makes nothing": (with_op(2, outputs=()), r"operation 2 \(relu\): it makes nothing"),
    "never made": (
        with_tensor(3, role="output")._replace(ops=layer().ops[:2], outputs=(3,)),
        r"tensor 4 \(relu\): it is neither given nor made",
    ),
    "an input twice": (layer()._replace(inputs=(0, 1, 0)), "inputs: a tensor is given twice"),
    "an input that is none": (layer()._replace(inputs=(0, 1, 7)), "there is no tensor 7"),
    "an output that is none": (layer()._replace(outputs=(-1,)), "there is no tensor -1"),
    "no outputs": (layer()._replace(outputs=()), "outputs: a graph yields at least one tensor"),
    "an operand too few": (einsum(operands=(("b", "d"),)), r"operation 0 \(einsum\): an operand is one input"),
    "an axis without a size": (einsum(sizes={"b": B, "d": D}), "an axis of the output is in no operand, or one has no"),
    "an output axis from nowhere": (einsum(output=("b", "q")), "an axis of the output is in no operand"),
    "an axis of no size": (einsum(sizes={"b": B, "d": 2.5, "k": K}), "the size 2.5 of its axis d is no size"),
    "no axes": (with_op(0, einsum=None), r"operation 0 \(einsum\): it does not say its axes"),
    "two einsums": (with_op(0, attrs={"einsum": MATMUL._replace(nest=True)}), "its attributes have another einsum"),
    "an axis of another size": (einsum(sizes={"b": B, "d": K, "k": K}), r"the axes b d are not those of tensor 0"),
    "axes in another order": (einsum(output=("k", "b")), r"the axes k b are not those of tensor 2"),
    "an axis too few": (einsum(operands=(("b",), ("d", "k"))), r"the axes b are not those of tensor 0 \(x\)"),
}


@pytest.mark.parametrize(("graph", "said"), BROKEN.values(), ids=BROKEN)
def test_every_fault_is_named(graph, said):
    check(layer())
    with pytest.raises(GraphError, match=said):
        check(graph)


def repeat(**attrs) -> Graph:
    """The graph of a repeat whose attributes are changed."""

    def network(x: "b d", w: "L d d", v: "d d"):
        return sa.repeat("L", lambda h, w, v: h @ w @ v, x, xs=w, consts=v)

    graph = sa.account(network).graph
    (op,) = graph.ops
    return graph._replace(ops=(op._replace(attrs={**op.attrs, **attrs}),))


def body(fn, **shapes) -> Graph:
    return sa.account(fn, **shapes).graph


PARTS = {
    "no body": ({"body": None}, "a repeat has a body"),
    "no n": ({"n": 0}, "a repeat has a body, a size n"),
    "n is no size": ({"n": "L"}, "a repeat has a body, a size n"),
    "too many carries": ({"carry": 4}, "4 carries and 1 stacked tensors of 3 inputs"),
    "no carry": ({"carry": -1}, "-1 carries"),
    "another length": ({"n": name("M")}, r"tensor 1 \(w\) is stacked and not M long"),
    "an input too few": ({"body": body(lambda h, w: h @ w, h="b d", w="d d")}, "its body takes other than it is given"),
    "constants of another shape": (
        {"body": body(lambda h, w, v: (h @ w) + v[0], h="b d", w="d d", v="1 d")},
        "its body takes other than it is given",
    ),
    "a carry of another shape": (
        {"body": body(lambda h, w, v: (h @ w @ v).T, h="b d", w="d d", v="d d")},
        r"its body yields other than it must: \[\(\(d, b\), None\)\] against \[\(\(b, d\), None\)\]",
    ),
    "a carry of another dtype": (
        {"body": body(lambda h, w, v: (h @ w @ v) > 0, h="b d", w="d d", v="d d")},
        r"its body yields other than it must: \[\(\(b, d\), 'bool'\)\]",
    ),
    "a body that is not legal": (
        {"body": layer()._replace(outputs=())},
        r"operation 0 \(repeat\): its body: outputs: a graph yields at least one",
    ),
}


@pytest.mark.parametrize(("attrs", "said"), PARTS.values(), ids=PARTS)
def test_every_fault_of_a_repeat_is_named(attrs, said):
    check(repeat())
    with pytest.raises(GraphError, match=said):
        check(repeat(**attrs))


def test_what_a_repeat_collects_is_as_long_as_it_runs():
    def network(x: "b d", w: "L d d"):
        return sa.repeat("L", lambda h, w: (h @ w, h.sum(1)), x, xs=w, collect=True)

    graph = sa.account(network).graph
    check(graph)
    (op,) = graph.ops
    for shape, said in (((D, B), "is collected and not L long"), ((name("L"), D), "its body yields other than")):
        wrong = tuple(t._replace(shape=shape) if t.id == op.outputs[1] else t for t in graph.tensors)
        with pytest.raises(GraphError, match=said):
            check(graph._replace(tensors=wrong))


def conditional(p="", **attrs) -> Graph:
    def layer(p, x):
        return sa.cond(p.sum() > 0, lambda x: x @ x, lambda x: x, x)

    graph = sa.account(layer, p=p or "", x="n n").graph
    op = graph.ops[-1]
    return graph._replace(ops=(*graph.ops[:-1], op._replace(attrs={**op.attrs, **attrs})))


def test_every_fault_of_a_conditional_is_named():
    one = conditional().ops[-1].attrs["branches"][0]
    other = body(lambda x: x[0], x="n n")
    for branches, said in (
        (None, "a conditional has two branches"),
        ((one,), "a conditional has two branches"),
        ((one, one, one), "a conditional has two branches"),
        ((one, other), "its branch 2 yields other than it must"),
        ((body(lambda x: x @ x, x="m m"), one), "its branch 1 takes other than it is given"),
        ((one, layer()._replace(outputs=())), "its branch 2: outputs: a graph yields"),
    ):
        with pytest.raises(GraphError, match=said):
            check(conditional(branches=branches))
    graph = conditional()
    op = graph.ops[-1]
    wide = graph.tensors[op.inputs[0]]._replace(shape=(2,))
    tensors = tuple(wide if t.id == wide.id else t for t in graph.tensors)
    with pytest.raises(GraphError, match="its predicate is not one element"):
        check(graph._replace(tensors=tensors))


def test_all_faults_are_listed():
    broken = with_tensor(0, dtype="fp13", shape=(B, 0))
    assert len(list(faults(broken))) == 2
    assert list(faults(layer())) == []


def test_a_merged_axis_is_one():
    """Of a pattern, an axis of a tensor can be several of the sum: the product must agree."""
    merged = with_tensor(0, shape=(B * D,))
    check(merged)
    for shape in ((D * B * K,), (B,), (B, D, D), (D, B)):
        with pytest.raises(GraphError, match="the axes b d are not those"):
            check(with_tensor(0, shape=shape))


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        (
            with_tensor(3, shape=(K * B, 1)),
            r"operation 1 \(reshape\) makes tensor 3 .*\(b\*k, 1\).*announces \(\(b\*k,\)",
        ),
        (with_tensor(4, dtype="fp32"), r"operation 2 \(relu\) makes tensor 4 .*'fp32'.*announces .*None"),
        (with_tensor(4, strides=(2,)), r"operation 2 \(relu\)"),
        (with_tensor(3, storage=None), r"operation 1 \(reshape\)"),
        (with_op(2, kind="dance"), "operation 2: no rule for the operation 'dance'"),
        (with_op(1, attrs={}), r"operation 1 \(reshape\): 'shape'"),
        (with_op(1, attrs={"shape": 3}), r"operation 1 \(reshape\): .*not iterable"),
        (with_op(1, attrs={"shape": (B, D)}), r"operation 1 \(reshape\): the shape \(b, k\) has b\*k elements"),
        (with_op(2, kind="copy", inputs=(3, 3)), r"operation 2 \(copy\): too many values"),
        (with_op(2, kind="relu", inputs=(3, 3)), r"operation 2 \(relu\): 2 tensors; it takes 1"),
        (with_op(2, kind="exp", inputs=(3, 3)), r"operation 2 \(exp\): too many values"),
        (with_op(2, kind="add"), r"operation 2 \(add\): 1 tensors, \{\}; it takes two, or one and a scalar"),
        (with_op(2, kind="gt", attrs={"scalar": 0}), r"operation 2 \(gt\): 1 tensors, .*it takes two"),
        (with_op(2, kind="mul", inputs=(3,) * 3), r"operation 2 \(mul\): 3 tensors"),
        (
            with_op(2, kind="where", attrs={"x": 1.0}),
            r"operation 2 \(where\): 1 tensors and the numbers .*takes a mask",
        ),
        (with_op(2, kind="pow", attrs={"exponent": "2"}), r"operation 2 \(pow\): unsupported operand"),
        (with_op(2, kind="softmax_backward", attrs={"axis": 0}), r"operation 2 \(softmax_backward\): 1 tensors; it ta"),
        (with_op(2, kind="slice", attrs={"ranges": ((0.5, B, 1),)}), r"operation 2 \(slice\): .*0.5, which is no size"),
        (with_op(2, kind="concat"), r"operation 2 \(concat\): 'axis'"),
        (with_op(2, kind="mean", attrs={"axes": (3,), "keepdims": False}), r"operation 2 \(mean\): there is no axis 3"),
    ],
)
def test_a_legal_graph_that_rules_would_make_otherwise_is_refused(graph, said):
    check(graph)
    check_shapes(layer())
    with pytest.raises(GraphError, match=said):
        check_shapes(graph)
    with pytest.raises(GraphError, match=said):
        sa.account(graph)


def test_bodies_must_be_as_their_rules_say_too():
    graph = repeat()
    inner = graph.ops[0].attrs["body"]
    wrong = tuple(t._replace(strides=(1, B)) if t.role == "act" else t for t in inner.tensors)
    with pytest.raises(GraphError, match=r"operation 0 \(einsum\) makes tensor 3"):
        check_shapes(repeat(body=inner._replace(tensors=wrong)))


def test_an_account_of_a_graph_checks_it_and_takes_no_sizes():
    assert sa.account(layer()).total("flops") == 2 * B * D * K + B * K
    with pytest.raises(GraphError, match="a graph yields at least one tensor"):
        sa.account(layer()._replace(outputs=()))
    for wrong in ({"b": 3}, {"sizes": {"b": 3}}, {"params": ["w"]}):
        with pytest.raises(GraphError, match=r"a graph has its sizes and its parameters already, so [bw] cannot"):
            sa.account(layer(), **wrong)
    with pytest.raises(SymacctError, match="order and notation are those of a pattern"):
        sa.account(layer(), order="best")


def test_a_builder_refuses_what_the_checker_would():
    """Whatever a person writes, it is an error with their line, or a legal graph."""
    with pytest.raises(ShapeError, match="test_legal"):
        sa.account(lambda x, w: x @ w, x="b d", w="k d")
