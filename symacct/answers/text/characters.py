"""The characters of an answer: many glyphs for one meaning become one, dangerous ones are refused.

What follows sees ASCII, letters of any script and a few mathematical signs; the place of each character in the
original text is kept for the warnings.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from symacct.answers.types import Warned
from symacct.errors import AnswerError, caret

MAX_LENGTH = 2_000

SAME: dict[str, str] = {
    **dict.fromkeys("·⋅∙•×✕✖∗⨯∘・", "*"),
    **dict.fromkeys("⁄∕÷", "/"),
    **dict.fromkeys("−–—‒―﹣", "-"),
    **dict.fromkeys("≈≃≅∼〜～≐≒", "≈"),
    **dict.fromkeys("≤⩽≦≲≪", "<"),
    **dict.fromkeys("≥⩾≧≳≫", ">"),
    **dict.fromkeys("→⟶➔", "→"),
    **dict.fromkeys("≡≔", "="),
    **dict.fromkeys("⇒⟹∴", "⇒"),
    **dict.fromkeys("Õ", "O"),
    **dict.fromkeys("‘’“”\"'", " "),
    **dict.fromkeys("\u00a0\u2009\u202f\u2007\u2006\u2005\u2004\u2002\u2003\u200a\u205f\u3000", " "),
    **dict.fromkeys("\u2062\u2061", ""),
    **dict.fromkeys("【〔[", "["),
    **dict.fromkeys("】〕]", "]"),
    "∛": "√[3]",
    "∜": "√[4]",
    "、": ",",
    "。": " ",
    "∣": "|",
    "µ": "μ",
}
"""Glyphs that mean the same; Unicode folds the rest (full-width, mathematical letters)."""

SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿ", "0123456789+-()n", strict=True))
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉ₐₑₕₖₗₘₙₒₚₛₜₓ", "0123456789aehklmnopstx", strict=True))
LOOKALIKES = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοАВЕЅІЈКМНОРСТУХаеорсухіј")
"""Greek and Cyrillic letters that one takes for Latin ones."""
INVISIBLE = frozenset("\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\ufe0f\ufe0e")
DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")


class Clean(NamedTuple):
    """Cleaned text, the place of each of its characters in the original, and what was noticed."""

    text: str
    places: tuple[int, ...]
    warnings: tuple[Warned, ...]


def clean(text: str) -> Clean:
    """Fold the characters of an answer.

    Raises
    ------
    AnswerError
        For text that is too long, and for characters that hide or reorder what is shown.

    Examples
    --------
    >>> clean("２·B·D²").text
    '2*B*D^{2}'

    """
    if len(text) > MAX_LENGTH:
        msg = f"an answer of {len(text):,} characters; at most {MAX_LENGTH:,} are read"
        raise AnswerError(msg)
    if text.isascii() and text.isprintable() and '"' not in text and "'" not in text:
        return Clean(text, tuple(range(len(text))), ())
    out: list[str] = []
    places: list[int] = []
    warnings: list[Warned] = []
    raised = lowered = False
    for at, char in enumerate(text):
        if raised and char not in SUPERSCRIPTS:
            out, places, raised = [*out, "}"], [*places, at], False
        if lowered and char not in SUBSCRIPTS:
            out, places, lowered = [*out, "}"], [*places, at], False
        if char in INVISIBLE:
            warnings.append(Warned("invisible", f"an invisible character ({_named(char)}) was passed over", at, at + 1))
            continue
        piece = SUPERSCRIPTS.get(char) or SUBSCRIPTS.get(char) or _fold(char, text, at)
        if char in SUPERSCRIPTS and not raised:
            piece, raised = "^{" + piece, True
        elif char in SUBSCRIPTS and not lowered:
            piece, lowered = "_{" + piece, True
        out += piece
        places += [at] * len(piece)
    if raised or lowered:
        out, places = [*out, "}"], [*places, len(text)]
    return Clean("".join(out), tuple(places), tuple(warnings))


def _fold(char: str, text: str, at: int) -> str:
    if char == "—" and text[at - 1 : at + 2 : 2] == "  ":  # a dash between clauses
        return ";"
    if char in SAME:
        return SAME[char]
    if char in "\n\r\t\v\f\x85\u2028\u2029":
        return " "
    if char.isascii() and char.isprintable():
        return char
    _refuse(char, text, at)
    category = unicodedata.category(char)
    if category in ("Mn", "Me", "Mc"):
        return ""
    if category == "Nd":  # other scripts have digits of their own
        return str(unicodedata.decimal(char))
    folded = unicodedata.normalize("NFKC", char)
    if category == "No" and "\u2044" in folded:  # one half is one sign
        return _vulgar(folded.replace("\u2044", "/"), text, at)
    folded = "".join(SAME.get(c, c) for c in folded)
    if not folded.isprintable() or len(folded) > 4:
        raise AnswerError(f"cannot read the answer: {_named(char)}\n{caret(text, at)}")
    return folded


def _refuse(char: str, text: str, at: int) -> None:
    """Refuse what hides, reorders or imitates what one sees."""
    what = ""
    if char in DIRECTION:
        what = f"a character that reorders what is shown ({_named(char)}); what one sees is not what is written"
    elif unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn"):
        what = f"a control character ({_named(char)}) at place {at + 1}"
    elif char in LOOKALIKES:
        what = f"{_named(char)} only looks like a Latin letter\n{caret(text, at)}"
    if what:
        raise AnswerError(f"cannot read the answer: {what}")


def _vulgar(fraction: str, text: str, at: int) -> str:
    """Write a fraction that is one character; behind a digit it is added, as in four and a half."""
    if not (at and text[at - 1].isdecimal()):
        return f"({fraction})"
    above, below = fraction.split("/")
    decimals = f"{int(above) / int(below):.3f}".lstrip("0")
    if int(above) * 1000 % int(below):
        raise AnswerError(f"cannot read the answer: write this fraction with a slash\n{caret(text, at)}")
    return decimals


def _named(char: str) -> str:
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".strip()
