"""What users do with expressions themselves: compare them, name sizes, read them back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from symacct.errors import ExpressionError, one_of
from symacct.expr.border import SympySymbol, from_sympy, to_sympy
from symacct.expr.equality import equal
from symacct.expr.poly import Expr, Poly
from symacct.expr.reader import read


def same(a: Any, b: Any) -> bool:
    """Whether two expressions are equal for all sizes: by algebra, not by how they are written.

    Parameters
    ----------
    a, b
        sympy expressions, text for our reader, or numbers.

    Returns
    -------
    Whether they are equal.

    Raises
    ------
    ExpressionError
        For text that does not read, or a float.
    InconclusiveError
        Where the algebra cannot tell and the values at random sizes agree.

    Examples
    --------
    >>> import symacct as sa
    >>> sa.same("b*k*(2*d - 1)", sa.flops("b d, d k -> b k", convention="exact")), sa.same("2*b*d*k", "b*d*k")
    (True, False)

    """
    return equal(_expression(a), _expression(b))


def _expression(x: Any) -> Expr:
    if isinstance(x, str):
        return read(x)
    if isinstance(x, bool | float):
        msg = f"{x!r} is not an exact expression; write it as text, as in '1/3' or '0.5'"
        raise ExpressionError(msg)
    return from_sympy(x)


def dims(names: str) -> tuple[SympySymbol, ...]:
    """Return plain sympy symbols for names apart by spaces or commas; E, I, N, S, pi and lambda are just names.

    Parameters
    ----------
    names
        Text such as ``"b s d"`` or ``"b, s, d"``.

    Returns
    -------
    A tuple of symbols, one a name, for `*` and `+` and as sizes.

    Raises
    ------
    ExpressionError
        For a part that is no name, such as a number.

    Examples
    --------
    >>> import symacct as sa
    >>> b, E = sa.dims("b E")
    >>> b * E
    E*b

    """
    if not isinstance(names, str):
        msg = f"{names!r} are no names; write them as text, such as 'b s d'"  # type: ignore[unreachable]
        raise ExpressionError(msg)
    found = names.replace(",", " ").split()
    for n in found:
        if not isinstance(read(n), Poly) or not n.isidentifier():
            msg = f"{n!r} is not a name"
            raise ExpressionError(msg)
    return tuple(to_sympy(read(n)) for n in found)


def loads(data: str | Mapping[str, Any]) -> Any:
    """Read expressions back from JSON: each ``{"text", "srepr", "symbols"}`` becomes a sympy expression.

    The text is read by our own reader; the srepr is for other programs and is never evaluated.

    Parameters
    ----------
    data
        JSON text, as of `Account.to_json`, or what was parsed from it.

    Returns
    -------
    The same dicts, lists and values, with sympy expressions where those stood.

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
    try:
        return _revive(json.loads(data) if isinstance(data, str) else data)
    except json.JSONDecodeError as error:
        msg = f"not JSON: {error}"
        raise ExpressionError(msg) from None
    except RecursionError:
        msg = "JSON that is nested too deeply"
        raise ExpressionError(msg) from None


def _revive(data: Any) -> Any:
    if isinstance(data, list):
        return [_revive(part) for part in data]
    if not isinstance(data, Mapping):
        return data
    if {"text", "symbols"} <= set(data):
        expression = to_sympy(read(str(data["text"])))
        names = sorted(s.name for s in expression.free_symbols)
        if not isinstance(data["symbols"], list) or names != sorted(map(str, data["symbols"])):
            msg = f"the text {data['text']!r} has the names {one_of(names)}, not {str(data['symbols'])[:80]}"
            raise ExpressionError(msg)
        return expression
    return {key: _revive(value) for key, value in data.items()}
