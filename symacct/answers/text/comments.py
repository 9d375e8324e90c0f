"""Parentheses behind a formula that hold no formula: ``2 (constant)``, ``3276 GB (GiB)``, ``66.9% (0.669)``."""

from __future__ import annotations

from symacct.answers.text.names import Names
from symacct.answers.text.tokens import Token
from symacct.answers.text.units import unit_of
from symacct.answers.text.vocabulary import FUNCTIONS, NEGATIONS, ORDERS, OTHERS

_LONGEST = 24
"""Tokens that a comment has at most."""


def without_comments(tokens: list[Token], names: Names) -> tuple[list[Token], list[list[Token]]]:
    """Return the tokens without comments, and the comments; a unit in one replaces the unit before it."""
    kept: list[Token] = []
    comments: list[list[Token]] = []
    at = 0
    while at < len(tokens):
        end = _end(tokens, at, names) if kept else 0
        if not end:
            kept.append(tokens[at])
            at += 1
            continue
        inside = tokens[at + 1 : end]
        if inside[0].text in ("=", "≈") and end == len(tokens) - 1:  # said once more
            return [*kept, *inside], comments
        if len(inside) == 1 and inside[0].kind == "word" and unit_of(inside[0].text):
            if kept[-1].kind == "word" and unit_of(kept[-1].text):
                kept.pop()
            kept.append(inside[0])
        else:
            comments.append(inside)
        at = end + 1
    return kept, comments


def _end(tokens: list[Token], at: int, names: Names) -> int:
    """Return where a comment that begins here ends, or 0."""
    if tokens[at].text != "(" or tokens[at - 1].text in FUNCTIONS or tokens[at - 1].text in ORDERS:
        return 0
    end = next((i for i in range(at + 1, min(len(tokens), at + _LONGEST)) if tokens[i].text == ")"), 0)
    inside = tokens[at + 1 : end] if end else []
    if not inside:
        return 0
    words = [t for t in inside if t.kind == "word"]
    if any(t.text.lower() in NEGATIONS | OTHERS for t in words) and any(t.kind == "number" for t in inside):
        return 0
    if any(t.text in ("→", "∞", "=") for t in inside) or (len(words) == len(inside) and _is_prose(words, names)):
        return end
    if tokens[at].glued:
        return 0
    strange = any(len(w.text) > 2 and not _is_meant(w, names) for w in words)
    return end if strange or _restates(tokens[:at], inside, last=end == len(tokens) - 1) else 0


def _is_prose(words: list[Token], names: Names) -> bool:
    """Whether words say nothing in symbols, and are not single letters."""
    if any(names.whole(w.text) or names.is_product(w.text) for w in words):
        return False
    return all(len(w.text) > 1 or not w.text.isascii() for w in words)


def _is_meant(word: Token, names: Names) -> bool:
    text = word.text
    known = text in FUNCTIONS or unit_of(text) or not text.isalpha()
    return bool(known or not any(piece.kind == "unknown" for piece in names.cut(text)))


def _restates(before: list[Token], inside: list[Token], *, last: bool) -> bool:
    """Whether a number with a unit or a percent sign is said again in other words."""
    both = (before[-3:], inside)
    if not last or not all(_is_number(part) for part in both):
        return False
    return any(t.kind == "word" or t.text == "%" for part in both for t in part)


def _is_number(tokens: list[Token]) -> bool:
    plain = [t for t in tokens if t.text not in ("≈", "%")]
    if not plain or plain[0].kind != "number":
        return False
    return all(t.kind == "word" and unit_of(t.text) is not None for t in plain[1:])
