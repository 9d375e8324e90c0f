"""The public verbs: patterns (and soon functions and models) in, closed forms out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from symacct.accounting import TRAFFICS, Account
from symacct.conventions import Convention, convention_of
from symacct.dtypes import AnyFormat, as_format
from symacct.bounds import LowerBound, bound
from symacct.einsum import check_order, full_sizes, left_tree, lower
from symacct.errors import ConventionError, DtypeError, ExpressionError, one_of
from symacct.expr import Expr, Poly, Size, SympySymbol, collect_sizes, from_sympy, read, symbol, to_sympy
from symacct.expr import same as _same
from symacct.ordering import OrderChoice, best_tree, choices
from symacct.pattern import parse


def account(
    pattern: str,
    /,
    *,
    sizes: Mapping[str, Any] | None = None,
    convention: str | Convention = "2n",
    dtype: Any = "bf16",
    order: str = "left",
    traffic: str = "unfused",
    notation: str = "einops",
    **axes: Any,
) -> Account:
    """Account for a pattern: FLOPs, bytes and intensity as closed forms.

    Parameters
    ----------
    pattern
        ``"b s d, d k -> b s k"``; the grammar is `symacct.pattern.parse`'s.
    sizes, **axes
        Sizes by name: integers, names, expressions in names, all put in at once. Use the mapping for
        axes that are called like one of these options, or like a Python keyword.
    convention
        How operations are counted: a preset (``"2n"``, ``"exact"``, ``"mac"``, ``"unit"``) or a `Convention`.
    dtype
        One storage format, or a list with one per operand and one for the output (intermediates take
        the output's).
    order
        Three operands and more: ``"left"``, ``"best"`` or ``"naive"``.
    traffic
        ``"unfused"`` (each step reads its operands and writes its result) or ``"compulsory"`` (operands
        and output once).
    notation
        ``"einops"`` or ``"numpy"``.

    Raises
    ------
    SymacctError
        One class a cause, with the culprit named.

    Examples
    --------
    >>> import symacct as sa
    >>> print(sa.account("b d, d k -> b k"))
    b d, d k -> b k
     quantity       closed form                   unit
     flops          2*b*d*k                       FLOP
     matmul_flops   2*b*d*k                       FLOP
     bytes          2*(b*d + b*k + d*k)           B
     intensity      b*d*k/(b*d + b*k + d*k)       FLOP/B
    <BLANKLINE>
     under
     convention   2n: a sum of n products is 2n operations; a sum of n terms is n
     dtype        bf16
     traffic      unfused

    """
    parsed = parse(pattern, notation)
    given = collect_sizes(sizes, axes, parsed.names) if sizes or axes else {}
    return _account(pattern, notation, tuple(given.items()), convention_of(convention), _key(dtype), order, traffic)


def _key(dtype: Any) -> Any:
    return tuple(dtype) if isinstance(dtype, list) else dtype


@lru_cache(maxsize=4096)
def _account(
    pattern: str,
    notation: str,
    given: tuple[tuple[str, Size], ...],
    convention: Convention,
    dtype: Any,
    order: str,
    traffic: str,
) -> Account:
    parsed = parse(pattern, notation)
    sizes = dict(given)
    check_order(order)
    if traffic not in TRAFFICS:
        msg = f"unknown traffic {traffic!r}; known: {one_of(TRAFFICS)}"
        raise ConventionError(msg)
    tree = None if order == "naive" else left_tree(len(parsed.operands))
    if order == "best" and len(parsed.operands) > 2:
        tree = best_tree(parsed, sizes, convention)
    graph = lower(parsed, sizes, tree)
    formats = _formats(dtype, len(graph.inputs), len(graph.tensors))
    title = pattern if not given else f"{pattern}   with " + ", ".join(f"{n} = {s}" for n, s in given)
    return Account(graph, convention, formats, traffic, title, order)  # type: ignore[arg-type]


@lru_cache(maxsize=1024)
def _formats(dtype: Any, inputs: int, tensors: int) -> tuple[AnyFormat, ...]:
    """Return a format for every tensor: inputs first, the rest as the output."""
    if not isinstance(dtype, tuple):
        return (as_format(dtype),) * tensors
    if len(dtype) != inputs + 1:
        msg = f"{len(dtype)} dtypes for {inputs} operand{'s' * (inputs != 1)} and an output; give one, or {inputs + 1}"
        raise DtypeError(msg)
    each = [as_format(d) for d in dtype]
    return (*each[:-1], *(each[-1],) * (tensors - inputs))


def flops(pattern: str, /, **options: Any) -> Any:
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


def matmul_flops(pattern: str, /, **options: Any) -> Any:
    """Return the contractions only: what MFU and 6ND speak of. Parameters are `account`'s.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.matmul_flops("b d, b d -> b d"), sa.matmul_flops("b d, d k -> b k")
    (0, 2*b*d*k)

    """
    return account(pattern, **options).matmul_flops


def bytes(pattern: str, /, **options: Any) -> Any:
    """Return the bytes moved: each operand read and the output written once. Parameters are `account`'s.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.bytes("b d, d k -> b k", dtype="bf16")
    2*b*d + 2*b*k + 2*d*k

    """
    return account(pattern, **options).bytes


def intensity(pattern: str, /, **options: Any) -> Any:
    """Return the arithmetic intensity, ``flops / bytes``. Parameters are `account`'s.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.intensity("i j, j k -> i k", i="n", j="n", k="n", convention="exact")
    n/3 - 1/6

    """
    return account(pattern, **options).intensity


def same(a: Any, b: Any) -> bool:
    """Whether two expressions are equal for all sizes: by algebra, not by how they are written.

    Parameters
    ----------
    a, b
        sympy expressions, text for our reader, or numbers.

    Raises
    ------
    InconclusiveError
        Where the algebra cannot tell and the values at random sizes agree.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.same("b*k*(2*d - 1)", sa.flops("b d, d k -> b k", convention="exact")), sa.same("2*b*d*k", "b*d*k")
    (True, False)

    """
    return _same(_expression(a), _expression(b))


def _expression(x: Any) -> Expr:
    if isinstance(x, str):
        return read(x)
    if isinstance(x, bool) or isinstance(x, float):
        msg = f"{x!r} is not an exact expression; write it as text, as in '1/3' or '0.5'"
        raise ExpressionError(msg)
    return from_sympy(x)


def dims(names: str) -> tuple[SympySymbol, ...]:
    """Return plain sympy symbols for names apart by spaces or commas; E, I, N, S, pi and lambda are just names.

    Examples
    --------
    >>> import symacct as sa
    >>> b, E = sa.dims("b E")
    >>> b * E
    E*b

    """
    found = names.replace(",", " ").split()
    for n in found:
        if not isinstance(read(n), Poly) or not n.isidentifier():
            msg = f"{n!r} is not a name"
            raise ExpressionError(msg)
    return tuple(symbol(n) for n in found)


def loads(data: str | Mapping[str, Any]) -> Any:
    """Read expressions back from JSON: each ``{"text", "srepr", "symbols"}`` becomes a sympy expression.

    The text is read by our own reader; the srepr is for other programs and is never evaluated.

    Raises
    ------
    ExpressionError
        For text that does not read, or names that are not in `symbols`.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.loads(sa.account("b d, d k -> b k").to_json())["flops"]
    2*b*d*k

    """
    if isinstance(data, str):
        try:
            data = json.loads(data)
        except json.JSONDecodeError as error:
            msg = f"not JSON: {error}"
            raise ExpressionError(msg) from None
    return _revive(data)


def _revive(data: Any) -> Any:
    if isinstance(data, list):
        return [_revive(part) for part in data]
    if not isinstance(data, Mapping):
        return data
    if {"text", "symbols"} <= set(data):
        expression = to_sympy(read(str(data["text"])))
        names = sorted(s.name for s in expression.free_symbols)
        if names != sorted(data["symbols"]):
            msg = f"the text {data['text']!r} has the names {one_of(names)}, but the symbols are {one_of(data['symbols'])}"
            raise ExpressionError(msg)
        return expression
    return {key: _revive(value) for key, value in data.items()}


def orders(
    pattern: str,
    /,
    *,
    sizes: Mapping[str, Any] | None = None,
    convention: str | Convention = "2n",
    notation: str = "einops",
    **axes: Any,
) -> tuple[OrderChoice, ...]:
    """Return the contraction orders that can be cheapest, each with its cost and the condition under which it is.

    Judged for sizes >= 2 where they are names (up to 5 operands), over all orders where they are numbers (up to 10).
    Under ``mac`` orders are judged as under ``2n``.

    Parameters
    ----------
    pattern, sizes, convention, notation, **axes
        As in `account`.

    Raises
    ------
    AmbiguousOrderError
        For more operands than can be searched; asks for sizes.

    Examples
    --------
    >>> import symacct as sa
    >>> for order in sa.orders("i j, j k, k l -> i l"):
    ...     print(order)
    ((1 2) 3): 2*i*k*(j + l) when 1/j + 1/l < 1/i + 1/k
    (1 (2 3)): 2*j*l*(i + k) when 1/i + 1/k < 1/j + 1/l

    """
    parsed = parse(pattern, notation)
    return choices(parsed, collect_sizes(sizes, axes, parsed.names), convention_of(convention))


def lower_bound(
    pattern: str,
    /,
    *,
    memory: str | int = "M",
    order: str | None = None,
    sizes: Mapping[str, Any] | None = None,
    notation: str = "einops",
    **axes: Any,
) -> LowerBound | list[LowerBound]:
    """Return what any schedule of a pattern, run as one loop nest, moves through `memory` elements of fast memory.

    Parameters
    ----------
    pattern, sizes, notation, **axes
        As in `account`.
    memory
        The fast memory in elements: a name or a number.
    order
        None for the pattern as one loop nest. A pairwise order can move less than that: ``"left"`` or ``"best"``
        return a list with one bound for each of its steps.

    Returns
    -------
    `LowerBound`, or a list of them with `order`.

    Raises
    ------
    InconclusiveError
        For more than 16 operands.
    AxisConflictError
        If the memory is called like a size.

    Examples
    --------
    >>> import symacct as sa
    >>> bound = sa.lower_bound("i k, k j -> i j", memory="M")
    >>> bound.exponent, bound.constant, bound.order
    (Fraction(1, 2), 2, i*j*k/sqrt(M))
    >>> print(bound)
    i k, k j -> i j, as one loop nest, each point once; elements, with M in fast memory
      compulsory  i*k + j*k + i*j
      proved      2*i*j*k/sqrt(M) - 2*M

    """
    parsed = parse(pattern, notation)
    given = collect_sizes(sizes, axes, parsed.names)
    if order is None or order == "naive":
        operands = [[n for axis in operand for n in axis] for operand in parsed.operands]
        output = [n for axis in parsed.output for n in axis]
        return bound(pattern, operands, output, full_sizes(parsed, given), memory)
    steps = account(pattern, sizes=given, order=order, notation=notation).graph.ops
    nests = [op.einsum for op in steps if op.einsum]
    return [bound(e.text(), e.operands, e.output, e.sizes, memory) for e in nests]
