"""What can go wrong, one class a cause, all below `SymacctError`.

A message says what was wrong, points at the culprit, lists what is known and says what to do.
"""

from __future__ import annotations

import difflib
import operator
import unicodedata
from collections.abc import Iterable

_SHOWN = 72


class SymacctError(ValueError):
    """Base of every error that symacct raises on purpose; each message stands on its own."""


class PatternError(SymacctError):
    """A pattern that breaks the grammar: no arrow, an empty operand, a comma for a space."""


class UnknownAxisError(SymacctError):
    """An axis, size or symbol that the pattern or the formula does not have."""


class AxisConflictError(SymacctError):
    """One axis with two sizes, an axis twice in an output, or a name with two meanings."""


class SizeError(SymacctError):
    """A size that is not a positive integer, a name or an exact expression in names."""


class UndefinedSizeError(SymacctError):
    """A number was asked for while some sizes are still names."""


class ExpressionError(SymacctError):
    """Text that does not read as an expression, or an expression outside the exact forms we keep."""


class AnswerError(SymacctError):
    """An answer that does not read: hidden characters, no formula in it, or more of it than is read."""


class AmbiguousOrderError(SymacctError):
    """Which contraction order is cheapest depends on sizes that are still names."""


class ConventionError(SymacctError):
    """An unknown convention, preset or switch."""


class DtypeError(SymacctError):
    """An unknown storage format, or one that cannot hold what was asked."""


class MixedUnitsError(SymacctError):
    """Multiply-accumulates and operations, or other unlike units, in one total or in one another's place."""


class UnitError(SymacctError):
    """A unit that is not known, or whose spelling stands for two things."""


class HardwareError(SymacctError):
    """An unknown device, one that lacks the peak that was asked for, or an entry that does not read."""


class UnknownOpError(SymacctError):
    """An operation without a rule; nothing is ever counted as zero by default."""


class UtilisationError(SymacctError):
    """A utilisation above 1: more work in the time than the device can do; lists what may be wrong."""


class EquationError(SymacctError):
    """What is given leaves a quantity open, or contradicts itself."""


class GraphError(SymacctError):
    """A graph that is not legal: a tensor used before it is made, shapes that do not fit."""


class ShapeError(SymacctError):
    """Shapes that do not fit an operation; names both."""


class MissingPackageError(SymacctError):
    """An optional package is needed and not installed; says which extra brings it."""


class FileError(SymacctError):
    """A file that is not read: not there, too large, not text, or broken."""


class KeyFileError(SymacctError):
    """A key that answers cannot be graded with; says the line."""


class StudentError(SymacctError):
    """Code of a student that does not load, raises, or runs over a limit."""


class StudentEndedError(StudentError):
    """Code of a student whose process is no more: it ran over a limit, or ended by itself."""


class InconclusiveError(SymacctError):
    """Neither yes nor no could be established; the message says what would decide."""


def caret(text: str, start: int, end: int | None = None) -> str:
    """Show `text` with carets under the characters from `start` up to `end`, windowed when long.

    Examples
    --------
    >>> print(caret("b d, d k", 3, 4))
      b d, d k
         ^

    """
    end = start + 1 if end is None else max(end, start + 1)
    shift = 0
    if len(text) > _SHOWN:
        shift = max(0, min(start - _SHOWN // 2, len(text) - _SHOWN))
        text = ("..." if shift else "") + text[shift : shift + _SHOWN] + ("..." if shift + _SHOWN < len(text) else "")
        shift -= 3 if shift else 0
    text = text.replace("\n", " ").replace("\t", " ")
    before = sum(_columns(c) for c in text[: start - shift])
    under = sum(_columns(c) for c in text[start - shift : end - shift]) or 1
    return f"  {text}\n  {' ' * before}{'^' * min(under, _SHOWN)}"


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def one_of(names: Iterable[str]) -> str:
    """List names for a message, long lists cut: ``b, d, k``."""
    names = list(names)
    shown = ", ".join(n if len(n) <= _SHOWN else n[:_SHOWN] + "..." for n in names[:20])
    return (shown or "none") + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def nearest_format(name: str, known: Iterable[str]) -> str:
    """Offer the closest number format that has the same digits, or one other character, or nothing.

    Examples
    --------
    >>> nearest_format("nvfp4", ["fp64", "fp8"]), nearest_format("bff16", ["bf16"]), nearest_format("bf17", ["bf16"])
    ('', " Did you mean 'bf16'?", " Did you mean 'bf16'?")

    """

    def digits(x: str) -> list[str]:
        return sorted(c for c in x if c.isdigit())  # sorted: two may have changed places

    def slip(k: str) -> bool:
        return len(k) == len(name) and sum(map(operator.ne, k, name)) == 1

    return nearest(name, [k for k in known if digits(k) == digits(name) or slip(k)])


def nearest(name: str, known: Iterable[str]) -> str:
    """Offer the closest known spelling as a sentence, or nothing."""
    if len(name) > _SHOWN:
        return ""
    close = difflib.get_close_matches(name, list(known)[:1000], n=1, cutoff=0.6)
    return f" Did you mean {close[0]!r}?" if close else ""
