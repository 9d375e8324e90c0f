"""einops and einsum notation -> a frozen `Pattern`: strings and their places only, no sizes, no costs."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple, NoReturn

from symacct.errors import AxisConflictError, PatternError, UnknownAxisError, caret, nearest, one_of

MAX_LENGTH = 10_000
MAX_OPERANDS = 64
MAX_AXES = 1_000
NOTATIONS = ("einops", "numpy")

_TOKEN = re.compile(r"\s*(?:(\.\.\.|…)|([()])|(\w+)|(\S))")
_PLAIN = re.compile(r"[a-zA-Z]\w*(?:,? [a-zA-Z]\w*)* ->(?: [a-zA-Z]\w*)*", re.ASCII)

Axis = tuple[str, ...]
"""One position of a tensor: the names whose sizes it multiplies; none for the unit axis `1`."""


class Pattern(NamedTuple):
    """A parsed pattern, and the text it came from.

    `terms` are the names of each operand and `result` those of the output, in order; `names` are all of them by first
    appearance; `ellipsis` is the name that stands for the product of the batch axes `...`, or None. `layout` says how
    names form axes, operands first and then the output, where some axis is composite or `1`; None where each name
    is an axis of its own, as in most patterns.
    """

    text: str
    terms: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]
    names: tuple[str, ...]
    ellipsis: str | None = None
    layout: tuple[tuple[Axis, ...], ...] | None = None

    @property
    def operands(self) -> tuple[tuple[Axis, ...], ...]:
        """The axes of each operand, each a tuple of names: one, several for `(h d)`, none for `1`."""
        return self.layout[:-1] if self.layout else tuple(tuple((n,) for n in term) for term in self.terms)

    @property
    def output(self) -> tuple[Axis, ...]:
        """The axes of the output."""
        return self.layout[-1] if self.layout else tuple((n,) for n in self.result)

    @property
    def conditions(self) -> tuple[str, ...]:
        """What the pattern takes for granted."""
        if not self.ellipsis and all(self.terms):
            return ()
        batch = (
            f"{self.ellipsis} is the product of the axes in '...': equal in all operands that have it, none broadcast"
        )
        scalars = [f"operand {i} is a scalar" for i, operand in enumerate(self.operands, 1) if not operand]
        return tuple(([batch] if self.ellipsis else []) + (scalars if len(self.terms) > 1 else []))


def parse(text: str, notation: str = "einops") -> Pattern:
    """Read ``operands -> output``.

    Parameters
    ----------
    text
        ``"b s d, d k -> b s k"``; names of any length, ``...``, ``1``, a repeated name (its diagonal),
        composite axes ``(h d)``. With ``notation="numpy"``, one letter an axis: ``"bd,dk->bk"``.
    notation
        ``"einops"`` or ``"numpy"``.

    Raises
    ------
    PatternError, UnknownAxisError, AxisConflictError
        With a caret under the culprit.

    Examples
    --------
    >>> parse("b d, d k -> b k").names
    ('b', 'd', 'k')
    >>> parse("ij,jk->ik", "numpy").output
    (('i',), ('k',))

    """
    if type(text) is not str:
        msg = f"a pattern is a string such as 'b d, d k -> b k', not {type(text).__name__}"
        raise PatternError(msg)
    if notation not in NOTATIONS:
        msg = f"unknown notation {notation!r}; known: {one_of(NOTATIONS)}"
        raise PatternError(msg)
    # most patterns are plain names; going through the careful reader takes four times as long
    if (
        notation == "einops"
        and len(text) <= MAX_LENGTH
        and text.count(",") < MAX_OPERANDS
        and _PLAIN.fullmatch(text)
        and (plain := _read_plain(text))
    ):
        return plain
    if len(text) > MAX_LENGTH:
        msg = f"a pattern of {len(text):,} characters; at most {MAX_LENGTH:,} are read"
        raise PatternError(msg)
    left, right = _arrow(text, notation)
    commas = [m.start() for m in re.finditer(",", text[:left])]
    if len(commas) >= MAX_OPERANDS:
        _fail(text, commas[MAX_OPERANDS - 1], f"more than {MAX_OPERANDS} operands")
    bounds = list(zip([0, *(c + 1 for c in commas)], [*commas, left], strict=True))
    taken = _taken(text) if "..." in text or "…" in text else set()
    batch = "batch"
    while batch in taken:
        batch = f"batch_{int(batch[6:] or 0) + 1}"
    operands = tuple(_operand(text, start, end, notation, batch) for start, end in bounds)
    output = _operand(text, right, len(text), notation, batch)
    terms = tuple(_flat(operand) for operand in operands)
    seen = dict.fromkeys(n for term in terms for n in term)
    if len(seen) > MAX_AXES:
        _fail(text, 0, f"{len(seen):,} axes; at most {MAX_AXES:,} are taken")
    ellipsis = batch if batch in seen and taken else None
    layout = (*operands, output)
    simple = all(len(axis) == 1 for operand in layout for axis in operand)
    pattern = Pattern(text, terms, _flat(output), tuple(seen), ellipsis, None if simple else layout)
    _check_output(pattern, right, batch, notation)
    return pattern


parse_once = lru_cache(maxsize=4096)(parse)
"""`parse`, remembered: for those who ask about one pattern again and again."""


def _read_plain(text: str) -> Pattern | None:
    """Read a pattern of plain names, or leave it to the careful reader, which says what is wrong."""
    left, _, right = text.partition("->")
    terms = tuple([tuple(part.split()) for part in left.split(",")])
    result = tuple(right.split())
    names = dict.fromkeys([n for term in terms for n in term])
    out = set(result)
    fits = len(out) == len(result) and names.keys() >= out and len(names) <= MAX_AXES
    return Pattern(text, terms, result, tuple(names)) if fits else None


def _flat(operand: tuple[Axis, ...]) -> tuple[str, ...]:
    return tuple(n for axis in operand for n in axis)


def _arrow(text: str, notation: str) -> tuple[int, int]:
    """Return where the arrow starts and ends."""
    found = [m.start() for m in re.finditer("->|→", text)]
    if not found:
        example = "ij,jk->ik" if notation == "numpy" else "b d, d k -> b k"
        hint = "; a file of Python is read by 'symacct account FILE.py'" if ".py" in text else ""
        _fail(text, len(text.rstrip()), f"no arrow '->'; write the output after it, as in '{example}'{hint}")
    if len(found) > 1:
        _fail(text, found[1], "a second arrow; a pattern has one output")
    return found[0], found[0] + (2 if text[found[0]] == "-" else 1)


def _taken(text: str) -> set[str]:
    return {unicodedata.normalize("NFKC", w) for w in re.findall(r"\w+", text)} | {"..."}


def _operand(text: str, start: int, end: int, notation: str, batch: str) -> tuple[Axis, ...]:
    """Read the axes between two places of the text."""
    build = _Axes(text)
    ellipses = 0
    at = start
    while at < end and text[at:end].strip():
        found = _TOKEN.match(text, at, end)
        assert found is not None
        place, at = found.start(found.lastindex or 0), found.end()
        dots, bracket, word, other = found.groups()
        if bracket:
            build.bracket(bracket, place)
        elif dots:
            ellipses += 1
            if ellipses > 1:
                _fail(text, place, "a second '...' in one operand", 3)
            build.add((batch,))
        elif other:
            _stray(text, place, other)
        else:
            for name in _names(text, place, word, notation):
                build.add(name)
    return build.finish()


class _Axes:
    """The axes of one operand while they are read; inside parentheses they gather into one."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.axes: list[Axis] = []
        self.group: list[str] | None = None
        self.opened = 0

    def bracket(self, which: str, place: int) -> None:
        if which == "(":
            if self.group is not None:
                _fail(self.text, place, "parentheses inside parentheses; name the axes in one pair")
            self.group, self.opened = [], place
        else:
            if self.group is None:
                _fail(self.text, place, "this parenthesis was not opened")
            self.axes.append(tuple(self.group))
            self.group = None

    def add(self, axis: Axis) -> None:
        if self.group is None:
            self.axes.append(axis)
        else:
            self.group.extend(axis)

    def finish(self) -> tuple[Axis, ...]:
        if self.group is not None:
            _fail(self.text, self.opened, "this parenthesis is not closed")
        return tuple(self.axes)


def _names(text: str, place: int, word: str, notation: str) -> list[Axis]:
    """Split a word into axes: itself under einops, its letters under numpy."""
    if notation == "numpy":
        for i, letter in enumerate(word):
            if not letter.isalpha():
                _fail(text, place + i, f"{letter!r} is not a letter; numpy notation has one letter an axis")
        return [(letter,) for letter in word]
    if word == "1":
        return [()]
    # Python normalises keyword arguments (a micro sign becomes mu), so names must follow
    name = unicodedata.normalize("NFKC", word)
    if name.isdecimal():
        _fail(
            text,
            place,
            f"an axis is a name; give its size apart, as in 'n' with n={name[:20]} (only 1 may stand here)",
            len(word),
        )
    if not (word.isidentifier() and name.isidentifier()):  # a superscript two becomes a digit when normalised
        _fail(text, place, f"{word[:40]!r} is not a name; a name starts with a letter", len(word))
    if not name.strip("_"):
        _fail(text, place, "'_' says nothing about its size; give the axis a name", len(word))
    return [(name,)]


def _stray(text: str, place: int, symbol: str) -> NoReturn:
    hints = {
        ".": "three dots '...' stand for the batch axes",
        "*": "a product of axes is written (h d)",
        "+": "give a size such as n + 1 apart, by keyword",
        ";": "operands are separated by a comma",
        "[": "composite axes use round parentheses",
        ",": "axes are separated by spaces, operands by commas, and there is one output",
    }
    _fail(text, place, f"did not expect {symbol!r} here" + (f"; {hints[symbol]}" if symbol in hints else ""))


def _check_output(pattern: Pattern, right: int, batch: str, notation: str) -> None:
    """Check that every output axis is in an operand, and stands once."""
    text, known = pattern.text, pattern.names
    used: set[str] = set()
    for n in pattern.result:
        shown = "..." if n == batch and batch not in _words(text) else n
        where = _place_of(text, right, shown)
        if n not in known:
            hint = nearest(n, known)
            if not hint and notation == "einops" and len(n) > 1 and set(n) <= set("".join(known)):
                hint = " For one letter an axis use notation='numpy'."
            msg = f"the output axis {shown[:60]!r} is in no operand; known: {one_of(known)}.{hint}"
            raise UnknownAxisError(f"{msg}\n{caret(text, where, where + len(shown))}")
        if n in used:
            where = _place_of(text, where + len(shown), shown)
            msg = f"the axis {shown[:60]!r} stands twice in the output; an output axis is written once"
            raise AxisConflictError(f"{msg}\n{caret(text, where, where + len(shown))}")
        used.add(n)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _place_of(text: str, start: int, name: str) -> int:
    """Find a name from a place on: as a word, else by its first letter (numpy notation)."""
    exact = r"\.\.\.|…" if name == "..." else rf"(?<!\w){re.escape(name)}(?!\w)"
    found = re.search(exact, text[start:]) or re.search(re.escape(name[:1]), text[start:])
    return start + (found.start() if found else 0)


def _fail(text: str, start: int, what: str, length: int = 1) -> NoReturn:
    msg = f"cannot read the pattern: {what}\n{caret(text, start, start + length)}"
    raise PatternError(msg)
