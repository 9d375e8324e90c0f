"""One table of a key: its values by name, each checked for its kind, each complaint with its line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from symacct.answers import LANGUAGES
from symacct.errors import KeyFileError, nearest, one_of
from symacct.grading.lines import line_of
from symacct.grading.types import Texts


@dataclass(frozen=True, slots=True)
class Fields:
    """A table of the key, the file it is from, and the lines of what it has."""

    file: str
    table: Mapping[str, Any]
    lines: Mapping[str, int]

    def fail(self, name: str, message: str) -> NoReturn:
        """Complain, with the line of a name.

        Raises
        ------
        KeyFileError
            Always.

        """
        msg = f"{self.file}, line {line_of(self.lines, name)}: {message}"
        raise KeyFileError(msg)

    def only(self, known: Sequence[str]) -> None:
        """Complain about a name that is not known."""
        for name in self.table:
            if name not in known:
                self.fail(name, f"unknown key {name[:60]!r}; known: {', '.join(known)}.{nearest(name, known)}")

    def text(self, name: str, default: str = "") -> str:
        """Return a text."""
        value = self.table.get(name, default)
        if not isinstance(value, str):
            self.fail(name, f"{name!r} is a text, not {_kind(value)}")
        return value

    def texts(self, name: str) -> Texts:
        """Return a text, or a text in each of some languages."""
        return self._texts(name, self.table.get(name, ""))

    def listed_texts(self, name: str) -> tuple[Texts, ...]:
        """Return a list of texts, each in some languages or in one."""
        return tuple(self._texts(name, value) for value in self._list(name))

    def _texts(self, name: str, value: Any) -> Texts:
        if isinstance(value, str) and value.strip():
            return {"": value}
        if (
            not isinstance(value, dict)
            or not value
            or not all(isinstance(v, str) and v.strip() for v in value.values())
        ):
            self.fail(
                name, f"{name!r} is a text, or a table of texts such as {{ en = '...', zh = '...' }}; none is empty"
            )
        if strangers := [n for n in value if n not in LANGUAGES]:
            self.fail(name, f"{name!r} has the language {strangers[0][:60]!r}; known: {one_of(LANGUAGES)}")
        return dict(value)

    def list(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; one text is a list of one."""
        values = self._list(name)
        for value in values:
            if not isinstance(value, str):
                self.fail(name, f"{name!r} is a list of texts, and has {_kind(value)}")
        return tuple(values)

    def _list(self, name: str) -> Sequence[Any]:
        value = self.table.get(name, [])
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list):
            self.fail(name, f"{name!r} is a list, not {_kind(value)}")
        return value

    def number(self, name: str, *, low: float, high: float, default: float | None = None) -> float | None:
        """Return a number from `low` to `high`."""
        value = self.table.get(name, default)
        return None if value is None else self._number(name, value, low, high)

    def numbers(self, name: str, *, low: float, high: float) -> dict[str, float]:
        """Return a table of numbers from `low` to `high`."""
        return {k: self._number(name, v, low, high) for k, v in self._table(name).items()}

    def _number(self, name: str, value: Any, low: float, high: float) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            self.fail(name, f"{name!r} is a number, not {_kind(value)}")
        if not low <= (value if isinstance(value, int) else float(value)) <= high:
            self.fail(name, f"{name!r} is from {low:,} to {high:,}, not {str(value)[:40]}")
        return float(value)

    def names(self, name: str) -> dict[str, str]:
        """Return names with their meanings: a table of texts, or a list of names alone."""
        listed = self.list(name) if isinstance(self.table.get(name), list) else ()
        names = dict.fromkeys(listed, "") or self.words(name)
        for each in names:
            if not each.isidentifier():
                self.fail(name, f"{each[:60]!r} in {name!r} is no name: letters, digits and _")
        if twice := [each for each, times in Counter(listed).items() if times > 1]:
            self.fail(name, f"{twice[0][:60]!r} stands twice in {name!r}")
        return names

    def words(self, name: str) -> dict[str, str]:
        """Return a table of texts; numbers come as they are written."""
        table = self._table(name)
        for key, value in table.items():
            if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
                self.fail(name, f"{key[:60]!r} in {name!r} is {_kind(value)}; texts or numbers stand there")
        return {key: str(value) for key, value in table.items()}

    def _table(self, name: str) -> Mapping[str, Any]:
        value = self.table.get(name, {})
        if not isinstance(value, dict):
            self.fail(name, f"{name!r} is a table, not {_kind(value)}")
        return value


def _kind(value: Any) -> str:
    kinds = {
        str: "a text",
        bool: "true or false",
        int: "a number",
        Decimal: "a number",
        list: "a list",
        dict: "a table",
    }
    return kinds.get(type(value), f"a {type(value).__name__}")
