"""A function of tensors -> its account."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from symacct.accounting import TRAFFICS, Account, Traffic
from symacct.conventions import Convention, convention_of
from symacct.dtypes import AnyFormat, as_format
from symacct.errors import ConventionError, one_of
from symacct.graph import Graph
from symacct.rules.rule import show_shape
from symacct.symbolic.signature import trace


def account_function(
    fn: Callable[..., Any],
    keywords: Mapping[str, Any],
    sizes: Mapping[str, Any] | None,
    *,
    params: Sequence[str],
    convention: str | Convention,
    dtype: Any,
    traffic: str,
) -> Account:
    """Account for a function; see `symacct.account`. Keywords that are arguments are shapes or values, others sizes."""
    if traffic not in TRAFFICS:
        msg = f"unknown traffic {traffic!r}; known: {one_of(TRAFFICS)}"
        raise ConventionError(msg)
    arguments = inspect.signature(fn).parameters
    given = {n: v for n, v in keywords.items() if n in arguments}
    put_in = {**(sizes or {}), **{n: v for n, v in keywords.items() if n not in arguments}}
    graph = trace(fn, given, put_in, params)
    return Account(
        graph, convention_of(convention), formats_of(graph, dtype), cast("Traffic", traffic), title(fn, graph)
    )


def formats_of(graph: Graph, dtype: Any) -> tuple[AnyFormat, ...]:
    """Return a format for every tensor: the one it is pinned to, else the account's, by role where it is a mapping."""
    if isinstance(dtype, Mapping):
        roles = {role: as_format(d) for role, d in dtype.items()}
        usual = roles.get("act", as_format("bf16"))
        return tuple(as_format(t.dtype) if t.dtype else roles.get(t.role, usual) for t in graph.tensors)
    usual = as_format(dtype)
    return tuple(as_format(t.dtype) if t.dtype else usual for t in graph.tensors)


def title(fn: Callable[..., Any], graph: Graph) -> str:
    """Return the function with the shapes of its arguments: ``layer(x (b, s, d), w (d, k))``."""
    inputs = ", ".join(f"{graph.tensors[i].name} {show_shape(graph.tensors[i].shape)}" for i in graph.inputs)
    return f"{getattr(fn, '__name__', type(fn).__name__)}({inputs})"
