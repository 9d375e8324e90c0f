"""A function of tensors -> its account."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from symacct.accounting import FUSES, LAYOUTS, TRAFFICS, Account, Formats
from symacct.accounting.numbers import together
from symacct.accounting.pinned import check_carries, pinned
from symacct.conventions import convention_of
from symacct.dtypes import AnyFormat, as_format, pin_of
from symacct.errors import ConventionError, DtypeError, GraphError, SizeError, UnknownAxisError, nearest, one_of
from symacct.graph import Graph, check
from symacct.rules import check_shapes
from symacct.rules.rule import show_shape
from symacct.symbolic.signature import called, signature_of, trace

OPTIONS = ("sizes", "convention", "dtype", "traffic", "params", "layout", "fuse")
"""Of an account of a function, which a size may be a mistyped word of."""


def account_function(
    fn: Callable[..., Any],
    keywords: Mapping[str, Any],
    sizes: Mapping[str, Any] | None,
    params: Sequence[str],
    **chosen: Any,
) -> Account:
    """Account for a function; see `symacct.account`. Keywords that are arguments are shapes or values, others sizes."""
    _check_chosen(chosen)
    arguments = signature_of(fn).parameters
    given = {n: v for n, v in keywords.items() if n in arguments}
    put_in = together(sizes, {n: v for n, v in keywords.items() if n not in arguments})
    try:
        graph = trace(fn, given, put_in, params)
    except (SizeError, UnknownAxisError) as error:
        mistaken = [n for n in put_in if repr(n) in str(error) and nearest(n, OPTIONS)]
        if not mistaken:
            raise
        raise type(error)(f"{str(error).rstrip('.')}.{nearest(mistaken[0], OPTIONS)}") from None
    return _account(graph, called(fn), chosen)


def account_graph(graph: Graph, sizes: Mapping[str, Any], params: Sequence[str], **chosen: Any) -> Account:
    """Account for a graph, which is checked; see `symacct.account`.

    Raises
    ------
    GraphError
        For a graph that is not legal, or that rules would make otherwise; for sizes or parameters, which it has.

    """
    _check_chosen(chosen)
    if sizes or params:
        told = one_of([*sizes, *params])
        msg = f"a graph has its sizes and its parameters already, so {told} cannot be given; see Account.at for numbers"
        raise GraphError(msg)
    check(graph)
    check_shapes(graph)
    return _account(graph, "graph", chosen)


def _account(graph: Graph, name: str, chosen: Mapping[str, Any]) -> Account:
    inputs = ", ".join(f"{graph.tensors[i].name} {show_shape(graph.tensors[i].shape)}" for i in graph.inputs)
    formats, output = formats_of(chosen["dtype"], graph)
    if output is not None:
        graph = pinned(graph, dict.fromkeys(graph.outputs, pin_of(output)))
    check_carries(graph, formats)
    return Account(
        graph,
        convention_of(chosen["convention"]),
        formats,
        chosen["traffic"],
        f"{name}({inputs})",
        order="",
        layout=chosen["layout"],
        fuse=chosen["fuse"],
    )


def _check_chosen(chosen: Mapping[str, Any]) -> None:
    for what, known in (("traffic", TRAFFICS), ("layout", LAYOUTS), ("fuse", FUSES)):
        if chosen[what] not in known:
            msg = f"unknown {what} {chosen[what]!r}; known: {one_of(known)}"
            raise ConventionError(msg)


def formats_of(dtype: Any, graph: Graph) -> tuple[Formats, AnyFormat | None]:
    """Return the formats of an account: one for all, or by role or argument (``{"param": "fp32", "w": "nvfp4"}``).

    That of the outputs, where there is one, is apart: what is yielded inside, by turns and branches, has it not.

    Raises
    ------
    DtypeError
        For a list, and for a key that is neither a role nor an argument.

    """
    if isinstance(dtype, list | tuple):
        msg = "a function takes one dtype, or a mapping by role or argument, as in {'param': 'fp32', 'w': 'nvfp4'}"
        raise DtypeError(msg)
    if not isinstance(dtype, Mapping):
        return Formats(as_format(dtype)), None
    names = {graph.tensors[i].name for i in graph.inputs}
    known = [*ROLES, *sorted(names)]
    if unknown := [key for key in dtype if key not in known]:
        hint = nearest(unknown[0], known)
        msg = f"no tensors are called {unknown[0]!r}; a dtype can be given to {one_of(known)}.{hint}"
        raise DtypeError(msg)
    if "param" in dtype and not any(graph.tensors[i].role == "param" for i in graph.inputs):
        msg = "a dtype is given to 'param', and no argument is known to be a parameter; name them, as in params=['w']"
        raise DtypeError(msg)
    given = {key: as_format(d) for key, d in dtype.items()}
    output = given.pop("output", None)
    return Formats(given.get("act", as_format("bf16")), tuple(given.items())), output


ROLES = ("input", "param", "const", "act", "output")
