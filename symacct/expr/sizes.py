"""What a person may give as the size of an axis."""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from symacct.errors import (
    AxisConflictError,
    ExpressionError,
    SizeError,
    UndefinedSizeError,
    UnknownAxisError,
    nearest,
    one_of,
)
from symacct.expr.poly import Poly, Size
from symacct.expr.reader import read_size
from symacct.expr.signs import sign
from symacct.expr.tree import MAX_DIGITS

_TOO_LARGE = 10**MAX_DIGITS


def as_size(value: Any, axis: str) -> Size:
    """Return a size from an integer (numpy's and sympy's too), text, or a sympy expression.

    Raises
    ------
    SizeError
        For a bool, a float (even 4.0), zero, a negative number, or text that is not a size.

    Examples
    --------
    >>> as_size(4, "d"), as_size("4*k", "d")
    (4, 4*k)

    """
    kind = type(value)
    if kind is int and 0 < value < _TOO_LARGE:
        return value  # type: ignore[no-any-return]
    if kind is Poly:
        return _positive(value, axis)
    if isinstance(value, str):
        return _read(value, axis)
    if kind.__module__.partition(".")[0] == "sympy":
        return _from_sympy(value, axis)
    if kind is bool or kind.__name__ in ("bool", "bool_") or not hasattr(value, "__index__"):
        what = f"{_shown(value)} ({kind.__name__})"
        msg = f"the size of {axis!r} is {what}; a size is a positive integer, a name, or an expression such as '4*k'"
        raise SizeError(msg)
    try:
        number = operator.index(value)
    except TypeError as error:  # an array of several numbers has an index method that refuses
        msg = f"the size of {axis!r} is {_shown(value)}; {error}"
        raise SizeError(msg) from None
    if number >= _TOO_LARGE:
        msg = f"the size of {axis!r} has more than {MAX_DIGITS:,} digits"
        raise SizeError(msg)
    if number < 1:
        shown = _shown(number) if number > -_TOO_LARGE else "negative"
        msg = f"the size of {axis!r} is {shown}; a size is at least 1"
        raise SizeError(msg)
    return number


def _read(text: str, axis: str) -> Size:
    try:
        size = read_size(text)
    except (ExpressionError, SizeError) as error:
        msg = f"the size of {axis!r}: {error}"
        raise SizeError(msg) from None
    return _positive(size, axis)


def _positive(size: Size, axis: str) -> Size:
    if isinstance(size, Poly) and sign(size) == -1:
        msg = f"the size of {axis!r} is {size}, which is negative for all sizes; a size is at least 1"
        raise SizeError(msg)
    return size


def _from_sympy(value: Any, axis: str) -> Size:
    from symacct.expr.border import from_sympy

    try:
        size = from_sympy(value)
    except ExpressionError as error:
        msg = f"the size of {axis!r}: {error}"
        raise SizeError(msg) from None
    if isinstance(size, Poly):
        return _positive(size, axis)
    if type(size) is not int or size < 1:
        msg = f"the size of {axis!r} is {size}; a size is a positive integer, a name, or an expression such as '4*k'"
        raise SizeError(msg)
    return size


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."


def check_mapping(sizes: object) -> None:
    """Check that sizes are given by name, or not at all.

    Raises
    ------
    SizeError
        For anything else.

    """
    if not isinstance(sizes, Mapping | None):
        msg = f"sizes={_shown(sizes)} is no mapping; sizes are given by name, as in sizes={{'b': 64}}"
        raise SizeError(msg)


def collect_sizes(
    given: Mapping[str, Any] | None, keywords: Mapping[str, Any], known: tuple[str, ...]
) -> dict[str, Size]:
    """Merge sizes given as a mapping and as keywords, and check that each is one of the `known` names.

    Raises
    ------
    UnknownAxisError
        For a size of an axis that is not there.
    AxisConflictError
        For one axis with two sizes.
    SizeError
        For sizes that are no mapping, and as `as_size`.

    """
    check_mapping(given)
    out: dict[str, Size] = {}
    for source in (given or {}, keywords):
        for key, value in source.items():
            # patterns and Python's keywords are normalised, a mapping's keys are not
            axis = key if key in known else unicodedata.normalize("NFKC", str(key))
            if axis not in known:
                inner = (
                    "; sizes are put in all at once, so write its value inside the other size"
                    if _used_in(axis, given, keywords)
                    else ""
                )
                msg = f"there is no axis {axis[:60]!r} to size; known: {one_of(known)}{inner}.{nearest(axis, known)}"
                raise UnknownAxisError(msg)
            size = as_size(value, axis)
            if out.setdefault(axis, size) != size:
                msg = f"the axis {axis!r} has two sizes, {out[axis]} and {size}"
                raise AxisConflictError(msg)
    return out


def numbers_for(names: Iterable[str], sizes: Mapping[str, Any]) -> dict[str, int]:
    """Return a whole number for each name.

    Raises
    ------
    UndefinedSizeError
        Names the sizes that are missing, or one that is still a name.

    """
    known = tuple(names)
    if missing := [n for n in known if n not in sizes]:
        msg = f"no number for {one_of(missing)}; give a size to each of {one_of(known)}"
        raise UndefinedSizeError(msg)
    out: dict[str, int] = {}
    for n in known:
        size = as_size(sizes[n], n)
        if isinstance(size, Poly):
            msg = f"the size of {n!r} is {size}, still a name; a number is needed here"
            raise UndefinedSizeError(msg)
        out[n] = size
    return out


def _used_in(axis: str, *sources: Mapping[str, Any] | None) -> bool:
    return any(isinstance(v, str) and axis in v for source in sources if source for v in source.values())
