"""TOML and JSON from strangers as plain tables; whatever does not read is one line of complaint with its place."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from symacct.errors import FileError

MAX_LINE = 20_000
MAX_DOTS = 12
"""Dots in a row of names: each makes a table, and the standard reader's time grows with their square."""

_DOTTED = re.compile(r"[\w\"'-]+(?:[ \t]*\.[ \t]*[\w\"'-]+)*")


def read_toml(text: str, name: str, number: Callable[[str], Any] = str) -> dict[str, Any]:
    """Return a TOML file as a table; `number` makes what is not a whole number from its text.

    Raises
    ------
    FileError
        For broken or deeply nested TOML, keys that stand twice, and numbers that are too long.

    """
    for at, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE or any(m[0].count(".") > MAX_DOTS for m in _DOTTED.finditer(line)):
            msg = f"{name}, line {at}: more than {MAX_LINE:,} characters, or names nested deeper than {MAX_DOTS}"
            raise FileError(msg)
    try:
        table = tomllib.loads(text, parse_float=number)
    except tomllib.TOMLDecodeError as error:
        said, _, where = str(error).partition(" (at ")
        msg = f"{name}, {where.partition(',')[0].rstrip(')') or 'somewhere'}: not TOML: {said}"
        raise FileError(msg) from None
    except (RecursionError, ValueError):
        msg = f"{name}: not TOML that is read: nested too deeply, or a number of thousands of digits"
        raise FileError(msg) from None
    return table


class Twice(NamedTuple):
    """The value of a key that stands twice in a table of JSON, so that nobody knows which value counts."""

    key: str


def read_json(text: str, name: str) -> Any:
    """Return a JSON file; numbers come as they are written, as text, and what stands under a key twice as `Twice`.

    Raises
    ------
    FileError
        For broken or deeply nested JSON.

    """

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        times = Counter(key for key, _ in pairs)
        return {key: value if times[key] == 1 else Twice(key) for key, value in pairs}

    try:
        return json.loads(text, object_pairs_hook=table, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        msg = f"{name}, line {error.lineno}: not JSON: {error.msg}"
        raise FileError(msg) from None
    except RecursionError:
        msg = f"{name}: JSON that is nested too deeply"
        raise FileError(msg) from None
