"""Runs of Chinese -> words, numbers and signs of the answer."""

from __future__ import annotations

import re

from symacct.answers.text.tokens import Token
from symacct.answers.text.vocabulary import HAN_WORDS, PARTS, PERCENT

_DIGITS = {**{c: i for i, c in enumerate("零一二三四五六七八九")}, "〇": 0, "两": 2}
_TENS = {"十": 10, "百": 100, "千": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8}
_NUMERAL = re.compile("[零〇一二两三四五六七八九十百千万亿]+(?:点[零〇一二三四五六七八九]+)?")

_TENTHS = "成"


def spread_han(tokens: list[Token]) -> list[Token]:
    """Cut runs of Chinese into the longest words that are known, numbers, and what is left, which is kept as words."""
    out: list[Token] = []
    for token in tokens:
        out += _cut(token) if token.kind == "han" else [token]
    return _percents(_fractions(out))


def _cut(token: Token) -> list[Token]:
    out: list[Token] = []
    at = strange = 0
    text = token.text
    while at < len(text):
        size = next((n for n in (5, 4, 3, 2, 1) if text[at : at + n] in HAN_WORDS), 0)
        numeral = _NUMERAL.match(text, at)
        if numeral and numeral.end() - at > size and text[at] not in _MYRIADS:
            size, value = numeral.end() - at, _value(numeral[0])
            tenths = text[at + size : at + size + 1] == _TENTHS
            out.append(_piece(token, at, size + tenths, "number", f"{value}e-1" if tenths else value))
            size += tenths
        elif size:
            out.append(_piece(token, at, size, "word", text[at : at + size]))
        elif out and out[-1].end == token.start + at and strange == at:
            out[-1] = out[-1]._replace(text=out[-1].text + text[at], end=out[-1].end + 1)
            strange = at + 1
        else:
            out.append(_piece(token, at, 1, "word", text[at]))
            strange = at + 1
        at += size or 1
    return out


def _piece(token: Token, at: int, size: int, kind: str, text: str) -> Token:
    start = token.start + at
    return Token(kind, text, start, start + size, token.glued or at > 0)


def _value(numeral: str) -> str:
    """Return the digits of a number in Chinese.

    Examples
    --------
    >>> _value("一百四十四"), _value("十二"), _value("三点一四"), _value("两万五千"), _value("二〇二六")
    ('144', '12', '3.14', '25000', '2026')

    """
    whole, _, decimals = numeral.partition("点")
    read_singly = all(c in _DIGITS for c in whole)
    total = int("".join(str(_DIGITS[c]) for c in whole)) if read_singly else _sum(whole)
    return f"{total}.{''.join(str(_DIGITS[c]) for c in decimals)}" if decimals else str(total)


def _sum(whole: str) -> int:
    total = section = digit = 0
    for char in whole:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _TENS:
            section, digit = section + (digit or 1) * _TENS[char], 0
        elif char == "万":
            total, section, digit = total + (section + digit) * 10**4, 0, 0
        else:
            total, section, digit = (total + section + digit) * 10**8, 0, 0
    return total + section + digit


def _fractions(tokens: list[Token]) -> list[Token]:
    """Write ``三分之n`` as (n/3), and what it is a part of, ``n 的三分之一``, as a factor."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        if tokens[at].text != PARTS or not out or out[-1].kind != "number" or at + 1 == len(tokens):
            out.append(tokens[at])
            at += 1
            continue
        below, above = out.pop(), tokens[at + 1]
        if len(out) > 1 and out[-1].text == "的":
            out[-1] = out[-1]._replace(kind="sign", text="*")
        signs = [above._replace(kind="sign", text=text, glued=False) for text in "(/)"]
        out += [signs[0], above, signs[1], below._replace(glued=False), signs[2]]
        at += 2
    return out


def _percents(tokens: list[Token]) -> list[Token]:
    """Write ``百分之 50`` as 50 %."""
    out: list[Token] = []
    for token in tokens:
        if out and out[-1].text == PERCENT and token.kind == "number":
            out[-1:] = [token, token._replace(kind="sign", text="%", start=token.end)]
        else:
            out.append(token)
    return out
