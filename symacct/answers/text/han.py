"""Runs of Chinese -> words, numbers and signs of the answer."""

from __future__ import annotations

from symacct.answers.text.tokens import Token
from symacct.answers.text.vocabulary import HAN_WORDS, PERCENT


def spread_han(tokens: list[Token]) -> list[Token]:
    """Cut runs of Chinese into words by the longest that is known; what is not known is dropped as prose."""
    out: list[Token] = []
    for token in tokens:
        if token.kind != "han":
            out.append(token)
            if token.kind == "number" and len(out) > 1 and out[-2].text == PERCENT:
                out[-2:] = [token, token._replace(kind="sign", text="%", start=token.end)]
            continue
        at = 0
        while at < len(token.text):
            size = next((n for n in (5, 4, 3, 2, 1) if token.text[at : at + n] in HAN_WORDS), 0)
            if size:
                start = token.start + at
                out.append(Token("word", token.text[at : at + size], start, start + size, token.glued or at > 0))
            at += size or 1
    return out
