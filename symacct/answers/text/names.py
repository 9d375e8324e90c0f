"""A run of letters -> the question's symbols: ``BTD`` is three, ``d_model`` is whatever the question calls the width.

Every way to cut a word is weighed: a symbol as the question writes it costs nothing, an alias a little, a guess more;
the cheapest cut wins.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from symacct.answers.text.aliases import CONCEPTS, names_of

SYMBOL, ALIAS, CASE, SUBSCRIPT, LETTER, PRODUCT, NEAR, UNKNOWN = 0, 10, 12, 14, 30, 70, 80, 200
MAX_WORD = 60
_FUNCTIONS = ("log", "sqrt", "lg", "ln")


class Piece(NamedTuple):
    """A part of a word: a symbol, a function, or a name that the question lacks; `note` says what was guessed."""

    kind: str
    name: str
    start: int
    end: int
    cost: int = SYMBOL
    note: str = ""


class Names:
    """The symbols of one question and what else they may be called."""

    def __init__(self, symbols: Mapping[str, str]) -> None:
        self.symbols = dict(symbols)
        self.said: dict[str, list[str]] = {}
        self.aliases: dict[str, list[str]] = {}
        self.letters: dict[str, list[str]] = {}
        self.folded: dict[str, list[str]] = {}
        for name, meaning in self.symbols.items():
            self.folded.setdefault(fold(name), []).append(name)
            for spelled in _spellings(meaning):
                self.said.setdefault(fold(spelled), []).append(name)
            longer, letters = names_of(meaning)
            for alias in longer:
                self.aliases.setdefault(fold(alias), []).append(name)
            for letter in letters:
                self.letters.setdefault(letter, []).append(name)
        self._cut = lru_cache(maxsize=512)(self._cut_word)

    def is_product(self, word: str) -> bool:
        """Whether a word is a symbol, or a product of one-letter symbols, as the question writes them."""
        return word in self.symbols or set(word) <= self.symbols.keys()

    def whole(self, word: str) -> Piece | None:
        """Return what a whole word means, or nothing where it must be cut."""
        if word in self.symbols:
            return Piece("name", word, 0, len(word))
        key = fold(word)
        if len(key) > 1:
            brief = ALIAS if len(word) > 2 or word.isupper() else PRODUCT  # bs is b*s before it is the batch size
            for table, cost in ((self.said, ALIAS), (self.folded, CASE), (self.aliases, brief)):
                if meant := self._meant(word, table.get(key, ()), cost):
                    return meant
            return self._subscripted(word)
        for table, k, cost in (
            (self.folded, key, CASE),
            (self.letters, word, LETTER),
            (self.said, key, CASE),
            (self.aliases, key, ALIAS),
        ):
            if meant := self._meant(word, table.get(k, ()), cost):
                return meant
        return None

    def _meant(self, word: str, found: Iterable[str], cost: int) -> Piece | None:
        """Return the symbol that a word stands for, or that it may stand for two; nothing where there is none."""
        unique = list(dict.fromkeys(found))
        if len(unique) > 1:
            return self._two(word, unique)
        return self._alias(word, unique[0], cost) if unique else None

    def _alias(self, word: str, found: str, cost: int) -> Piece:
        meaning = self.symbols[found]
        return Piece(
            "name", found, 0, len(word), cost, f"{word} is read as {found}" + (f" ({meaning})" if meaning else "")
        )

    def _two(self, word: str, found: Iterable[str]) -> Piece:
        both = " or ".join(f"{n} ({self.symbols[n]})" for n in found)
        return Piece("two", word, 0, len(word), UNKNOWN, f"{word} may be {both}")

    def _subscripted(self, word: str) -> Piece | None:
        """Read ``N_DP`` as N, unless that subscript makes it the name of something else, such as ``D_FF``."""
        base, _, sub = word.partition("_")
        if not sub or len(base) > 2:
            return None
        if _concept_of(word) is not None:
            return None
        found = base if base in self.symbols else _one(self.folded.get(fold(base)))
        return self._alias(word, found, SUBSCRIPT) if found else None

    def near(self, word: str) -> Piece | None:
        """Return the symbol whose longer name is spelled nearly like a word."""
        if len(word) < 4:
            return None
        known = {**self.aliases, **self.said}
        close = difflib.get_close_matches(fold(word), [k for k in known if len(k) > 3], n=1, cutoff=0.75)
        if not close or not (found := _one(known[close[0]])):
            return None
        return self._alias(word, found, NEAR)._replace(note=f"{word} is taken for a misspelt {close[0]}: {found}")

    def cut(self, word: str) -> tuple[Piece, ...]:
        """Cut a word into symbols, the likeliest way."""
        return self._cut(word)

    def _cut_word(self, word: str) -> tuple[Piece, ...]:
        if len(word) > MAX_WORD:
            return (Piece("unknown", word, 0, len(word), UNKNOWN),)
        whole = self.whole(word)
        if whole and whole.cost == SYMBOL:
            return (whole,)
        parts = self._cheapest(word)
        cost = sum(p.cost for p in parts) + 2 * (len(parts) - 1)
        if whole and whole.cost <= cost:
            return (whole,)
        if cost >= NEAR and (near := self.near(word)):
            return (near,)
        if any(p.kind == "unknown" for p in parts) and not _may_be_product(word, parts):
            return (Piece("unknown", word, 0, len(word), UNKNOWN),)
        return parts

    def other(self, word: str) -> Piece | None:
        """Return the symbol that a word which was cut may also be: ``BW`` is B*W, but also bandwidth."""
        whole = self.whole(word)
        return whole if len(self.cut(word)) > 1 and whole and whole.kind == "name" else None

    def _cheapest(self, word: str) -> tuple[Piece, ...]:
        """Dynamic programming over the places of a word."""
        best: list[tuple[int, tuple[Piece, ...]]] = [(0, ())]
        for end in range(1, len(word) + 1):
            choices = []
            for start in range(max(0, end - 24), end):
                piece = self._piece(word, start, end)
                if piece:
                    cost, before = best[start]
                    choices.append((cost + piece.cost + 2, (*before, piece)))
            best.append(min(choices, key=lambda c: (c[0], len(c[1]))))
        return best[-1][1]

    def _piece(self, word: str, start: int, end: int) -> Piece | None:
        text = word[start:end]
        if text in _FUNCTIONS and len(word) - len(text) > 0:
            return Piece("function", text, start, end, ALIAS)
        if text == "x" and end < len(word) and "x" not in self.symbols and "X" not in self.symbols:
            return Piece("times", "*", start, end, ALIAS)
        torn = "_" in text and word[end - 1 : end + 1].islower() and len(word) > end  # d_at of d_attn
        whole = self.whole(text) if text[0].isalpha() and not torn else None
        if whole:
            return whole._replace(start=start, end=end)
        if end - start == 1:
            return Piece("unknown", text, start, end, UNKNOWN)
        if re.fullmatch(r"[^\W\d]_\w+|[^\W\d]\d+", text) and end == len(word):
            return Piece("unknown", text, start, end, UNKNOWN - 1)
        return None


def fold(name: str) -> str:
    """Return a name without case, underscores and spaces."""
    return name.casefold().replace("_", "").replace(" ", "")


def _spellings(meaning: str) -> list[str]:
    """Return the names that a meaning spells by itself: ``d_model``, ``N_FSDP``, ``kv heads``."""
    words = meaning.strip()
    out = [words] if re.fullmatch(r"[\w ]{2,24}", words) else []
    return out + [w for w in re.findall(r"[A-Za-z]+_\w+", words) if w != words]


def _one(found: list[str] | None) -> str:
    unique = list(dict.fromkeys(found or ()))
    return unique[0] if len(unique) == 1 else ""


@lru_cache(maxsize=2048)
def _concept_of(word: str) -> int | None:
    key = fold(word)
    return next((i for i, c in enumerate(CONCEPTS) if key in {fold(n) for n in c.names.split()}), None)


def _may_be_product(word: str, parts: tuple[Piece, ...]) -> bool:
    """Whether a word with unknown parts is a product with a strange letter rather than a word of prose."""
    strange = [p for p in parts if p.kind == "unknown"]
    return len(strange) == 1 and (len(word) <= 6 or len(parts) - 1 >= 4)


def names_for(symbols: Mapping[str, str] | Iterable[str]) -> Names:
    """Return the names of a question; given as a mapping of meanings, as names, or as text with spaces."""
    if isinstance(symbols, str):
        symbols = symbols.replace(",", " ").split()
    pairs = tuple(symbols.items()) if isinstance(symbols, Mapping) else tuple((s, "") for s in symbols)
    return _names(pairs)


@lru_cache(maxsize=256)
def _names(pairs: tuple[tuple[str, str], ...]) -> Names:
    return Names(dict(pairs))
