"""Shapes of arguments: strings, jaxtyping as objects and as source code, and what is refused."""

from __future__ import annotations

from typing import Annotated, Optional

import pytest

import symacct as sa
from symacct.errors import DtypeError, ShapeError
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
    y: Matrix,
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


def without_future(source):
    """A function of a module whose annotations are objects."""
    module: dict = {}
    exec(compile(source, "own", "exec", dont_inherit=True), module)  # noqa: S102
    return next(value for key, value in module.items() if key[0] != "_")


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
    def source(x):
        return x

    source.__annotations__ = {"x": repr(text)}
    own = without_future("def own(x): return x")
    own.__annotations__ = {"x": text}
    assert shapes(source) == shapes(own) == shapes(lambda x: x, x=text) == {"x": shape}
    if not set("/(ß") & set(text):
        for fn in (source, own):
            fn.__annotations__ = {"x": Float[Tensor, text]}
            assert shapes(fn) == {"x": shape}


def test_a_string_of_ones_own_may_be_called_like_anything():
    own = without_future("def layer(x: 'b', i: 'int', y: 'Tensor', z: 'c d'): return x, z")
    assert shapes(own, y="q", i=3) == {"x": "b", "y": "q", "z": "c d"}


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
    "b + 1": r"(?s)the axis '\+' of x does not read: .*an expression has no spaces: 'b\+1'",
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
    "#4": "the axis '#4' of x has no name",
    "*b+1": r"the axis '\*b\+1' of x has no name",
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
