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

from symacct.answers.text.aliases import CONCEPTS, is_another, is_model_width, names_of, quantities

SYMBOL, ALIAS, CASE, SUBSCRIPT, LETTER, PRODUCT, NEAR, UNKNOWN = 0, 10, 12, 14, 30, 70, 80, 200
MAX_WORD = 60
_CAPITALS = frozenset(n for c in CONCEPTS for n in c.names.split() if n.isupper() and n.isalpha())
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
        self.glued: set[str] = set()
        self.written: dict[str, str] = {}
        for name, meaning in self.symbols.items():
            self.folded.setdefault(fold(name), []).append(name)
            self.glued.add(name.replace("_", ""))
            for spelled in _spellings(meaning):
                self.said.setdefault(fold(spelled), []).append(name)
                self.written[fold(spelled)] = spelled
            longer, letters = names_of(meaning, inner=self._is_inner(name))
            for alias in longer:
                self.aliases.setdefault(fold(alias), []).append(name)
                self.written[fold(alias)] = alias
            for letter in letters:
                self.letters.setdefault(letter, []).append(name)
        self._cut = lru_cache(maxsize=512)(self._cut_word)

    def _is_inner(self, name: str) -> bool:
        """Whether a hidden width is that of the feed-forward layer: it is called F, or the model's is another."""
        if not self.symbols[name].strip().lower().startswith("hidden"):
            return False
        return name in ("F", "f") or any(is_model_width(m) for n, m in self.symbols.items() if n != name)

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
            tables = [(self.said, ALIAS), (self.folded, CASE), (self.aliases, brief)]
            if _is_letters(word):  # DK is D*K, not d_k
                tables = [(self.folded, CASE)] + ([(self.said, ALIAS)] if len(word) > 2 else [])
            for table, cost in tables:
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
        told = {n: quantities(self.symbols[n]) for n in unique}
        if not all(told.values()):  # beside a plain length, that of the keys is told by a name of its own
            unique = [n for n in unique if not told[n] & {"key", "kv"}] or unique
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
        if any(sub.casefold() in re.split(r"\W+", m.casefold()) for m in self.symbols.values()):
            return None  # d_expert of an expert's width is not D
        found = base if base in self.symbols else _one(self.folded.get(fold(base)))
        if found and is_another(sub, self.symbols[found]):
            return None  # E_shared of routed experts
        return self._alias(word, found, SUBSCRIPT) if found else None

    def near(self, word: str) -> Piece | None:
        """Return the symbol whose longer name is spelled nearly like a word."""
        if len(word) < 4:
            return None
        known = {**self.aliases, **self.said}
        if _concept_of(word) is not None or _is_mixed(word) or (word.isupper() and word.isalpha() and len(word) < 7):
            return None
        mine = quantities(word)
        likely = [k for k in known if len(k) > 3 and quantities(self.written.get(k, k)) == mine]
        if word[0].isupper() and not word[1:2].isupper():  # Qheads is no heads
            likely = [k for k in likely if k[0] == word[0].lower()]
        close = difflib.get_close_matches(fold(word), likely, n=1, cutoff=0.75)
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

    def own(self, words: Iterable[str]) -> frozenset[str]:
        """Return the symbols that words have in them as the question writes them."""
        return frozenset(p.name for word in words for p in self.cut(word) if p.kind == "name" and p.cost == SYMBOL)

    def other(self, word: str) -> Piece | None:
        """Return the symbol that a word which was cut may also be: ``BW`` is B*W, but also bandwidth."""
        whole = self.whole(word)
        return whole if len(self.cut(word)) > 1 and whole and whole.kind == "name" else None

    def _is_inside(self, word: str, start: int, end: int) -> bool:
        """Whether letters without an underscore inside a product are no name: the DK of BTDK is two letters."""
        text = word[start:end]
        if len(text) < 2 or not text.isalpha() or text in self.symbols or text in self.glued:
            return False
        around = word[max(0, start - 1) : start] + word[end : end + 1]
        return not text.islower() or (len(text) < 4 and any(c.islower() for c in around))

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
        if end - start < len(word) and self._is_inside(word, start, end):
            return None
        torn = "_" in text and word[end - 1 : end + 1].islower() and len(word) > end  # d_at of d_attn
        whole = self.whole(text) if text[0].isalpha() and not torn else None
        if whole:
            return whole._replace(start=start, end=end)
        if end - start == 1:
            return Piece("unknown", text, start, end, UNKNOWN)
        if re.fullmatch(r"[^\W\d]_\w+|[^\W\d]\d+", text) and end == len(word):
            return Piece("unknown", text, start, end, UNKNOWN - 1)
        return None


def _is_letters(word: str) -> bool:
    """Whether a word is one to be read letter by letter, such as NL, nL and DFF; BW and MFU are names in use."""
    short = word.isalpha() and word.isascii() and len(word) <= 3 and word not in _CAPITALS
    return short and not word.islower() and not (len(word) > 2 and word.istitle())


def _is_mixed(word: str) -> bool:
    """Whether capitals stand inside of a word, as no slip of the pen puts them: heaVds."""
    return any(part[1:] != part[1:].lower() and not part.isupper() for part in word.split("_"))


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
    if word.isupper() and len(word) == len(parts) >= 2 * len(strange):  # 2BTDHK
        return True
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
