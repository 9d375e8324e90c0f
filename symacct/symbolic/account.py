"""A function of tensors -> its account."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from symacct.accounting import FUSES, LAYOUTS, TRAFFICS, Account, Formats, Fuse, Layout, Traffic
from symacct.conventions import Convention, convention_of
from symacct.dtypes import as_format
from symacct.errors import ConventionError, one_of
from symacct.graph import Graph
from symacct.rules.rule import show_shape
from symacct.symbolic.signature import called, signature_of, trace


def account_function(
    fn: Callable[..., Any],
    keywords: Mapping[str, Any],
    sizes: Mapping[str, Any] | None,
    *,
    params: Sequence[str],
    convention: str | Convention,
    dtype: Any,
    traffic: str,
    layout: str,
    fuse: str,
) -> Account:
    """Account for a function; see `symacct.account`. Keywords that are arguments are shapes or values, others sizes."""
    for what, chosen, known in (("traffic", traffic, TRAFFICS), ("layout", layout, LAYOUTS), ("fuse", fuse, FUSES)):
        if chosen not in known:
            msg = f"unknown {what} {chosen!r}; known: {one_of(known)}"
            raise ConventionError(msg)
    arguments = signature_of(fn).parameters
    given = {n: v for n, v in keywords.items() if n in arguments}
    put_in = {**(sizes or {}), **{n: v for n, v in keywords.items() if n not in arguments}}
    graph = trace(fn, given, put_in, params)
    return Account(
        graph,
        convention_of(convention),
        formats_of(dtype),
        cast("Traffic", traffic),
        title(fn, graph),
        order="",
        layout=cast("Layout", layout),
        fuse=cast("Fuse", fuse),
    )


def formats_of(dtype: Any) -> Formats:
    """Return the formats of an account: one for all, or by role where it is a mapping (``{"param": "fp32"}``)."""
    if isinstance(dtype, Mapping):
        roles = tuple((role, as_format(d)) for role, d in dtype.items())
        return Formats(dict(roles).get("act", as_format("bf16")), roles)
    return Formats(as_format(dtype))


def title(fn: Callable[..., Any], graph: Graph) -> str:
    """Return the function with the shapes of its arguments: ``layer(x (b, s, d), w (d, k))``."""
    inputs = ", ".join(f"{graph.tensors[i].name} {show_shape(graph.tensors[i].shape)}" for i in graph.inputs)
    return f"{called(fn)}({inputs})"
