"""Strangers' text made harmless for a terminal, a page and a spreadsheet: seen as it is, never acted upon."""

from __future__ import annotations

MOST_SHOWN = 500
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


def visible(text: str, most: int = MOST_SHOWN) -> str:
    r"""Return text with everything invisible written out, and cut where it is long.

    Control characters could move a terminal's cursor or colour it; zero-width and direction marks make a text look like
    another one.

    Examples
    --------
    >>> visible("2BDK\x1b[31m\u202e"), visible("n" * 1000, most=5)
    ('2BDK\\x1b[31m\\u202e', 'nnnnn... (1,000 characters)')

    """
    shown = text[:most]
    if not shown.isprintable():
        shown = "".join(c if c.isprintable() else _written_out(c) for c in shown)
    return shown if len(text) <= most else f"{shown}... ({len(text):,} characters)"


def _written_out(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def cell(text: str) -> str:
    """Return text for a cell of a spreadsheet, which would otherwise compute what looks like a formula.

    Examples
    --------
    >>> cell("=HYPERLINK(1)"), cell("2BDK"), cell("  -2+3")
    ("'=HYPERLINK(1)", '2BDK', "'  -2+3")

    """
    text = visible(text)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text


def number(x: float) -> str:
    """Return points without needless zeros.

    Examples
    --------
    >>> number(2.0), number(0.5), number(1 / 3)
    ('2', '0.5', '0.333333')

    """
    return f"{round(x, 6):.6f}".rstrip("0").rstrip(".")
