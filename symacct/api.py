"""The public verbs: patterns and functions in, closed forms out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from symacct.accounting import TRAFFICS, Account, Formats, Traffic
from symacct.conventions import Convention, convention_of
from symacct.dtypes import as_format
from symacct.einsum import Products, check_order, left_tree, products
from symacct.errors import ConventionError, DtypeError, one_of
from symacct.expr import Size, collect_sizes, names_in
from symacct.graph import Graph
from symacct.ordering import best_tree
from symacct.pattern import parse, parse_once


def account(
    pattern: str | Callable[..., Any] | Graph,
    /,
    *,
    sizes: Mapping[str, Any] | None = None,
    convention: str | Convention = "2n",
    dtype: Any = "bf16",
    order: str = "left",
    traffic: str = "unfused",
    notation: str = "einops",
    params: Sequence[str] = (),
    layout: str = "ideal",
    fuse: str = "none",
    **axes: Any,
) -> Account:
    """Account for a pattern, a function or a graph: FLOPs, bytes and intensity as closed forms.

    Parameters
    ----------
    pattern
        ``"b s d, d k -> b s k"``; the grammar is `symacct.pattern.parse`'s. Or a function of tensors whose
        arguments are annotated with shapes, ``def layer(x: "b s d", w: "d k")``, or given one by keyword;
        a list or dict of shapes gives as many tensors, called ``layers[0]``, ``params.w``.
        Or a `Graph`, such as one that was saved; it is checked first.
    sizes, **axes
        Sizes by name: integers, names, expressions in names, all put in at once. Use the mapping for
        axes that are called like one of these options, or like a Python keyword.
    convention
        How operations are counted: a preset (``"2n"``, ``"exact"``, ``"mac"``, ``"unit"``) or a `Convention`.
    dtype
        One storage format, or a list with one per operand and one for the output (intermediates take
        the output's). Blocks run along what is summed; of a format such as ``"nvfp4_flat"`` over all values.
    order
        Three operands and more: ``"left"``, ``"best"`` or ``"naive"``.
    traffic
        ``"unfused"`` (each step reads its operands and writes its result) or ``"compulsory"`` (operands
        and output once).
    notation
        ``"einops"`` or ``"numpy"``.
    params
        Which arguments of a function are parameters.
    layout
        Of a function: ``"ideal"`` (nothing is copied to be laid out) or ``"torch"`` (with the copies that
        reshape and einsum make).
    fuse
        Of a function: ``"none"`` (a kernel an operation; of an attention three, between which scores are written and
        read), ``"pointwise"`` (element-wise, reduction and view operations share a kernel with their neighbours, which
        moves less), ``"flash"`` (a `scaled_dot_product_attention` is one kernel, which keeps its scores inside), or
        ``"pointwise+flash"``.

    Returns
    -------
    Account
        Its totals are sympy expressions over plain symbols: ``.flops``, ``.matmul_flops``, ``.bytes``, ``.intensity``.

    Raises
    ------
    SymacctError
        One class a cause, with the culprit named.

    Notes
    -----
    A product of two operands visits one point for each combination of its axes, ``b*d*k``; the axes that the output
    lacks are summed. A sum of d products is d multiplies and d - 1 adds, ``2*d`` under the convention ``2n``.

    Examples
    --------
    >>> import symacct as sa
    >>> print(sa.account("b d, d k -> b k"))
    b d, d k -> b k
     quantity       closed form               unit
     flops          2*b*d*k                   FLOP
     matmul_flops   2*b*d*k                   FLOP
     bytes          2*(b*d + b*k + d*k)       B
     intensity      b*d*k/(b*d + b*k + d*k)   FLOP/B
    <BLANKLINE>
     under
     convention   2n: a sum of n products is 2n operations; a sum of n terms is n
     dtype        bf16
     traffic      unfused

    """
    if callable(pattern) or isinstance(pattern, Graph):
        from symacct.traced import account_function, account_graph

        if order != "left" or notation != "einops":
            msg = "order and notation are those of a pattern; inside a function each einsum runs from the left"
            raise ConventionError(msg)
        chosen = {"convention": convention, "dtype": dtype, "traffic": traffic, "layout": layout, "fuse": fuse}
        if isinstance(pattern, Graph):
            return account_graph(pattern, {**(sizes or {}), **axes}, params, **chosen)
        return account_function(pattern, axes, sizes, params, **chosen)
    if params or layout != "ideal" or fuse != "none":
        msg = (
            "params, layout and fuse are those of a function, not of a pattern; "
            "to size an axis called like an option, use sizes={'fuse': ...}"
        )
        raise ConventionError(msg)
    given = collect_sizes(sizes, axes, parse_once(pattern, notation).names) if sizes or axes else {}
    if type(convention) is not str:
        convention = convention_of(convention)
    if type(dtype) is not str:
        dtype = tuple(map(as_format, dtype)) if isinstance(dtype, list | tuple) else as_format(dtype)
    try:
        return _account(pattern, notation, tuple(given.items()), convention, dtype, order, traffic)
    except TypeError:
        # what cannot be a key to remember an account by is no word either
        _check_words(order=order, traffic=traffic, notation=notation)
        raise


def _check_words(**options: object) -> None:
    for option, word in options.items():
        if not isinstance(word, str):
            hint = f"to size an axis of that name, use sizes={{{option!r}: ...}}"
            msg = f"unknown {option} {word!r}: not a word; {hint}"
            raise ConventionError(msg)


@lru_cache(maxsize=4096)
def _account(  # noqa: PLR0917 # all that an account depends on, as a key to remember it by
    pattern: str,
    notation: str,
    given: tuple[tuple[str, Size], ...],
    convention: str | Convention,
    dtype: Any,
    order: str,
    traffic: str,
) -> Account:
    parsed = (parse_once if given else parse)(pattern, notation)
    sizes = dict(given)
    check_order(order)
    if traffic not in TRAFFICS:
        msg = f"unknown traffic {traffic!r}; known: {one_of(TRAFFICS)}"
        raise ConventionError(msg)
    counted = convention_of(convention)
    tree = None if order == "naive" else left_tree(len(parsed.terms))
    if order == "best" and len(parsed.terms) > 2:
        tree = best_tree(parsed, sizes, counted)
    source, formats = _formatted(products(parsed, sizes, tree), dtype)
    title = pattern
    if sizes:
        title += "   with " + ", ".join(f"{n} = {s}" for n, s in sizes.items())
        if again := sorted(sizes.keys() & {n for s in sizes.values() for n in names_in(s)}):
            title += f", put in at once: {', '.join(again)} inside a size is still a name"
    return Account(source, counted, formats, cast("Traffic", traffic), title, order)


def _formatted(found: Products, dtype: Any) -> tuple[Products | Graph, Formats]:
    """Return the usual format; where each operand and the output has its own, tensors are pinned to theirs."""
    if not isinstance(dtype, tuple):
        return found, _usual(dtype)
    graph = found.graph()
    count = len(graph.inputs)
    if len(dtype) != count + 1:
        msg = f"{len(dtype)} dtypes for {count} operand{'s' * (count != 1)} and an output; give one, or {count + 1}"
        raise DtypeError(msg)
    pinned = [t._replace(dtype=dtype[min(t.id, count)].name) for t in graph.tensors]
    return graph._replace(tensors=tuple(pinned)), Formats(dtype[-1])


@lru_cache(maxsize=256)
def _usual(dtype: Any) -> Formats:
    return Formats(as_format(dtype))


def flops(pattern: str | Callable[..., Any], /, **options: Any) -> Any:
    """Return everything executed: ``2*b*d*k`` for ``b d, d k -> b k``.

    Parameters are `account`'s. Under ``convention="mac"`` the unit is multiply-accumulates.

    Returns
    -------
    A sympy expression over plain symbols.

    Raises
    ------
    MixedUnitsError
        Under ``mac``, where other operations stand beside the multiply-accumulates.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.flops("b d, d k -> b k"), sa.flops("b d, d k -> b k", convention="exact")
    (2*b*d*k, b*k*(2*d - 1))
    >>> sa.flops("b d, d k -> b k", b=64, d="4*k")
    512*k**2

    """
    return account(pattern, **options).flops


def matmul_flops(pattern: str | Callable[..., Any], /, **options: Any) -> Any:
    """Return the contractions only: what MFU and 6ND speak of. Parameters are `account`'s.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.matmul_flops("b d, b d -> b d"), sa.matmul_flops("b d, d k -> b k")
    (0, 2*b*d*k)

    """
    return account(pattern, **options).matmul_flops


def bytes(pattern: str | Callable[..., Any], /, **options: Any) -> Any:
    """Return the bytes moved: each operand read and the output written once. Parameters are `account`'s.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.bytes("b d, d k -> b k", dtype="bf16")
    2*b*d + 2*b*k + 2*d*k

    """
    return account(pattern, **options).bytes


def intensity(pattern: str | Callable[..., Any], /, **options: Any) -> Any:
    """Return the arithmetic intensity, ``flops / bytes``. Parameters are `account`'s.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.intensity("i j, j k -> i k", i="n", j="n", k="n", convention="exact")
    n/3 - 1/6

    """
    return account(pattern, **options).intensity
