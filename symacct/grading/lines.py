"""Where things stand in a TOML file: the standard reader says it of mistakes in the grammar only."""

from __future__ import annotations

import re
from collections.abc import Mapping

_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)\s*(?:\.[^=]*)?=""")


def places(text: str, array: str) -> tuple[dict[str, int], list[dict[str, int]]]:
    r"""Return the lines of the keys above an array of tables, and those of each of its tables; ``""`` is its header.

    Parameters
    ----------
    text
        TOML that the standard reader accepts.
    array
        The name of the array of tables.

    Examples
    --------
    >>> places('title = "t"\n[[question]]\nid = "a"\n[question.symbols]\nB = "rows"', "question")
    ({'title': 1}, [{'': 2, 'id': 3, 'symbols': 4}])

    """
    top: dict[str, int] = {}
    tables: list[dict[str, int]] = []
    here, inside = top, False  # inside a table below: its keys are not those of the table itself
    for number, line in _plain_lines(text):
        if header := _HEADER.match(line):
            words = [_bare(w) for w in header[2].split(".")]
            inside = len(words) > 1 or words[0] != array
            if words[0] == array and header[1] == "[[" and len(words) == 1:
                tables.append({"": number})
                here = tables[-1]
            elif words[0] == array and tables:
                here.setdefault(words[1], number)
            else:
                here = top
                here.setdefault(words[0], number)
        elif (key := _KEY.match(line)) and not inside:
            here.setdefault(_bare(key[1]), number)
    return top, tables


def _plain_lines(text: str) -> list[tuple[int, str]]:
    """Number the lines, those left out that lie inside a text of several lines."""
    out: list[tuple[int, str]] = []
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        if fence:
            fence = "" if line.count(fence) % 2 else fence
            continue
        out.append((number, line))
        fence = next((f for f in ('"""', "'''") if line.count(f) % 2), "")
    return out


def _bare(word: str) -> str:
    word = word.strip()
    return word[1:-1] if word[:1] in "\"'" and word[:1] == word[-1:] and len(word) > 1 else word


def line_of(lines: Mapping[str, int], key: str) -> int:
    """Return the line of a key of a table, or of its header where the key is missing.

    Examples
    --------
    >>> line_of({"": 2, "id": 3}, "id"), line_of({"": 2, "id": 3}, "prompt")
    (3, 2)

    """
    return lines.get(key, lines.get("", 1))
