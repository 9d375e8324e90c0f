"""The shapes of arguments as annotations say them: read, never evaluated.

A shape is a string (``x: "b s d"``) or jaxtyping's (``Float[Tensor, "b s d"]``), also where annotations are kept as
source code (``from __future__ import annotations``); names in that are looked up in the function's module.
"""

from __future__ import annotations
import __future__

import ast
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from symacct.errors import DtypeError, ShapeError, SymacctError, one_of
from symacct.expr import Size, name, names_in, read_size, substitute

DTYPES: Mapping[str, str | None] = {
    **dict.fromkeys(("Float", "Inexact", "Num", "Real", "Shaped")),
    "BFloat16": "bf16",
    "Float16": "fp16",
    "Float32": "fp32",
    "Float64": "fp64",
    "Float8e4m3fn": "fp8_e4m3fn",
    "Float8e4m3fnuz": "fp8_e4m3fnuz",
    "Float8e5m2": "fp8_e5m2",
    "Float8e5m2fnuz": "fp8_e5m2fnuz",
    "Int": "int64",
    "Integer": "int64",
    **{f"{sign}Int{bits}": f"{sign.lower()}int{bits}" for sign in ("", "U") for bits in (4, 8, 16, 32, 64)},
    "Bool": "bool",
    "Complex64": "complex64",
    "Complex128": "complex128",
}
"""The storage format behind each of jaxtyping's classes; None follows the account's dtype."""

OTHERS = ("Complex", "Float8e4m3b11fnuz", "Int2", "Key", "UInt", "UInt2")
"""Those of its classes that are no format that is known here."""


class Spec(NamedTuple):
    """What is said of a tensor: its shape as text, and its dtype where that is pinned."""

    text: str
    dtype: str | None = None


Kind = Spec | typing.Literal["size", "text"] | None
"""An argument that is a tensor of a shape, one that is a size, one that is text, or anything else."""


def plain_function(fn: Callable[..., Any]) -> Any:
    """Return the function behind decorators, partials, methods and objects that are called."""
    if isinstance(fn, partial):
        return plain_function(fn.func)
    if isinstance(fn, types.MethodType):
        return plain_function(fn.__func__)
    if hasattr(fn, "__wrapped__"):
        return plain_function(fn.__wrapped__)
    called = getattr(type(fn), "__call__", None)  # noqa: B004 # what it is, not whether it can be called
    return called if isinstance(called, types.FunctionType) else fn


def read_annotation(annotation: Any, fn: Callable[..., Any]) -> Kind:
    """Return what an annotation of a function says.

    Raises
    ------
    DtypeError
        For a class of jaxtyping's that is no storage format.

    """
    plain = plain_function(fn)
    if not isinstance(annotation, str):
        return _of_object(annotation)
    names = getattr(plain, "__globals__", {})
    code = getattr(plain, "__code__", None)
    try:
        tree = ast.parse(annotation.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return Spec(annotation)
    if code is not None and code.co_flags & __future__.annotations.compiler_flag:
        return _of_source(tree, names)
    # the string is the person's own: a shape, but for what can only be source code
    found = _of_source(tree, names)
    is_code = isinstance(tree, ast.Subscript) or (isinstance(tree, ast.Name | ast.Attribute) and _is_type(tree, names))
    return found if is_code else Spec(annotation)


def _of_object(annotation: Any) -> Kind:
    if annotation is int or annotation is str:
        return "size" if annotation is int else "text"
    if typing.get_origin(annotation) is typing.Literal:
        return "text"
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) in (typing.Union, typing.Annotated):
        found = [_of_object(part) for part in typing.get_args(annotation)]
        return next((kind for kind in found if kind is not None), None)
    if hasattr(annotation, "dim_str"):
        return Spec(annotation.dim_str, _dtype(annotation.__name__.partition("[")[0]))
    return "text" if str in typing.get_args(annotation) else None


def _of_source(tree: ast.expr, names: Mapping[str, Any]) -> Kind:
    """Read an annotation's source code."""
    if isinstance(tree, ast.Constant):
        return Spec(tree.value) if isinstance(tree.value, str) else None
    if isinstance(tree, ast.Name | ast.Attribute):
        return _of_object(_looked_up(tree, names))
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitOr):
        return _of_source(tree.left, names) or _of_source(tree.right, names)
    if not isinstance(tree, ast.Subscript):
        return None
    parts = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
    kind = tree.value.attr if isinstance(tree.value, ast.Attribute) else getattr(tree.value, "id", "")
    if kind == "Literal":
        return "text"
    if kind in ("Optional", "Union", "Annotated"):
        return next((found for part in parts if (found := _of_source(part, names)) is not None), None)
    if any(_of_source(part, names) == "text" for part in parts):
        return "text"
    last = parts[-1]
    if (kind in DTYPES or kind in OTHERS) and isinstance(last, ast.Constant) and isinstance(last.value, str):
        return Spec(last.value, _dtype(kind))
    return None


def _looked_up(tree: ast.expr, names: Mapping[str, Any]) -> Any:
    """Return what a dotted name stands for in a module, None for nothing."""
    if isinstance(tree, ast.Name):
        return names.get(tree.id, {"int": int, "str": str}.get(tree.id))
    return getattr(_looked_up(tree.value, names), tree.attr, None) if isinstance(tree, ast.Attribute) else None


def _is_type(tree: ast.expr, names: Mapping[str, Any]) -> bool:
    found = _looked_up(tree, names)
    known = isinstance(found, type) or hasattr(found, "dim_str") or typing.get_origin(found) is not None
    return known or isinstance(tree, ast.Attribute) or getattr(tree, "id", "") in ("float", "bool", "str", "Tensor")


def _dtype(kind: str) -> str | None:
    if kind not in DTYPES:
        msg = f"{kind}[...] says no storage format; known: {one_of(DTYPES)}"
        raise DtypeError(msg)
    return DTYPES[kind]


@dataclass
class Shapes:
    """Reads shape strings of one function: shared names, conditions, sizes put in."""

    sizes: Mapping[str, Size]
    conditions: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    several: dict[str, bool] = field(default_factory=dict)
    """Whether a name is the product of several axes."""

    def read(self, text: str, argument: str) -> tuple[Size, ...]:
        """Return the shape that a string such as ``"b s 4*d"`` stands for.

        Raises
        ------
        ShapeError
            Names the argument and the part that does not read.

        """
        if "," in text:
            msg = f"the shape of {argument} has a comma in {text!r}; axes are separated by spaces"
            raise ShapeError(msg)
        parts = text.split()
        if sum(part == "..." or part.lstrip("#").startswith("*") for part in parts) > 1:
            msg = f"the shape {text!r} of {argument} has several axes twice; one '...' or '*name' is possible"
            raise ShapeError(msg)
        return tuple([self._size(part, argument) for part in parts])

    def _size(self, part: str, argument: str) -> Size:
        if part == "...":
            self._condition(f"batch is the product of the axes in '...' of {argument}; none broadcast")
            return self._named("batch", part, argument, several=True)
        marks = part[: len(part) - len(part.lstrip("*#"))]
        part = part[len(marks) :]
        called, equals, value = part.partition("=")
        if called.startswith("_") or not called or (equals and not value) or marks not in ("", "*", "#", "*#", "#*"):
            msg = f"the axis {marks + part!r} of {argument} says nothing about its size; give it a name"
            raise ShapeError(msg)
        if "#" in marks:
            self._condition(f"{part} does not broadcast")
        if "*" in marks:
            self._condition(f"{part} is the product of the axes in {marks + part!r}")
        if marks or part.isidentifier():
            return self._named(part, marks + part, argument, several="*" in marks)
        try:
            size = read_size(value or called)
        except SymacctError as error:
            hint = "; an expression has no spaces: 'b+1'" if not called[:1].isalnum() else ""
            msg = f"the axis {part!r} of {argument} does not read: {error}{hint}"
            raise ShapeError(msg) from None
        for n in names_in(size):
            self._named(n, part, argument, several=False)
        return substitute(size, self.sizes)  # type: ignore[return-value]

    def _condition(self, stated: str) -> None:
        if stated not in self.conditions:
            self.conditions.append(stated)

    def _named(self, n: str, part: str, argument: str, *, several: bool) -> Size:
        if not n.isidentifier():
            msg = f"the axis {part!r} of {argument} has no name"
            raise ShapeError(msg)
        if self.several.setdefault(n, several) != several:
            msg = f"{n} is one axis and, in another place, several: {part!r} of {argument}; give one another name"
            raise ShapeError(msg)
        self.used.add(n)
        return substitute(name(n), self.sizes)  # type: ignore[return-value]
