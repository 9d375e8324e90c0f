"""How the words of a command line are read; what a size or a format may be is the engine's to say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from symacct.errors import AxisConflictError, DtypeError, PatternError, SizeError

_NO_NUMBER = re.compile(r"\b(nan|inf|infinity|oo|true|false|none)\b", re.IGNORECASE)


def read_sizes(words: Iterable[str] | None) -> dict[str, str]:
    """Read ``b=64`` and ``d=4*k`` into a mapping of texts.

    Raises
    ------
    SizeError
        For a word that is not NAME=SIZE, and for what would read as a name though it says that there is no number.
    AxisConflictError
        For one name with two sizes.

    Examples
    --------
    >>> read_sizes(["b=64", "in = 4*k"])
    {'b': '64', 'in': '4*k'}

    """
    sizes: dict[str, str] = {}
    for word in words or ():
        name, equals, size = (part.strip() for part in word.partition("="))
        if not (name and equals and size):
            missing = "has no '='" if not equals else "has no size" if name else "has no name"
            hint = "" if equals else "; a pattern is one word, in quotes: 'b d, d k -> b k'"
            msg = f"{word[:60]!r} {missing}; a size is written NAME=SIZE, such as b=64 or 'd=4*k'{hint}"
            raise SizeError(msg)
        if found := _NO_NUMBER.search(size):
            msg = f"{name!r} is {found[0]}; a size is a positive integer, a name, or an expression such as 4*k"
            raise SizeError(msg)
        if sizes.setdefault(name, size) != size:
            msg = f"the axis {name!r} has two sizes, {sizes[name]} and {size}"
            raise AxisConflictError(msg)
    return sizes


def is_file(what: str) -> bool:
    """Whether a word is a file of Python, or a function in one, rather than a pattern.

    Raises
    ------
    PatternError
        For a folder, or a file of another kind.

    """
    if "->" in what:
        return False
    if what.endswith(".py") or ".py:" in what:
        return True
    if os.path.lexists(what):
        kind = "folder" if Path(what).is_dir() else "file, but none of Python"
        msg = (
            f"{what[:60]!r} is a {kind}; what is read is a pattern, 'b d, d k -> b k', or a file such as graphs/mlp.py"
        )
        raise PatternError(msg)
    return False


def read_pattern(what: str) -> str:
    """Return a pattern as it is, to be read by the engine.

    Raises
    ------
    PatternError
        For a file or a folder.

    """
    if is_file(what):
        msg = f"{what[:60]!r} is a file, and this command is of a pattern; of a file there is: symacct account FILE"
        raise PatternError(msg)
    return what


def read_values(words: Iterable[str] | None) -> dict[str, str]:
    """Read ``params=70B`` and ``mfu=0.5`` into a mapping of texts.

    Raises
    ------
    SizeError
        For a word that is not NAME=VALUE, a name with two values, and as `read_sizes`.

    Examples
    --------
    >>> read_values(["params=70B", "price=$2/h"])
    {'params': '70B', 'price': '$2/h'}

    """
    values: dict[str, str] = {}
    for word in words or ():
        name, _, value = (part.strip() for part in word.partition("="))
        if not (name and value):
            raise SizeError(f"{word[:60]!r} is no NAME=VALUE, such as params=70B or 'time=30 days'")
        if _NO_NUMBER.fullmatch(value):
            raise SizeError(f"{name!r} is {value}; a quantity is a number with its unit, such as '80 GB', or a name")
        if values.setdefault(name, value) != value:
            raise SizeError(f"{name!r} has two values, {values[name]} and {value}")
    return values


def read_policy(text: str) -> str | dict[str, str]:
    """Read a name of a policy, or formats by role.

    Raises
    ------
    DtypeError
        For a role without a format, and one with two.

    Examples
    --------
    >>> read_policy("bf16"), read_policy("param=bf16, state=fp32")
    ('bf16', {'param': 'bf16', 'state': 'fp32'})

    """
    return _by_role(text) if "=" in text else text


def _by_role(text: str) -> dict[str, str]:
    out: dict[str, str] = {}
    for word in text.split(","):
        role, _, name = (part.strip() for part in word.partition("="))
        if not (role and name):
            msg = f"{word.strip()[:60]!r} is no ROLE=FORMAT; formats by role are apart by commas: 'param=fp32,act=bf16'"
            raise DtypeError(msg)
        if out.setdefault(role, name) != name:
            msg = f"{role!r} has two formats, {out[role]} and {name}"
            raise DtypeError(msg)
    return out


def read_dtype(text: str) -> str | list[str] | dict[str, str]:
    """Read one storage format, a list of them apart by commas, or formats by role or argument.

    Raises
    ------
    DtypeError
        For nothing where a format should stand, and as `read_policy`.

    Examples
    --------
    >>> read_dtype("bf16"), read_dtype("bf16, int4, bf16"), read_dtype("param=fp32, act=bf16")
    ('bf16', ['bf16', 'int4', 'bf16'], {'param': 'fp32', 'act': 'bf16'})

    """
    if "=" in text:
        return _by_role(text)
    names = [part.strip() for part in text.split(",")]
    if not all(names):
        msg = f"no format where one should stand in {text[:60]!r}; formats are apart by commas: 'bf16,int4,bf16'"
        raise DtypeError(msg)
    return names[0] if len(names) == 1 else names
