"""Shapes of arguments: strings, jaxtyping's classes as objects and as source code, sizes, defaults, and what is refused."""

from __future__ import annotations

import functools
from typing import Annotated, Literal, Optional

import pytest
import sympy

import symacct as sa
from symacct.errors import DtypeError, GraphError, ShapeError, SizeError, UnknownAxisError
from symacct.expr import name, read
from symacct.symbolic.annotations import DTYPES, OTHERS

jaxtyping = pytest.importorskip("jaxtyping")
torch = pytest.importorskip("torch")

import jaxtyping as jt  # noqa: E402
from jaxtyping import Bool, Float, Int  # noqa: E402
from torch import Tensor  # noqa: E402

Matrix = Float[Tensor, "b d"]


def inputs(fn, **given):
    """The inputs of a function's graph: name, shape as text, dtype, role."""
    graph = sa.account(fn, **given).graph
    tensors = [graph.tensors[i] for i in graph.inputs]
    return [(t.name, " ".join(map(str, t.shape)), t.dtype, t.role) for t in tensors]


def shapes(fn, **given):
    return {n: shape for n, shape, *_ in inputs(fn, **given)}


# This file has `from __future__ import annotations`: annotations below are source code.


def as_source(
    x: "b s d",
    w: Float[Tensor, "d k"],
    i: Int[Tensor, "b"],
    m: jt.Bool[torch.Tensor, "b s"],
    y: Matrix,  # noqa: PLR0917
):
    return x @ w, i, m, y


def test_annotations_that_are_source_code():
    assert inputs(as_source) == [
        ("x", "b s d", None, "input"),
        ("w", "d k", None, "input"),
        ("i", "b", "int64", "input"),
        ("m", "b s", "bool", "input"),
        ("y", "b d", None, "input"),
    ]


def as_objects(x, w, i, m, y):
    return x @ w, i, m, y


as_objects.__annotations__ = {
    "x": "b s d",
    "w": Float[Tensor, "d k"],
    "i": Int[Tensor, "b"],
    "m": Bool[Tensor, "b s"],
    "y": Matrix,
}


def test_annotations_that_are_objects_say_the_same():
    assert inputs(as_objects) == inputs(as_source)


@pytest.mark.parametrize(("kind", "dtype"), DTYPES.items())
def test_every_class_of_jaxtyping_as_object_and_as_source(kind, dtype):
    def from_object(x):
        return x

    def from_source(x):
        return x

    from_object.__annotations__ = {"x": getattr(jt, kind)[Tensor, "b d"]}
    from_source.__annotations__ = {"x": f"jaxtyping.{kind}[Tensor, 'b d']"}
    assert inputs(from_object) == inputs(from_source) == [("x", "b d", dtype, "input")]


def test_no_class_of_jaxtyping_is_passed_over():
    there = {n for n in dir(jt) if isinstance(getattr(jt, n), type) and hasattr(getattr(jt, n), "dtypes")}
    assert there - set(DTYPES) - set(OTHERS) <= {"AbstractArray", "AbstractDtype"}
    for kind in sorted(set(OTHERS) & there):

        def layer(x):
            return x

        for annotation in (getattr(jt, kind)[Tensor, "b"], f"{kind}[Tensor, 'b']"):
            layer.__annotations__ = {"x": annotation}
            with pytest.raises(DtypeError, match=rf"{kind}\[...\] says no storage format; known: Float, Inexact"):
                sa.account(layer)


def test_unions_optionals_and_annotated():
    def layer(
        x: Optional[Float[Tensor, "b d"]],  # noqa: UP045 # people write it
        y: Float[Tensor, "b k"] | None,
        z: Annotated[Float[Tensor, "b"], "a note"],
        w: Float[Tensor, "d k"] | None = None,
    ):
        return x, y, z, w

    assert shapes(layer) == {"x": "b d", "y": "b k", "z": "b"}
    assert shapes(layer, w="d k") == {"x": "b d", "y": "b k", "z": "b", "w": "d k"}
    layer.__annotations__ = {
        "x": Optional[Float[Tensor, "b d"]],  # noqa: UP045
        "y": Float[Tensor, "b k"] | None,
        "z": Annotated[Float[Tensor, "b"], "a note"],
        "w": None | Float[Tensor, "d k"],
    }
    assert shapes(layer) == {"x": "b d", "y": "b k", "z": "b"}


READ = {
    "b s d": "b s d",
    "": "",
    "4": "4",
    "b=4": "4",
    "n=d+1": "d + 1",
    "b+1": "b + 1",
    "2*b-1": "2*b - 1",
    "(b+1)*d 3": "d*(b + 1) 3",
    "b/2": "b/2",
    "ceil(b/16)": "ceil(b/16)",
    "... d": "batch d",
    "d ...": "d batch",
    "*batch d": "batch d",
    "#b d": "b d",
    "*#b d": "b d",
    "#*b d": "b d",
    "  b   d ": "b d",
    "größe": "größe",
    "lambda E S": "lambda E S",
    "None True": "None True",
}


@pytest.mark.parametrize(("text", "shape"), READ.items())
def test_shapes_are_read_wherever_they_stand(text, shape):
    def annotated(x):
        return x

    annotated.__annotations__ = {"x": text}
    assert shapes(annotated) == {"x": shape}
    annotated.__annotations__ = {"x": repr(text) if text.strip() else '""'}
    assert shapes(annotated) in ({"x": shape}, {"x": shape}), "as source"
    assert shapes(lambda x: x, x=text) == {"x": shape}
    if "/" not in text and "(" not in text and text.isascii():
        annotated.__annotations__ = {"x": Float[Tensor, text]}
        assert shapes(annotated) == {"x": shape}


CONDITIONS = {
    "... d": ["batch is the product of the axes in '...' of x; none broadcast"],
    "*n d": ["n is the product of the axes in '*n'"],
    "#b d": ["b does not broadcast"],
    "*#b d": ["b does not broadcast", "b is the product of the axes in '*#b'"],
    "b/2": ["2 divides b"],
    "b-1": ["b - 1 >= 1"],
}


@pytest.mark.parametrize(("text", "conditions"), CONDITIONS.items())
def test_what_a_shape_takes_for_granted_is_a_condition(text, conditions):
    assert [str(c) for c in sa.account(lambda x: x, x=text).conditions] == conditions


WRONG = {
    "_": "the axis '_' of x says nothing about its size; give it a name",
    "b _ d": "the axis '_' of x says nothing",
    "_b": "the axis '_b' of x says nothing",
    "*_": r"the axis '\*_' of x says nothing",
    "*": r"the axis '\*' of x says nothing",
    "#": "the axis '#' of x says nothing",
    "**b": r"the axis '\*\*b' of x says nothing",
    "=4": "the axis '=4' of x says nothing",
    "b=": "the axis 'b=' of x says nothing",
    "b, d": "the shape of x has a comma in 'b, d'; axes are separated by spaces",
    "b,d": "the shape of x has a comma",
    "b + 1": r"the axis '\+' of x does not read: .*an expression has no spaces: 'b\+1'",
    "0": "the axis '0' of x does not read: 0 is no size",
    "-1": "the axis '-1' of x does not read: -1 is no size",
    "b-b": "the axis 'b-b' of x does not read: 'b-b' is 0",
    "1.5": "the axis '1.5' of x does not read",
    "b.c": "the axis 'b.c' of x does not read",
    "?b": r"the axis '\?b' of x does not read",
    "{b}": r"the axis '{b}' of x does not read",
    "x[0]": r"the axis 'x\[0\]' of x does not read",
    "__import__('os')": "says nothing about its size",
    "exec('1')": "does not read",
    "2**10**10": "does not read",
    "#4": "the axis '4' of x has no name",
    "*b+1": "the axis 'b.1' of x has no name|has no name",
    "... ...": r"the shape '\.\.\. \.\.\.' of x has several axes twice",
    "*b *c": "has several axes twice",
    "*b ...": "has several axes twice",
    "*b b": "b is one axis and, in another place, several",
    "batch ...": "batch is one axis and, in another place, several",
}


@pytest.mark.parametrize(("text", "said"), WRONG.items())
def test_shapes_that_do_not_read_name_the_argument(text, said):
    with pytest.raises(ShapeError, match=said):
        sa.account(lambda x: x, x=text)


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


def test_results_are_tensors_of_the_function():
    kept = []
    sa.account(lambda x: kept.append(x) or x, x="b")
    assert sa.account(lambda x: {"y": (x * 2, None), "n": 3, "z": [x]}, x="b").graph.outputs == (1, 0)
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


def test_source_code_and_strings_of_ones_own():
    """Where annotations are objects, a string is the person's own: an axis may be called like anything."""
    own = {}
    exec(  # noqa: S102 # a module without `from __future__ import annotations`
        compile("def layer(x: 'b', i: 'int', y: 'Tensor', z: 'c d'): return x, z", "own", "exec", dont_inherit=True),
        own,
    )
    made = shapes(own["layer"], y="q", i=3)
    assert made == {"x": "b", "y": "q", "z": "c d"}
    assert read("b") == name("b")
