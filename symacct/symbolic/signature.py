"""A function and the shapes of its arguments -> a `Graph`.

Shapes stand in annotations (see `symacct.symbolic.annotations`) or are given by keyword.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from symacct.errors import GraphError, UnknownAxisError, nearest, one_of
from symacct.expr import Size, as_size, names_in, substitute
from symacct.graph import Graph, check
from symacct.symbolic.annotations import Shapes, Spec, read_annotation
from symacct.symbolic.builder import Builder
from symacct.symbolic.size import Dim, unwrap, wrap
from symacct.symbolic.tensor import Symbolic

EMPTY = inspect.Parameter.empty


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
        Arguments by name: a shape for a tensor, a value for the rest; a size may be an expression in names.
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
    put_in = {n: as_size(v, n) for n, v in sizes.items()}
    shapes = Shapes({**put_in, **_chosen(fn, signature, given, put_in)})
    builder = Builder(shapes.sizes)
    params = params.replace(",", " ").split() if isinstance(params, str) else params
    values: dict[str, Any] = {}
    for argument in signature.parameters.values():
        if argument.kind not in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            role = "param" if argument.name in params else "input"
            values[argument.name] = _argument(fn, argument, given, shapes, builder, role)
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


def _chosen(
    fn: Callable[..., Any], signature: inspect.Signature, given: Mapping[str, Any], put_in: Mapping[str, Size]
) -> dict[str, Size]:
    """Return the sizes that are arguments and have a value: in shapes, their names stand for it."""
    out = {}
    for argument in signature.parameters.values():
        value = given.get(argument.name, argument.default)
        if _is_size(fn, argument) and value is not EMPTY and value is not None and argument.name not in put_in:
            size = value if type(value) is int else unwrap(value) if type(value) is Dim else as_size(value, "size")
            if type(size) is not int or size >= 1:
                out[argument.name] = substitute(size, put_in)
    return out  # type: ignore[return-value]


def _is_size(fn: Callable[..., Any], argument: inspect.Parameter) -> bool:
    if argument.annotation is EMPTY:
        return type(argument.default) is int
    return read_annotation(argument.annotation, fn) == "size"


def _argument(
    fn: Callable[..., Any],
    argument: inspect.Parameter,
    given: Mapping[str, Any],
    shapes: Shapes,
    builder: Builder,
    role: str,
) -> Any:
    """Return what a function gets for one argument: a symbolic tensor, a size, or a plain value."""
    value = given.get(argument.name, argument.default)
    if _is_size(fn, argument):
        return _size(argument.name if value is EMPTY else value, argument.name, shapes)
    kind = None if argument.annotation is EMPTY else read_annotation(argument.annotation, fn)
    text, dtype = kind if isinstance(kind, Spec) else (None, None)
    if argument.name in given:
        if text is not None and value is not None and not isinstance(value, str):
            msg = f"the argument {argument.name!r} is a tensor; give its shape as text, as in {argument.name}='b s d'"
            raise GraphError(msg)
        plain = text is None and (argument.annotation is not EMPTY or not (argument.default is EMPTY or argument.default is None))
        if plain or not isinstance(value, str):
            return value
        text = value
    elif value is not EMPTY:
        return value
    elif text is None:
        name = argument.name
        msg = f"the argument {name!r} has no shape; annotate it, as in {name}: 'b s d', or give it by keyword"
        raise GraphError(msg)
    made = builder.input(shapes.read(text, argument.name), argument.name, role, dtype)  # type: ignore[arg-type]
    return Symbolic(builder, made)


def _size(value: Any, name: str, shapes: Shapes) -> Any:
    if value is None or type(value) is int:
        return value
    size = unwrap(value) if type(value) is Dim else as_size(value, name)
    shapes.used.update(names_in(size))
    return wrap(substitute(size, shapes.sizes))


def _check_params(params: Sequence[str], values: Mapping[str, Any]) -> None:
    for p in params:
        if p not in values:
            known = one_of(n for n, v in values.items() if isinstance(v, Symbolic))
            msg = f"no argument {p!r} to be a parameter; the tensors are {known}.{nearest(p, values)}"
            raise UnknownAxisError(msg)
        if values[p] is not None and not isinstance(values[p], Symbolic):
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
        msg = f"{called(fn)} returned {type(result).__name__}, no symbolic tensor"
        raise GraphError(msg)
    if any(t.builder is not builder for t in found):
        msg = f"{called(fn)} returned a tensor that was not made from its arguments"
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
