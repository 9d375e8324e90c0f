"""A function and the shapes of its arguments -> a `Graph`.

Shapes stand in annotations, as strings (``x: "b s d"``) or jaxtyping's (``Float[Tensor, "b s d"]``), or are given by
keyword. An annotation is read, never evaluated.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from symacct.errors import GraphError, ShapeError, UnknownAxisError, nearest, one_of
from symacct.expr import Poly, Size, as_size, name, names_in, read_size, substitute
from symacct.graph import Graph, check
from symacct.symbolic.builder import Builder
from symacct.symbolic.size import wrap
from symacct.symbolic.tensor import Symbolic

DTYPES: Mapping[str, str | None] = {
    "Float": None,
    "Inexact": None,
    "Num": None,
    "Shaped": None,
    "BFloat16": "bf16",
    "Float16": "fp16",
    "Float32": "fp32",
    "Float64": "fp64",
    "Float8e4m3fn": "fp8_e4m3fn",
    "Float8e5m2": "fp8_e5m2",
    "Int": "int64",
    "Integer": "int64",
    "Int8": "int8",
    "Int16": "int16",
    "Int32": "int32",
    "Int64": "int64",
    "UInt8": "uint8",
    "Bool": "bool",
}
"""The storage format behind each of jaxtyping's classes; None follows the account's dtype."""


@dataclass
class Shapes:
    """Reads shape strings of one function: shared names, conditions, sizes put in."""

    sizes: Mapping[str, Size]
    conditions: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    def read(self, text: str, argument: str) -> tuple[Size, ...]:
        """Return the shape that a string such as ``"b s 4*d"`` stands for.

        Raises
        ------
        ShapeError
            Names the argument and the part that does not read.

        """
        return tuple(self._size(part, argument) for part in text.split())

    def _size(self, part: str, argument: str) -> Size:
        if part == "...":
            return self._named("batch", f"batch is the product of the axes in '...' of {argument}; none broadcast")
        if part.startswith("*"):
            return self._named(part[1:], f"{part[1:]} is the product of the axes in {part!r}")
        if part.startswith("#"):
            return self._named(part[1:], f"{part[1:]} does not broadcast")
        if not part.strip("_"):
            msg = f"the axis '_' of {argument} says nothing about its size; give it a name"
            raise ShapeError(msg)
        if "," in part:
            msg = f"the shape of {argument} has a comma in {part!r}; axes are separated by spaces"
            raise ShapeError(msg)
        called, _, value = part.partition("=")
        size = read_size(value or called)
        self.used.update(names_in(size))
        return substitute(size, self.sizes)  # type: ignore[return-value]

    def _named(self, part: str, condition: str) -> Size:
        if condition not in self.conditions:
            self.conditions.append(condition)
        self.used.add(part)
        return substitute(name(part), self.sizes)  # type: ignore[return-value]


def trace(
    fn: Callable[..., Any],
    given: Mapping[str, Any],
    sizes: Mapping[str, Any],
    params: Sequence[str] = (),
) -> Graph:
    """Run a function on symbolic tensors and return its graph.

    Parameters
    ----------
    fn
        Its arguments are tensors (annotated, or given a shape) and plain values.
    given
        Arguments by name: a shape for a tensor, a value for the rest; an `int` argument may be a size in names.
    sizes
        Sizes by name, put into all shapes at once.
    params
        Which arguments are parameters.

    Raises
    ------
    GraphError
        For an argument without a shape, or a result that is no tensor.

    """
    signature = inspect.signature(fn)
    if unknown := [p for p in params if p not in signature.parameters]:
        msg = f"no argument {unknown[0]!r} to be a parameter; the arguments are {one_of(signature.parameters)}"
        raise UnknownAxisError(msg + "." + nearest(unknown[0], signature.parameters))
    shapes = Shapes({n: as_size(v, n) for n, v in sizes.items()})
    builder = Builder(shapes.sizes)
    values = {}
    for argument in signature.parameters.values():
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            continue
        role = "param" if argument.name in params else "input"
        values[argument.name] = _argument(argument, given, shapes, builder, role)
    if unused := [n for n in sizes if n not in shapes.used]:
        known = sorted(shapes.used)
        msg = f"there is no size {unused[0]!r} in the shapes; known: {one_of(known)}.{nearest(unused[0], known)}"
        raise UnknownAxisError(msg)
    import symacct.symbolic.einops_backend  # noqa: F401 # einops finds the backend once it is loaded

    result = fn(**values)
    outputs = [t.id for t in _tensors(result)]
    if not outputs:
        msg = f"{getattr(fn, '__name__', 'the function')} returned {type(result).__name__}, no symbolic tensor"
        raise GraphError(msg)
    graph = builder.graph(outputs, shapes.conditions)
    check(graph)
    return graph


def _argument(
    argument: inspect.Parameter, given: Mapping[str, Any], shapes: Shapes, builder: Builder, role: str
) -> Any:
    """Return what a function gets for one argument: a symbolic tensor, a size, or a plain value."""
    annotated = _annotation(argument.annotation)
    value = given.get(argument.name, argument.default)
    if annotated == "int" or (isinstance(argument.default, int) and not isinstance(argument.default, bool)):
        return _plain_size(value, argument, shapes)
    if isinstance(value, str) and (annotated is None or argument.name in given):
        dtype = annotated[1] if isinstance(annotated, tuple) else None
        text = value
    elif isinstance(annotated, tuple):
        text, dtype = annotated
    elif value is inspect.Parameter.empty:
        called = argument.name
        msg = f"the argument {called!r} has no shape; annotate it, as in {called}: 'b s d', or give it by keyword"
        raise GraphError(msg)
    else:
        return value
    made = builder.input(shapes.read(text, argument.name), argument.name, role, dtype)  # type: ignore[arg-type]
    return Symbolic(builder, made)


def _plain_size(value: Any, argument: inspect.Parameter, shapes: Shapes) -> Any:
    if value is inspect.Parameter.empty:
        value = argument.name
    if isinstance(value, str | Poly):
        size = as_size(value, argument.name)
        shapes.used.update(names_in(size))
        return wrap(substitute(size, shapes.sizes))
    return value


def _annotation(annotation: Any) -> Any:
    """Return ``(shape text, dtype)`` of a tensor's annotation, ``"int"`` of a size's, None where there is none."""
    if annotation is inspect.Parameter.empty or annotation is None:
        return None
    if annotation is int:
        return "int"
    if hasattr(annotation, "dim_str"):
        return annotation.dim_str, DTYPES.get(annotation.__name__.partition("[")[0])
    if not isinstance(annotation, str):
        return None
    return _quoted(annotation)


def _quoted(text: str) -> Any:
    """Read an annotation that is text: the shape itself, or source code that holds it."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return text, None
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return tree.value, None
    if isinstance(tree, ast.Name) and tree.id in ("int", "float", "bool", "str"):
        return tree.id if tree.id == "int" else None
    if isinstance(tree, ast.Subscript):
        kind = tree.value.attr if isinstance(tree.value, ast.Attribute) else getattr(tree.value, "id", "")
        parts = tree.slice.elts if isinstance(tree.slice, ast.Tuple) else [tree.slice]
        last = parts[-1]
        if kind in DTYPES and isinstance(last, ast.Constant) and isinstance(last.value, str):
            return last.value, DTYPES[kind]
        return None
    return text, None


def _tensors(result: Any) -> Iterator[Symbolic]:
    if isinstance(result, Symbolic):
        yield result
    elif isinstance(result, tuple | list):
        for part in result:
            yield from _tensors(part)
    elif isinstance(result, Mapping):
        for part in result.values():
            yield from _tensors(part)
