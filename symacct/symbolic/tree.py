"""Tensors in tuples, lists and dicts: flat, and put back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from symacct.errors import GraphError
from symacct.symbolic.builder import caller


def flatten(value: Any) -> list[Any]:
    """Return the tensors of a value in order; None holds none."""
    if value is None:
        return []
    if isinstance(value, tuple | list):
        return [t for part in value for t in flatten(part)]
    if isinstance(value, Mapping):
        return [t for part in value.values() for t in flatten(part)]
    return [value]


def matched(like: Any, value: Any) -> list[Any]:
    """Return the tensors of a value in the order of another one of the same form; dicts may list their keys otherwise.

    Raises
    ------
    GraphError
        For another form: another length, other keys, a tensor where there is none.

    """
    if isinstance(like, Mapping) and isinstance(value, Mapping) and set(like) == set(value):
        return [t for key in like for t in matched(like[key], value[key])]
    both = isinstance(like, tuple | list) and isinstance(value, tuple | list)
    if both and len(like) == len(value):
        return [t for one, other in zip(like, value, strict=True) for t in matched(one, other)]
    if (like is None) != (value is None) or any(isinstance(v, tuple | list | Mapping) for v in (like, value)):
        msg = f"a body returns {_form(value)} where {_form(like)} is needed{caller()}"
        raise GraphError(msg)
    return flatten(value)


def _form(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"a dict of {', '.join(map(str, value)) or 'nothing'}"
    if isinstance(value, tuple | list):
        return f"a {'tuple' if isinstance(value, tuple) else 'list'} of {len(value)}"
    return "None" if value is None else "a tensor"


def rebuild(like: Any, tensors: Iterable[Any]) -> Any:
    """Return a value of the same form as `like` with other tensors."""
    return _fill(like, iter(tensors))


def _fill(like: Any, rest: Any) -> Any:
    if like is None:
        return None
    if isinstance(like, tuple) and hasattr(like, "_fields"):
        return type(like)(*(_fill(part, rest) for part in like))
    if isinstance(like, tuple | list):
        return type(like)(_fill(part, rest) for part in like)
    if isinstance(like, Mapping):
        return {key: _fill(part, rest) for key, part in like.items()}
    return next(rest)
