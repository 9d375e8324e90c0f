"""What each word of an answer is: symbols, a function, a unit, a power of ten, or prose that says nothing.

The same letters mean different things: B is the batch in one question and bytes or billions in another. The question's
own symbols win; a unit or a power of ten needs a number before it.
"""

from __future__ import annotations

from typing import NamedTuple

from symacct.answers.text.names import CASE, LETTER, NEAR, SYMBOL, Names, Piece
from symacct.answers.text.tokens import Token
from symacct.answers.text.units import SUFFIXES, Unit, scaled, unit_of
from symacct.answers.text.vocabulary import (
    CONDITIONS,
    FUNCTIONS,
    NUMBERS,
    ONE_SIDED,
    ORDERS,
    PER,
    PROSE,
)
from symacct.answers.types import Warned
from symacct.errors import AnswerError, caret

_SPELLED = frozenset(w for w in SUFFIXES if len(w) > 3)
_ENDS = frozenset([")", "]", "}", "⌉", "⌋", "%"])


class UnknownWordError(AnswerError):
    """A word that is neither one of the question's symbols nor anything else an answer may have."""

    def __init__(self, message: str, word: str) -> None:
        """Keep the word besides the message."""
        super().__init__(message)
        self.word = word


class Words(NamedTuple):
    """What a reading of words needs: the text, the question's symbols, its unit, and where to put warnings."""

    text: str
    names: Names
    wanted: Unit | None
    warnings: list[Warned]
    spelled: dict[str, str]
    """How each symbol was written that was not written as the question does."""
    ending: bool = False
    """Whether a letter at the end is the unit asked for rather than a symbol."""
    used: frozenset[str] = frozenset()
    """The symbols that are there under their own names: no other letter is read as one of them."""
    whole: bool = False
    """Whether a word that may also be one name is read as that name."""

    def warn(self, code: str, what: str, token: Token) -> None:
        """Keep a warning about a token, once."""
        warned = Warned(code, what, token.start, token.end)
        if warned not in self.warnings:
            self.warnings.append(warned)

    def is_name(self, word: str) -> bool:
        """Whether a word is a symbol or a longer name, be it of two; letters by convention and guesses do not count."""
        found = self.names.whole(word)
        return found is not None and (found.kind == "two" or found.cost < LETTER)


def sort_words(tokens: list[Token], words: Words) -> list[Token]:
    """Return tokens for the grammar: numbers, names, calls, units and signs; a trailing condition is left out."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.kind != "word":
            out.append(token)
            at += 1
        elif out and token.text.lower() in CONDITIONS and not words.is_name(token.text):
            break
        else:
            at = _word(tokens, at, out, words)
    return out


def _word(tokens: list[Token], at: int, out: list[Token], words: Words) -> int:
    token = tokens[at]
    word = token.text
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    before = out[-1] if out else None
    behind = before is not None and (before.kind in ("number", "name", "unit") or before.text in _ENDS)
    if word in FUNCTIONS and word not in words.names.symbols and not (behind and word == "min" and not _opens(after)):
        out.append(token._replace(kind="call", text=FUNCTIONS[word]))
        return at + 1
    if _is_order(token, after, out, words):
        out.append(token._replace(kind="call", text="order"))
        return at + 1
    if word.lower() in PER:
        return _per(tokens, at, out, words)
    if before is not None and before.kind == "number" and (power := _power_of_ten(tokens, at, words)):
        out[-1] = before._replace(text=scaled(before.text, power), end=token.end)
        return at + 1
    if word in ("x", "X") and not words.is_name(word) and behind and after is not None and after.kind != "sign":
        out.append(token._replace(kind="sign", text="*"))
        return at + 1
    starred = before is not None and before.text == "*" and len(word) > 1
    noun = (
        starred and not any(t.kind == "name" for t in out) and (found := unit_of(word)) is not None and not found.dims
    )
    last = all(t.kind == "word" and (unit_of(t.text) or t.text.lower() in PER) for t in tokens[at + 1 :])
    if (behind or noun) and (unit := _unit(token, before, words, last=last)):
        out.append(token._replace(kind="unit", text=unit))
        return _more_unit(tokens, at + 1, out)
    if word.lower() in NUMBERS and word[1:] == word[1:].lower() and not behind and not words.is_name(word):
        out.append(token._replace(kind="number", text=NUMBERS[word.lower()]))
        return at + 1
    if _is_prose(tokens, at, words):
        if behind and after is not None and _begins_operand(after):
            what = f"{word!r} between two formulas says not how they belong together"
            raise AnswerError(f"cannot read the answer: {what}\n{caret(words.text, token.start, token.end)}")
        return at + 1
    out.extend(_names(token, words))
    return at + 1


def _is_order(token: Token, after: Token | None, out: list[Token], words: Words) -> bool:
    """Whether a word is the O of an order; a one-sided one is refused unless it is what a sum leaves out."""
    if token.text not in ORDERS or not _opens(after) or words.is_name(token.text):
        return False
    if token.text in ONE_SIDED and not out:
        what = f"{token.text}(...) only says that it {ONE_SIDED[token.text]}; write O(...) for the order"
        raise AnswerError(f"cannot read the answer: {what}\n{caret(words.text, token.start, token.end)}")
    return True


def _is_prose(tokens: list[Token], at: int, words: Words) -> bool:
    """Whether a word says nothing; one or two letters at a number or a sign are a factor: ``2A*P``, ``2*In``."""
    word = tokens[at].text
    if word.lower() not in PROSE or words.is_name(word) or words.names.is_product(word):
        return False
    if len(word) > 2 or not word.isascii():
        return True
    around = [tokens[i] for i in (at - 1, at + 1) if 0 <= i < len(tokens)]
    signs = any(t.kind == "sign" for t in around) or (at > 0 and tokens[at].glued and tokens[at - 1].kind == "number")
    return not signs and (word != "A" or at == 0)


def _opens(token: Token | None) -> bool:
    return token is not None and token.text in ("(", "[", "{")


def _begins_operand(token: Token) -> bool:
    """Whether a token is part of a formula rather than a unit or more prose."""
    if token.kind == "word":
        return unit_of(token.text) is None and token.text.lower() not in PROSE | PER | CONDITIONS
    return token.kind == "number" or _opens(token)


def _power_of_ten(tokens: list[Token], at: int, words: Words) -> int:
    token, after = tokens[at], tokens[at + 1] if at + 1 < len(tokens) else None
    word = token.text
    if (word not in SUFFIXES and word.lower() not in _SPELLED) or word in words.names.symbols:
        return 0
    if len(word) > 1 or not word.isascii():
        return SUFFIXES.get(word) or SUFFIXES[word.lower()]
    if words.is_name(word) or words.names.whole(word):
        return 0
    if word in "PEG" and (after is None or unit_of(after.text) is None):
        return 0
    if word == "B" and after is not None and after.text in ("/", "per"):
        return 0
    if word == "B" and _counts_bytes(words.wanted) and not (token.glued and _has_bytes_besides(tokens)):
        return 0
    if word == "B":
        if words.wanted is None and not token.glued:
            return 0
        words.warn("billion", "B is read as 10^9", token)
    return SUFFIXES[word]


def _has_bytes_besides(tokens: list[Token]) -> bool:
    """Whether a product has bytes in it besides a B, which then stands for billions: ``70B * 2 bytes``."""
    units = [unit_of(t.text) for t in tokens if t.kind == "word" and len(t.text) > 1]
    return any(_counts_bytes(unit) for unit in units) and not any(t.text in ("+", "-") for t in tokens)


def _counts_bytes(unit: Unit | None) -> bool:
    return unit is not None and dict(unit.dims).get("byte", 0) > 0


def _unit(token: Token, before: Token | None, words: Words, *, last: bool) -> str:
    """Return the unit that a word is, or nothing where it is a name, or could only be guessed to be a unit."""
    word = token.text
    unit = unit_of(word)
    wanted = unit is not None and words.wanted is not None and unit.dims == words.wanted.dims
    if last and wanted and words.ending:
        return word
    if unit is None or word in words.names.symbols or words.names.is_product(word):
        return ""
    if last and wanted and not token.glued:
        return word
    if (not unit.dims or len(word) == 1) and words.is_name(word):
        return ""
    numbered = before is not None and before.kind == "number"
    if word in ("x", "X") and not (numbered and last and not words.used):
        return ""
    if len(word) == 1 and not numbered and (words.names.whole(word) or (word.isupper() and not wanted)):
        return ""
    if len(word) == 1 and words.names.whole(word) and not wanted:
        return ""
    return word


def _more_unit(tokens: list[Token], at: int, out: list[Token]) -> int:
    """Take ``/s`` and ``per token`` behind a unit into it."""
    while at + 1 < len(tokens):
        sign, word = tokens[at], tokens[at + 1]
        if not (sign.text == "/" or sign.text.lower() in PER) or word.kind != "word" or unit_of(word.text) is None:
            break
        rate = [t.text for t in tokens[at + 2 : at + 4]] == ["/", "s"] and out[-1].text.endswith("/s")
        above = out[-1].text.removesuffix("/s") if rate else out[-1].text  # FLOP/s per B/s are FLOP/B
        out[-1] = out[-1]._replace(text=f"{above}/{word.text}", end=word.end)
        at += 4 if rate else 2
    return at


def _per(tokens: list[Token], at: int, out: list[Token], words: Words) -> int:
    """Read ``per layer`` behind something that has no unit."""
    if not out or at + 1 >= len(tokens) or tokens[at + 1].kind != "word":
        raise AnswerError(f"cannot read the answer: per what?\n{caret(words.text, tokens[at].start)}")
    noun = tokens[at + 1]
    words.warn("per", f"the answer is given per {noun.text}", noun)
    if unit_of(noun.text):
        out.append(noun._replace(kind="unit", text=f"x/{noun.text}"))
    return at + 2


def _names(token: Token, words: Words) -> list[Token]:
    """Return a word as the symbols it is made of; guesses are warned of."""
    word = token.text
    other = words.names.other(word)
    pieces = (other,) if words.whole and other else words.names.cut(word)
    if other:
        one, product = other.name, " * ".join(p.name for p in words.names.cut(word))
        what = f"{word} is read as the product {product}; it may also mean {one} ({words.names.symbols[one]})"
        words.warn("two_readings", what, token)
    if len(pieces) == 1 and pieces[0].kind == "unknown" and not _is_symbol_like(word):
        near = words.names.near(word)
        hint = f" Did you mean {near.name}?" if near else ""
        known = ", ".join(words.names.symbols) or "none: a number is asked for"
        what = f"{word[:40]!r} is none of the question's symbols ({known}) and no unit.{hint}"
        message = f"cannot read the answer: {what}\n{caret(words.text, token.start, token.end)}"
        raise UnknownWordError(message, word[:40])
    return [_piece(piece, i, token, words) for i, piece in enumerate(pieces)]


def _piece(piece: Piece, i: int, token: Token, words: Words) -> Token:
    kinds = {"name": "name", "function": "call", "times": "sign", "unknown": "unknown", "two": "two"}
    text = FUNCTIONS.get(piece.name, piece.name) if piece.kind == "function" else piece.name
    exact = len(token.text) == token.end - token.start
    start = token.start + piece.start if exact else token.start
    end = token.start + piece.end if exact else token.end
    if piece.kind == "name" and piece.cost == LETTER and piece.name in words.used:
        piece = piece._replace(kind="unknown", note="")
        text = token.text[piece.start : piece.end]
    out = Token(kinds[piece.kind], text, start, end, token.glued if i == 0 else True)
    if piece.kind == "name" and (other := _other_spelling(piece, token, words)):
        both = f"{other} and {token.text[piece.start : piece.end]}"
        what = f"{both} would both be {piece.name} ({words.names.symbols[piece.name]})"
        words.warn("two_meanings", what, out)
    if piece.kind == "two":
        words.warn("two_meanings", piece.note, out)
    elif piece.cost >= NEAR and piece.kind == "name":
        words.warn("near_miss", piece.note, out)
    elif piece.note and (piece.cost > CASE or len(piece.name) != piece.end - piece.start):
        words.warn("alias", piece.note, out)
    return out


def _other_spelling(piece: Piece, token: Token, words: Words) -> str:
    """Return another spelling for the same symbol that was met before: N_DP and N_TP, or b and B, are hardly one."""
    mine = token.text[piece.start : piece.end]
    subscripted = mine.partition("_")[0].casefold() == piece.name.casefold() != mine.casefold()
    if not subscripted and (len(mine) > 1 or piece.cost not in (SYMBOL, CASE, LETTER)):
        return ""
    before = words.spelled.setdefault(piece.name, mine)
    plain = before.partition("_")[0] == mine.partition("_")[0] and "" in (
        before.partition("_")[2],
        mine.partition("_")[2],
    )
    return "" if before == mine or plain else before


def _is_symbol_like(word: str) -> bool:
    short = len(word) == 1 or (len(word) <= 3 and word != word.lower())
    return short or "_" in word or any(c.isdecimal() for c in word)
