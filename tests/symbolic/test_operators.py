"""Python's operators on symbolic tensors are torch's: shapes, values, dtypes; two worlds never mix."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import symacct as sa
from symacct.errors import DtypeError, GraphError, ShapeError, UndefinedSizeError
from symacct.expr import evaluate, name
from symacct.symbolic import Builder, Symbolic

torch = pytest.importorskip("torch")

from symacct.eager.run import run  # noqa: E402

SIZES = {"b": 2, "s": 3, "d": 5}
SHAPES = ["", "d", "1", "s d", "s 1", "1 d", "b s d", "b 1 1", "1 1 1"]
BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
    operator.eq,
    operator.ne,
]


def real(shape: str, seed: int) -> torch.Tensor:
    numbers = [SIZES.get(a) or int(a) for a in shape.split()]
    return torch.randint(1, 4, numbers, generator=torch.Generator().manual_seed(seed)).double()


def agrees(fn, **shapes):
    """Check a function of symbolic tensors against itself on torch: what is recorded runs to the same values."""
    graph = sa.account(fn, **shapes).graph
    given = [real(shape, seed) for seed, shape in enumerate(shapes.values())]
    expected = fn(*given)
    (ours,) = run(graph, SIZES, inputs=given).outputs
    (out,) = graph.outputs
    assert [evaluate(s, SIZES) for s in graph.tensors[out].shape] == list(expected.shape)
    assert (graph.tensors[out].dtype == "bool") == (expected.dtype == torch.bool)
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=0)
    return graph


@pytest.mark.parametrize("operation", BINARY, ids=lambda o: o.__name__)
@pytest.mark.parametrize("left", SHAPES)
def test_tensors_broadcast_as_in_torch(operation, left):
    for right in SHAPES:
        agrees(lambda x, y: operation(x, y), x=left, y=right)  # noqa: PLW0108


@pytest.mark.parametrize("operation", BINARY, ids=lambda o: o.__name__)
@pytest.mark.parametrize("number", [2, 2.5, -1, 0.1, np.float64(3.0), np.float32(0.5), np.int64(2)], ids=repr)
def test_a_number_may_stand_on_either_side(operation, number):
    for shape in ("", "s d"):
        right = agrees(lambda x: operation(x, number), x=shape)
        left = agrees(lambda x: operation(float(number), x), x=shape)
        assert [len(g.ops[0].inputs) for g in (right, left)] == [1, 1], "a number is no tensor"


def test_a_size_may_stand_where_a_number_does():
    for fn in (
        lambda x: x / x.shape[-1] ** 0.5,
        lambda x: x.shape[-1] ** -0.5 * x,
        lambda x: x * x.shape[0] - x.shape[1],
        lambda x: 1 / x.shape[1] + x,
        lambda x: x.shape[0] * x,
        lambda x: x.shape[0] + x,
        lambda x: x.shape[0] - x,
        lambda x: x.shape[0] / x,
    ):
        agrees(fn, x="s d")


UNARY = {
    "neg": lambda x: -x,
    "abs": lambda x: abs(-x),
    "invert": lambda x: ~(x > 2),
    "square": lambda x: x**2,
    "square of a float": lambda x: x**2.0,
    "cube": lambda x: x**3,
    "first power": lambda x: x**1,
    "root": lambda x: x**0.5,
    "inverse root": lambda x: x**-0.5,
    "and": lambda x: (x > 1) & (x < 3),
    "or": lambda x: (x > 2) | (x < 2),
    "a chain": lambda x: 1 - (x + x) * x / (x + 1) ** 2,
    "equal to itself": lambda x: x == x,  # noqa: PLR0124
    "unequal": lambda x: x != x + 1,
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(-1, keepdim=True),
    "mean": lambda x: x.mean((0, 1)),
    "largest": lambda x: x.amax(0),
    "smallest": lambda x: x.amin(1),
    "transposed": lambda x: x.T + 0,
    "added in place": operator.iadd,
}


@pytest.mark.parametrize("fn", list(UNARY.values())[:-1], ids=list(UNARY)[:-1])
def test_operators_and_methods_of_one_tensor(fn):
    agrees(fn, x="s d")


def test_an_assignment_makes_a_new_tensor():
    def layer(x: "n"):
        y = x
        y += 1
        y *= x
        return y

    assert [op.kind for op in sa.account(layer).graph.ops] == ["add", "mul"]


def test_comparing_and_containing_are_what_they_are_in_torch():
    def layer(x: "n", y: "n"):
        assert (x == None) is False  # noqa: E711
        assert (x == "x") is False
        assert x in [x, y]
        assert {x: 1, y: 2}[y] == 2
        with pytest.raises(GraphError, match="its truth value cannot be known"):
            assert any(t == y for t in (x,))
        return x

    sa.account(layer)


NO_FIT = {
    "add": (lambda x, y: x + y, "b d", "b s", r"add: the shapes \(b, d\) and \(b, s\) do not fit: d against s"),
    "sub": (lambda x, y: x - y, "b d", "s d", r"sub: the shapes \(b, d\) and \(s, d\) do not fit: b against s"),
    "mul": (lambda x, y: x * y, "4 d", "3 d", r"mul: the shapes \(4, d\) and \(3, d\) do not fit: 4 against 3"),
    "eq": (lambda x, y: x == y, "d", "2*d", r"eq: the shapes \(d,\) and \(2\*d,\) do not fit: d against 2\*d"),
    "matmul": (lambda x, y: x @ y, "b d", "s d", r"matmul: the shapes \(b, d\) and \(s, d\) do not fit"),
    "where": (lambda x, y: sa.where(x > 0, x, y), "b d", "b s", r"where: the shapes \(b, d\) and .*\(b, s\) do not"),
    "reshape": (
        lambda x, y: x.reshape(y.shape),
        "b d",
        "b s",
        r"reshape: the shape \(b, d\) has b\*d elements, \(b, s\)",
    ),
    "view": (lambda x, y: (x.T.view(-1), y), "b d", "b", "view: .* does not lie in memory so that it is a view"),
    "expand": (
        lambda x, y: x.expand(y.shape),
        "b d",
        "b s",
        r"expand: the shape \(b, d\) cannot be repeated to \(b, s\)",
    ),
    "axis": (
        lambda x, y: (x.sum(2), y),
        "b d",
        "b",
        r"Symbolic\(x: b, d\): there is no axis 2 in a tensor with 2 axes",
    ),
    "squeeze": (lambda x, y: (x.squeeze(0), y), "b d", "b", "squeeze: axis 0 of .* is not of size 1"),
    "permute": (
        lambda x, y: (x.permute(0, 0), y),
        "b d",
        "b",
        r"permute: \(0, 0\) is not an order of the axes of \(b, d\)",
    ),
}


@pytest.mark.parametrize(("fn", "x", "y", "said"), NO_FIT.values(), ids=NO_FIT)
def test_shapes_that_do_not_fit_are_both_named_with_the_line(fn, x, y, said):
    with pytest.raises(ShapeError, match=said) as caught:
        sa.account(fn, x=x, y=y)
    line = fn.__code__.co_firstlineno
    assert str(caught.value).endswith(f"\n  at test_operators.py:{line}, in <lambda>")


def test_the_line_is_the_persons_own_not_that_of_a_library():
    import einops

    def inner(x):
        return einops.einsum(x, x, "b d, d b -> b")

    def outer(x: "b d"):
        return inner(x)

    with pytest.raises(ShapeError, match=r"at test_operators\.py:\d+, in inner$"):
        sa.account(outer)


POWERS = [-1, 0, 1.5, True, None, "2", 2 + 1j, float("nan"), float("inf")]


@pytest.mark.parametrize("power", POWERS, ids=repr)
def test_powers_that_are_not_known_are_refused(power):
    with pytest.raises(GraphError, match=r"to the power .*; natural numbers, 0.5 and -0.5 are known\n  at test_op"):
        sa.account(lambda x: x**power, x="n")
    with pytest.raises(GraphError, match="natural numbers"):
        sa.account(lambda x: x**x, x="n")
    with pytest.raises(GraphError, match=r"2 to the power .*; symacct.exp is known"):
        sa.account(lambda x: 2**x, x="n")


@pytest.mark.parametrize("operation", [operator.mod, operator.floordiv, operator.xor], ids=lambda o: o.__name__)
def test_operators_without_a_rule_are_refused_with_the_line(operation):
    for fn in (lambda x: operation(x, 2), lambda x: operation(2, x), lambda x: operation(x, x)):
        with pytest.raises(GraphError, match=r"is not known; known: .*\n  at test_operators.py:\d+, in <lambda>"):
            sa.account(fn, x="n")


def test_masks_are_of_booleans():
    for fn in (lambda x: x & (x > 0), lambda x: (x > 0) | x, lambda x: ~(x + 1), lambda x: sa.where(x + 1, x, 0)):
        with pytest.raises(DtypeError, match=r"as a mask, which is of booleans; .*\n  at test_operators"):
            sa.account(fn, x="n")


def test_sizes_and_lengths_as_torch_gives_them():
    def layer(x: "4 d"):
        assert (+x is x, len(x), x.size(), x.size(0)) == (True, 4, x.shape, 4)
        return x

    sa.account(layer)
    with pytest.raises(UndefinedSizeError, match="over the size n, which is still a name"):
        sa.account(lambda x: x[: len(x)], x="n")


NO_DATA = {
    "truth": lambda x: 1 if x.sum() > 0 else 2,
    "and": lambda x: (x > 0) and x,
    "not": lambda x: not x,
    "iteration": lambda x: list(x),  # noqa: PLW0108
    "unpacking": lambda x: [*x],
    "item": lambda x: x.sum().item(),
    "between": lambda x: 0 < x < 1,
    "max": lambda x: max(x, x + 1),
}


@pytest.mark.parametrize("ask", NO_DATA.values(), ids=NO_DATA)
def test_a_symbolic_tensor_has_no_data(ask):
    with pytest.raises(GraphError, match=r"has no data, so .* cannot be known; .*symacct.where or symacct.cond"):
        sa.account(ask, x="n d")


MIXED = {
    "torch on the right": (lambda x: x + torch.ones(3), "add: Tensor beside symbolic tensors|torch's add"),
    "torch on the left": (lambda x: torch.ones(3) + x, "torch's add of a symbolic tensor, or of one beside a torch"),
    "torch in a product": (lambda x: x @ torch.ones(3), "einsum: Tensor beside symbolic tensors"),
    "torch before a product": (lambda x: torch.ones(3, 3) @ x, "torch's matmul of a symbolic tensor"),
    "torch compared": (lambda x: x == torch.ones(3), "eq: Tensor beside symbolic tensors"),
    "torch's own function": (torch.nn.functional.softmax, "torch's softmax of a symbolic tensor"),
    "torch's operator": (lambda x: torch.relu(x), "torch's relu of a symbolic tensor"),  # noqa: PLW0108
    "torch's einsum": (lambda x: torch.einsum("i,i->", x, x), "torch's einsum of a symbolic tensor"),
    "torch in a function": (lambda x: sa.maximum(x, torch.ones(3)), "Tensor beside symbolic tensors"),
    "numpy on the right": (lambda x: x * np.ones(3), "mul: ndarray beside symbolic tensors"),
    "numpy on the left": (lambda x: np.ones(3) * x, "mul: ndarray beside symbolic tensors"),
    "numpy before a product": (lambda x: np.ones((3, 3)) @ x, "ndarray beside symbolic tensors"),
    "text": (lambda x: x + "b", "add: str beside symbolic tensors"),
    "nothing": (lambda x: x + None, "add: NoneType beside symbolic tensors"),
    "a list": (lambda x: x + [1, 2, 3], "add: list beside symbolic tensors"),  # noqa: RUF005
    "a complex number": (lambda x: x * 1j, "mul: complex beside symbolic tensors"),
}


@pytest.mark.parametrize(("fn", "said"), MIXED.values(), ids=MIXED)
def test_worlds_do_not_mix(fn, said):
    with pytest.raises(GraphError, match=said) as caught:
        sa.account(fn, x="3") if fn is not torch.nn.functional.softmax else sa.account(lambda x: fn(x, 0), x="3")
    assert "test_operators.py:" in str(caught.value)


def test_tensors_of_two_graphs_do_not_mix():
    one, other = Builder(), Builder()
    x = Symbolic(one, one.input((name("n"),), "x"))
    y = Symbolic(other, other.input((name("n"),), "y"))
    with pytest.raises(GraphError, match="add: symbolic tensors of two graphs"):
        x + y


def test_numpy_functions_refuse():
    with pytest.raises(TypeError, match="does not support ufuncs"):
        sa.account(lambda x: np.exp(x), x="3")  # noqa: PLW0108
