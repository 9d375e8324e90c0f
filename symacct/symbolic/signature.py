"""A function and the shapes of its arguments -> a `Graph`.

Shapes stand in annotations (see `symacct.symbolic.annotations`) or are given by keyword.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

from symacct.errors import GraphError, ShapeError, UnknownAxisError, nearest, one_of
from symacct.expr import Size, as_size, names_in, substitute
from symacct.graph import Graph, Role, check
from symacct.symbolic.annotations import Kind, Shapes, Spec, plain_function, read_annotation
from symacct.symbolic.builder import Builder
from symacct.symbolic.size import Dim, unwrap, wrap
from symacct.symbolic.tensor import Symbolic
from symacct.symbolic.tree import flatten, rebuild

EMPTY = inspect.Parameter.empty
SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


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
        Its arguments are tensors (annotated, or given a shape), sizes (annotated as `int`, or with such a default) and
        plain values. An argument with a default that is not given has its default.
    given
        Arguments by name: a shape for a tensor, a list or dict of shapes for as many, a value for the rest; a size may
        be an expression in names.
    sizes
        Sizes by name, put into all shapes at once.
    params
        Which arguments are parameters.

    Raises
    ------
    GraphError
        For an argument without a shape, or a result that is no tensor.
    UnknownAxisError
        For a size that no shape has, or a parameter that is no tensor.

    """
    signature = signature_of(fn)
    arguments = [_read(p, fn) for p in signature.parameters.values() if p.kind not in SEVERAL or p.name in given]
    put_in = {n: as_size(v, n) for n, v in sizes.items()}
    shapes = Shapes({**_chosen(arguments, given, put_in), **put_in})
    builder = Builder(shapes.sizes)
    params = _read_params(params)
    values: dict[str, Any] = {}
    for argument in arguments:
        if argument.kind == "size":
            values[argument.name] = _size(argument, given, shapes, builder)
            continue
        value, dtype = _value(argument, given)
        texts = [(argument.name, value.text)] if isinstance(value, Spec) else argument.texts(given)
        role: Role = "param" if argument.name in params else "input"
        inputs = [builder.input(_shape(shapes, text, n, fn), n, role, dtype) for n, text in texts]
        tensors = [Symbolic(builder, i) for i in inputs]
        values[argument.name] = tensors[0] if isinstance(value, Spec) else rebuild(value, tensors) if tensors else value
    _check_params(params, values)
    if not builder.inputs:
        msg = f"{called(fn)} has no tensor among its arguments; annotate one, as in x: 'b s d', or give its shape"
        raise GraphError(msg)
    import symacct.symbolic.einops_backend  # noqa: F401 # einops finds the backend once it is loaded

    bound = signature.bind_partial()
    bound.arguments.update(values)
    outputs = list(_tensors(fn(*bound.args, **bound.kwargs), fn, builder))
    known = sorted(shapes.used | builder.used)
    if unused := [n for n in sizes if n not in known]:
        msg = f"there is no size {unused[0]!r} in the shapes; known: {one_of(known)}.{nearest(unused[0], known)}"
        raise UnknownAxisError(msg)
    graph = builder.graph(outputs, shapes.conditions)
    check(graph)
    return graph


def _shape(shapes: Shapes, text: str, argument: str, fn: Callable[..., Any]) -> tuple[Size, ...]:
    try:
        return shapes.read(text, argument)
    except ShapeError as error:
        msg = f"{error}{_defined(fn)}"
        raise ShapeError(msg) from None


def _defined(fn: Callable[..., Any]) -> str:
    """Return where a function is defined, to end a message with."""
    code = getattr(plain_function(fn), "__code__", None)
    return f"\n  at {Path(code.co_filename).name}:{code.co_firstlineno}, in {called(fn)}" if code else ""


def signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function.

    Raises
    ------
    GraphError
        Where it has none that can be read.

    """
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):
        msg = f"the arguments of {called(fn)} cannot be read; call it in a function of annotated tensors"
        raise GraphError(msg) from None


def called(fn: Callable[..., Any]) -> str:
    """Return the name of a function, of an object that is called that of its class."""
    return getattr(fn, "__name__", "") or getattr(getattr(fn, "func", None), "__name__", "") or type(fn).__name__


class _Argument(NamedTuple):
    """An argument of a function: a tensor whose shape is said, a size, or anything else."""

    name: str
    kind: Kind
    default: Any
    several: tuple[type, ...] = ()
    """What is given for it where it stands for any number of arguments, as ``*args`` and ``**kwargs`` do."""

    def value(self, given: Mapping[str, Any]) -> Any:
        """Return what is given for it, else its default, else EMPTY."""
        return given.get(self.name, self.default)

    def texts(self, given: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return the shapes of the list, tuple or dict of shapes that it is given, each with a name; else none."""
        value, is_open = given.get(self.name), self.kind is None and (self.default is EMPTY or self.default is None)
        if not is_open or isinstance(value, str) or not all(isinstance(t, str) for t in flatten(value)):
            return []
        return list(_named(value, self.name))


def _named(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the shapes of a list, tuple or dict, each with its name: ``layers[0].w``."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _named(part, f"{name}.{key}")
    elif isinstance(value, tuple | list):
        for place, part in enumerate(value):
            yield from _named(part, f"{name}[{place}]")
    elif value is not None:
        yield name, value


def _read(p: inspect.Parameter, fn: Callable[..., Any]) -> _Argument:
    if p.kind in SEVERAL:
        return _Argument(p.name, None, EMPTY, (list, tuple) if p.kind == p.VAR_POSITIONAL else (dict,))
    if p.annotation is not EMPTY:
        return _Argument(p.name, read_annotation(p.annotation, fn), p.default)
    return _Argument(p.name, "size" if type(p.default) is int else None, p.default)


def _chosen(arguments: Sequence[_Argument], given: Mapping[str, Any], put_in: Mapping[str, Size]) -> dict[str, Size]:
    """Return the sizes that are arguments and have a value: in shapes, their names stand for it."""
    out = {}
    for argument in arguments:
        value = argument.value(given)
        if argument.kind == "size" and value is not EMPTY and value is not None:
            size = value if type(value) is int else _as_size(value, argument.name)
            if type(size) is not int or size >= 1:
                out[argument.name] = substitute(size, put_in)
    return out  # type: ignore[return-value]


def _as_size(value: Any, name: str) -> Size:
    return unwrap(value) if type(value) is Dim else as_size(value, name)


def _size(argument: _Argument, given: Mapping[str, Any], shapes: Shapes, builder: Builder) -> Any:
    """Return what a function gets for an argument that is a size; its own name where it has no value."""
    value = argument.value(given)
    if value is None or type(value) is int:
        return value
    size = _as_size(argument.name if value is EMPTY else value, argument.name)
    shapes.used.update(names_in(size))
    return wrap(substitute(size, shapes.sizes), builder.states)


def _value(argument: _Argument, given: Mapping[str, Any]) -> tuple[Any, str | None]:
    """Return the shape of a tensor and its dtype, or a plain value.

    Raises
    ------
    GraphError
        For an argument without a shape.

    """
    name, kind, default, several = argument
    value = argument.value(given)
    if several and not isinstance(value, several):
        msg = f"the arguments {name!r} are any number; give their shapes in a {several[0].__name__}"
        raise GraphError(msg)
    if isinstance(kind, Spec):
        if name not in given:
            return (kind, kind.dtype) if default is EMPTY else (default, None)
        if value is not None and not isinstance(value, str):
            msg = f"the argument {name!r} is a tensor; give its shape as text, as in {name}='b s d'"
            raise GraphError(msg)
        return None if value is None else Spec(value), kind.dtype
    if value is EMPTY:
        msg = f"the argument {name!r} has no shape; annotate it, as in {name}: 'b s d', or give it by keyword"
        raise GraphError(msg)
    is_shape = name in given and isinstance(value, str) and kind != "text" and (default is EMPTY or default is None)
    return Spec(value) if is_shape else value, None


def _read_params(params: Any) -> list[str]:
    """Return names of parameters: a list of them, or text in which they are apart by commas or blanks."""
    if isinstance(params, str):
        return params.replace(",", " ").split()
    if not isinstance(params, Iterable) or not all(isinstance(p, str) for p in params):
        msg = f"params={params!r} are no names of arguments; give them as in params=['w']"
        raise GraphError(msg)
    return list(params)


def _check_params(params: Sequence[str], values: Mapping[str, Any]) -> None:
    for p in params:
        if p not in values:
            known = one_of(n for n, v in values.items() if isinstance(v, Symbolic))
            msg = f"no argument {p!r} to be a parameter; the tensors are {known}.{nearest(p, values)}"
            raise UnknownAxisError(msg)
        if not all(isinstance(t, Symbolic) for t in flatten(values[p])):
            msg = f"the argument {p!r} is no tensor, so it is no parameter either"
            raise UnknownAxisError(msg)


def _tensors(result: Any, fn: Callable[..., Any], builder: Builder) -> Iterator[int]:
    """Yield the tensors that a function returned.

    Raises
    ------
    GraphError
        If there are none, or one was not made from its arguments.

    """
    found = list(_symbolic(result))
    if not found:
        msg = f"{called(fn)} returned {type(result).__name__}, no symbolic tensor{_defined(fn)}"
        raise GraphError(msg)
    if any(t.builder is not builder for t in found):
        msg = f"{called(fn)} returned a tensor that was not made from its arguments{_defined(fn)}"
        raise GraphError(msg)
    yield from (t.id for t in found)


def _symbolic(result: Any) -> Iterator[Symbolic]:
    if isinstance(result, Symbolic):
        yield result
    elif isinstance(result, tuple | list):
        for part in result:
            yield from _symbolic(part)
    elif isinstance(result, Mapping):
        for part in result.values():
            yield from _symbolic(part)
    elif is_dataclass(result) and not isinstance(result, type):
        for part in fields(result):
            yield from _symbolic(getattr(result, part.name))
