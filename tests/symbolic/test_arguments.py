"""Arguments: sizes, parameters, plain values, defaults, and whatever can be called."""

from __future__ import annotations

import dataclasses
import functools
from typing import Literal

import pytest
import sympy

import symacct as sa
from symacct.errors import AxisConflictError, GraphError, ShapeError, SizeError, UnknownAxisError
from symacct.expr import name

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402


def inputs(fn, **given):
    """The inputs of a function's graph: name, shape as text, dtype, role."""
    graph = sa.account(fn, **given).graph
    tensors = [graph.tensors[i] for i in graph.inputs]
    return [(t.name, " ".join(map(str, t.shape)), t.dtype, t.role) for t in tensors]


def shapes(fn, **given):
    return {n: shape for n, shape, *_ in inputs(fn, **given)}


def test_one_name_has_one_role_in_all_arguments():
    with pytest.raises(ShapeError, match="b is one axis and, in another place, several: 'b' of y"):
        sa.account(lambda x, y: (x, y), x="*b d", y="b")
    assert shapes(lambda x, y: (x, y), x="... d", y="... k") == {"x": "batch d", "y": "batch k"}


def test_sizes_are_put_in_at_once():
    def layer(x: "b d", w: "d k"):
        return x @ w

    assert shapes(layer, b=3, d="4*k") == {"x": "3 4*k", "w": "4*k k"}
    assert shapes(layer, sizes={"d": "k", "k": "d"}) == {"x": "b k", "w": "k d"}
    assert shapes(layer, d=sympy.Symbol("q") + 1) == {"x": "b q + 1", "w": "q + 1 k"}
    with pytest.raises(UnknownAxisError, match=r"there is no size 'B' in the shapes; known: b, d, k"):
        sa.account(layer, B=3)
    with pytest.raises(UnknownAxisError, match=r"'rows' in the shapes; known: b, d, k"):
        sa.account(layer, sizes={"rows": 3})
    assert shapes(lambda x: x, x="b=4 d", d=2) == {"x": "4 2"}
    with pytest.raises(AxisConflictError, match="b is given twice"):
        sa.account(layer, sizes={"b": 3}, b=4)
    with pytest.raises(SizeError, match="sizes='b' is no mapping"):
        sa.account(layer, sizes="b")


def test_parameters_by_name():
    def layer(x: "b d", w: "d k", v: "k" = None, heads: int = 2):  # noqa: ARG001
        return x @ w

    assert [role for *_, role in inputs(layer, params=["w"])] == ["input", "param"]
    assert [role for *_, role in inputs(layer, params="x, w")] == ["param", "param"]
    assert [role for *_, role in inputs(layer, params=("w", "v"))] == ["input", "param"], "v is not there"
    assert [role for *_, role in inputs(layer, params=("w", "v"), v="k")] == ["input", "param", "param"]
    with pytest.raises(UnknownAxisError, match=r"no argument 'W' to be a parameter; the tensors are x, w\."):
        sa.account(layer, params=["W"])
    with pytest.raises(UnknownAxisError, match="'heads' is no tensor, so it is no parameter"):
        sa.account(layer, params=["heads"])


def split(x: "b s heads*k", heads: int, axis: int = -1):
    return x.reshape(*x.shape[:2], heads, -1).sum(axis)


def test_arguments_that_are_sizes():
    assert shapes(split) == {"x": "b s heads*k"}
    assert sa.account(split).graph.tensors[1].shape == (name("b"), name("s"), name("heads"), name("k"))
    assert shapes(split, heads=8) == {"x": "b s 8*k"}, "the name stands for the argument, in shapes too"
    assert shapes(split, heads="2*h") == {"x": "b s 2*h*k"}
    assert shapes(split, heads=sympy.Symbol("h")) == {"x": "b s h*k"}
    assert shapes(split, heads="h", h=4) == {"x": "b s 4*k"}
    assert shapes(split, heads="h", sizes={"h": "k", "k": "h"}) == {"x": "b s h*k"}
    for wrong in (True, 2.0, "h h", 0.5):
        with pytest.raises(SizeError):
            sa.account(split, heads=wrong)


def test_an_unannotated_default_that_is_a_number_is_a_size():
    def layer(x: "b s d", heads=4):
        return x.reshape(*x.shape[:2], heads, x.shape[2] // heads)

    assert [str(c) for c in sa.account(layer).conditions] == ["4 divides d"]
    assert [str(c) for c in sa.account(layer, heads="h").conditions] == ["h divides d"]


def test_names_that_only_an_argument_has_are_sizes_too():
    def window(x: "n d", t: int):
        return x[t : t + 1] * 2

    made = sa.account(window)
    assert made.names == ("d", "n", "t")
    assert made.at(n=5, d=2, t=4).flops == 2
    with pytest.raises(SizeError, match="these sizes break a condition"):
        made.at(n=4, d=2, t=4)


def test_plain_values_and_defaults_are_passed_on():
    seen = {}

    def layer(
        x: "b d", how: str = "sum", eps: float = 1e-5, mode="fast", *, flag: bool = True, other: Literal["a"] = "a"
    ):
        seen.update(how=how, eps=eps, mode=mode, flag=flag, other=other)
        return x

    assert shapes(layer) == {"x": "b d"}
    assert seen == {"how": "sum", "eps": 1e-5, "mode": "fast", "flag": True, "other": "a"}
    assert shapes(layer, how="mean", eps=0.1, mode="slow", flag=False, other="b") == {"x": "b d"}
    assert seen == {"how": "mean", "eps": 0.1, "mode": "slow", "flag": False, "other": "b"}


def test_an_optional_tensor_is_there_when_it_is_given():
    def layer(x: "b d", bias: "d" = None):
        return x if bias is None else x + bias

    assert shapes(layer) == {"x": "b d"}
    assert shapes(layer, bias="d") == {"x": "b d", "bias": "d"}
    assert shapes(layer, bias=None) == {"x": "b d"}
    with pytest.raises(GraphError, match="the argument 'bias' is a tensor; give its shape as text"):
        sa.account(layer, bias=3)


def test_lists_and_dicts_of_shapes_are_as_many_tensors():
    def layer(x: "b d", layers, *more, last=None, **named):
        for p in layers:
            x = sa.relu(x @ p["w"] + p["b"])
        for w in (*more, *named.values()):
            x = x @ w
        return x if last is None else x @ last[0]

    given = {"layers": [{"w": "d f", "b": "f"}, {"w": "f k", "b": "k"}], "more": ["k n"], "last": ("m q", None)}
    account = sa.account(layer, **given, named={"out": "n m"}, params=["layers", "named"])
    inputs = {t.name: (t.shape, t.role) for t in (account.graph.tensors[i] for i in account.graph.inputs)}
    b, d, f, k, n, m, q = (name(i) for i in "bdfknmq")
    assert inputs == {
        "x": ((b, d), "input"),
        "layers[0].w": ((d, f), "param"),
        "layers[0].b": ((f,), "param"),
        "layers[1].w": ((f, k), "param"),
        "layers[1].b": ((k,), "param"),
        "more[0]": ((k, n), "input"),
        "last[0]": ((m, q), "input"),
        "named.out": ((n, m), "param"),
    }
    assert sa.same(account.matmul_flops, "2*b*(d*f + f*k + k*n + n*m + m*q)")
    assert sa.same(account.params, "d*f + f + f*k + k + n*m")
    assert shapes(layer, layers=[]) == {"x": "b d"}


def test_what_is_no_list_of_shapes_is_passed_on_or_refused():
    seen = []

    def layer(x: "b d", acts: list[str], modes=("a",), *more):
        seen.append((acts, modes, more))
        return x

    sa.account(layer, acts=["relu"], modes=["fast"], more=[3])
    assert seen == [(["relu"], ["fast"], (3,))]
    with pytest.raises(GraphError, match="the arguments 'more' are any number; give their shapes in a list"):
        sa.account(layer, acts=["relu"], more="d d")
    with pytest.raises(ShapeError, match=r"the axis 'k!' of more\[1\] does not read"):
        sa.account(layer, acts=["relu"], more=["d k", "d k!"])
    with pytest.raises(UnknownAxisError, match="the argument 'modes' is no tensor"):
        sa.account(layer, acts=["relu"], params=["modes"])


def test_a_tensor_without_a_shape_can_be_given_one():
    def layer(x: Tensor, w: torch.Tensor, m: "Tensor", n):
        return x @ w, m, n

    assert shapes(layer, x="b d", w="d k", m="b", n="c") == {"x": "b d", "w": "d k", "m": "b", "n": "c"}
    layer.__annotations__ = {"x": Tensor, "w": torch.Tensor, "m": "torch.Tensor"}
    assert shapes(layer, x="b d", w="d k", m="b", n="c") == {"x": "b d", "w": "d k", "m": "b", "n": "c"}
    for missing in ("x", "w", "m", "n"):
        given = {"x": "b d", "w": "d k", "m": "b", "n": "c"}
        del given[missing]
        with pytest.raises(
            GraphError, match=f"the argument '{missing}' has no shape; annotate it, as in {missing}: 'b s"
        ):
            sa.account(layer, **given)


class Layer:
    def forward(self, x: "b d", w: "d k"):
        return x @ w

    __call__ = forward

    @staticmethod
    def fixed(x: "b d"):
        return x

    @classmethod
    def made(cls, x: "b d"):
        return x


def keyword(scale, x: "b d", /, *, w: "d k"):
    return (x @ w) * scale


CALLABLES = {
    "a method": (Layer().forward, "forward(x (b, d), w (d, k))"),
    "an object": (Layer(), "Layer(x (b, d), w (d, k))"),
    "a static method": (Layer.fixed, "fixed(x (b, d))"),
    "a class method": (Layer.made, "made(x (b, d))"),
    "a partial": (functools.partial(keyword, 2), "keyword(x (b, d), w (d, k))"),
    "a partial of a partial": (functools.partial(functools.partial(keyword), 2), "keyword(x (b, d), w (d, k))"),
    "in a scope": (sa.scope("m")(Layer().forward), "forward(x (b, d), w (d, k))"),
    "cached": (functools.lru_cache(Layer.fixed), "fixed(x (b, d))"),
}


@pytest.mark.parametrize(("fn", "title"), CALLABLES.values(), ids=CALLABLES)
def test_whatever_can_be_called(fn, title):
    assert sa.account(fn).title == title


NO_FUNCTION = {
    "no signature": (torch.relu, "the arguments of relu cannot be read; call it in a function of annotated tensors"),
    "any arguments": (lambda *args, **_kwargs: args, "<lambda> has no tensor among its arguments"),
    "none": (lambda: 3, "<lambda> has no tensor among its arguments; annotate one"),
    "a class": (Layer, "Layer has no tensor among its arguments"),
    "a module": (torch.nn.Linear(2, 3), "Linear has no tensor among its arguments"),
    "a builtin": (print, "print has no tensor among its arguments"),
}


@pytest.mark.parametrize(("fn", "said"), NO_FUNCTION.values(), ids=NO_FUNCTION)
def test_what_has_no_tensors_to_trace(fn, said):
    with pytest.raises(GraphError, match=said):
        sa.account(fn)


@dataclasses.dataclass
class Two:
    """What some models return."""

    first: object
    second: object


def test_results_are_tensors_of_the_function():
    kept = []
    sa.account(lambda x: kept.append(x) or x, x="b")
    assert sa.account(lambda x: {"y": (x * 2, None), "n": 3, "z": [x]}, x="b").graph.outputs == (1, 0)
    assert sa.account(lambda x: (x, Two(x + 1, 3)), x="b").graph.outputs == (0, 1)
    for result, said in ((None, "NoneType"), (3, "int"), ([], "list"), ((3, None), "tuple")):
        with pytest.raises(GraphError, match=f"<lambda> returned {said}, no symbolic tensor"):
            sa.account(lambda x, result=result: result, x="b")  # noqa: ARG005
    with pytest.raises(GraphError, match="<lambda> returned a tensor that was not made from its arguments"):
        sa.account(lambda x: (x, kept[0]), x="b")


def test_an_annotation_is_never_evaluated():
    def layer(x):
        return x

    for text in ("boom()", "[boom() for _ in (1,)]", "Float[boom(), 'b']", "boom().y | None"):
        layer.__annotations__ = {"x": text}
        layer.__globals__["boom"] = lambda: pytest.fail("evaluated")
        try:
            sa.account(layer)
        except (GraphError, ShapeError):
            continue
        assert text == "Float[boom(), 'b']"
    del layer.__globals__["boom"]
