"""Cleaned text -> tokens with their places: numbers, words, signs; LaTeX and code are folded here.

A word is a whole run of letters: how ``BTD`` splits is decided later, by the symbols of the question.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from symacct.answers.text.characters import Clean, clean
from symacct.answers.text.latex import ANNOTATED, FRACTIONS, GREEK, SIGNS, SILENT, SPACES, WORDS, WRAPPERS
from symacct.answers.text.lists import listed
from symacct.answers.text.units import unit_of
from symacct.answers.types import Warned
from symacct.errors import AnswerError, caret

MAX_TOKENS = 1_000


class Token(NamedTuple):
    """One piece of text; `glued` when nothing stood between it and the piece before."""

    kind: str
    text: str
    start: int
    end: int
    glued: bool = False


_GROUPED = r"\d{1,3}(?:[,'_]\d{3})+(?![\d])(?:\.\d+)?|\d{1,3}(?: \d{3})+(?!\d)(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}(?!\d)"
_PLAIN = r"\d[\d_]*(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(rf"(?:{_GROUPED}|{_PLAIN})(?:[eE][+-]?\d+(?![\w.]))?|(?:{_PLAIN})[eE][+-]?\d+")
_IN_CALL = re.compile(rf"(?:{_PLAIN})(?:[eE][+-]?\d+)?")
_COMMA = re.compile(r"(\d+),(\d{1,2}|\d{4,})(?![\d,])")
_ATTRIBUTE = re.compile(
    r"(?:(?:self|cfg|config|args|model|math|np|numpy|torch|hparams|hp|conf|opt|jnp)\.)+(?=[A-Za-z_])"
)
_WORD = re.compile(r"[A-Za-zΑ-ωμ](?:[A-Za-z0-9Α-ωμ]|\\?_+(?=[A-Za-z0-9Α-ωμ]))*")
_THAT_IS = re.compile(r"i\.\s?e\.")
_STRUCK = re.compile(r"~~(?=\S).+?(?<=\S)~~")
_BOLD = re.compile(r"(?<![^\s(:])\*\*(?=\S)(.+?)(?<=\S)\*\*(?![^\s).,;:])")
_ENVIRONMENT = re.compile(r"\s*\{[A-Za-z]+\*?\}")
_HAN = re.compile(r"[\u4e00-\u9fff]+")
_SUB_BRACES = re.compile(r"_\s*\{\s*((?:[^{}]|\{[^{}]*\})*)\}")
_SUB_COMMAND = re.compile(r"_\s*\\(?:mathrm|text|textrm|mathbf|mathit|operatorname)\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+|.)\*?")
_NESTED = re.compile(r"\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
_NOTE = re.compile(r"\s*[_^]\s*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
_BRACED = re.compile(r"\s*\{([^{}]*)\}")
_SIGNS = re.compile(r"\.{2,}|\*\*|//|<=|>=|==|->|=>|~=|:=|[-+*/^(){}\[\],=<>:%√⌈⌉⌊⌋|≈→∞~;&…⇒]")
_SAME_SIGN = {"**": "^", "<=": "<", ">=": ">", "==": "=", "->": "→", "=>": "⇒", "~=": "≈", ":=": "="}
CALLS = frozenset(listed("min max log log2 log10 ln lg ceil floor ceiling sqrt pow abs Min Max O"))


def tokens_of(text: str) -> tuple[list[Token], tuple[Warned, ...]]:
    """Split an answer into tokens, and say what was noticed about its characters.

    Raises
    ------
    AnswerError
        For characters that mean nothing here, and for text that is too long.

    """
    cleaned = clean(text)
    kept = _STRUCK.sub(lambda struck: " " * len(struck[0]), cleaned.text)
    plain = _BOLD.sub(r"  \1  ", kept)
    lexer = _Lexer(text, cleaned._replace(text=plain))
    lexer.run(*_undecorated(plain))
    return _folded(lexer.out), (*cleaned.warnings, *lexer.warnings)


def _folded(tokens: list[Token]) -> list[Token]:
    r"""Read ``|Vocab|``, a number of things, as Vocab, and ``\mu s`` as one unit."""
    out: list[Token] = []
    for token in tokens:
        if token.text == "|" and len(out) > 1 and out[-1].kind == "word" and out[-2].text == "|":
            out[-2:] = [out[-1]._replace(glued=out[-2].glued)]
        elif len(out) > 1 and out[-1].text == "-" and token.glued and _is_compound(out[-2].text, token.text):
            text = f"{out[-2].text}-{token.text}" if unit_of(f"{out[-2].text}-{token.text}") else token.text
            out[-2:] = [token._replace(text=text, start=out[-2].start)]
        elif out and out[-1].kind == token.kind == "word" and unit_of(f"{out[-1].text}-{token.text}"):  # GPU days
            out[-1] = out[-1]._replace(text=f"{out[-1].text}-{token.text}", end=token.end)
        elif token.text in ("s", "sec") and out and out[-1].text == "μ":
            out[-1] = out[-1]._replace(text="μs", end=token.end)
        else:
            out.append(token)
    return out


def _is_compound(first: str, last: str) -> bool:
    """Whether two words around a hyphen are one unit, of which the last counts: micro-steps, layer-forwards."""
    noun = unit_of(first)
    return (first == "micro" or (len(first) > 2 and noun is not None and not noun.dims)) and unit_of(last) is not None


def _undecorated(text: str) -> tuple[int, int]:
    """Return where the text starts and ends without Markdown's stars and quotes, and without a trailing comment."""
    comment = text.find(" #")
    end = len(text) if comment < 0 or "\\" in text else comment
    start = 0
    while start < end and text[start] in " #":
        start += 1
    while end > start and text[end - 1] in " .,;?":
        end -= 1
    if text[start : start + 2] in ("- ", "* "):
        start += 2
    for mark in ("**", "__", "*", "_"):
        if text.startswith(mark, start) and text.endswith(mark, start, end) and end - start > 2 * len(mark):
            return start + len(mark), end - len(mark)
    return start, end


class _Lexer:
    """Walks over the cleaned text once."""

    def __init__(self, original: str, cleaned: Clean) -> None:
        self.original = original
        self.text = cleaned.text
        self.places = (*cleaned.places, len(original))
        self.out: list[Token] = []
        self.warnings: list[Warned] = []
        self.calls: list[bool] = []
        self.glued = False

    def run(self, at: int, end: int) -> None:
        while at < end:
            if self.text[at] in " \u00a0$`":
                at, self.glued = at + 1, False
                continue
            at = min(self._one(at, end), end)
            if len(self.out) > MAX_TOKENS:
                raise AnswerError(f"an answer of more than {MAX_TOKENS} pieces is not read")

    def _one(self, at: int, end: int) -> int:
        char = self.text[at]
        if char.isdecimal() or (char == "." and self.text[at + 1 : at + 2].isdecimal()):
            return self._number(at, end)
        if char == "\\":
            return self._command(at, end)
        if found := _ATTRIBUTE.match(self.text, at, end):
            return found.end()
        if found := _THAT_IS.match(self.text, at, end):
            self._emit("word", "ie", at, found.end())
            return found.end()
        if found := _WORD.match(self.text, at, end):
            return self._word(found, end)
        if found := _HAN.match(self.text, at, end):
            self._emit("han", found[0], at, found.end())
            return found.end()
        if found := _SIGNS.match(self.text, at, end):
            return self._sign(found)
        if char == "." and self.out:  # a dot as in 6.N.D, or the end of a sentence
            self._emit("sign", ";" if self.text[at + 1 : at + 2] == " " else "*", at, at + 1)
            return at + 1
        raise self.refuse(at, f"did not expect {char!r} here")

    def refuse(self, at: int, what: str) -> AnswerError:
        return AnswerError(f"cannot read the answer: {what}\n{caret(self.original, self.places[at])}")

    def _emit(self, kind: str, text: str, start: int, end: int) -> None:
        self.out.append(Token(kind, text, self.places[start], self.places[end - 1] + 1, self.glued))
        self.glued = True

    def _number(self, at: int, end: int) -> int:
        in_call = bool(self.calls) and self.calls[-1]
        if not in_call and (comma := _COMMA.match(self.text, at, end)):
            place = self.places[at]
            self.warnings.append(
                Warned("decimal_comma", f"{comma[0]} is read as {comma[1]}.{comma[2]}", place, place + len(comma[0]))
            )
            self._emit("number", f"{comma[1]}.{comma[2]}", at, comma.end())
            return comma.end()
        found = (_IN_CALL if in_call else _NUMBER).match(self.text, at, end)
        assert found
        digits, e, power = found[0].replace("E", "e").partition("e")
        if re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", digits):
            digits = digits.replace(".", "")
        self._emit("number", re.sub(r"[,' _]", "", digits) + e + power, at, found.end())
        dot = self.text[found.end() : found.end() + 1] == "."  # as in 143. or 2.*B
        return found.end() + (dot and not self.text[found.end() + 1 : found.end() + 2].isalnum())

    def _word(self, found: re.Match[str], end: int) -> int:
        name, stop = found[0].replace("\\_", "_"), found.end()
        for subscript in (_SUB_BRACES, _SUB_COMMAND):
            if sub := subscript.match(self.text, stop, end):
                inside = re.sub(r"\\[A-Za-z]+|[^\w]", "", sub[1])
                name, stop = f"{name}_{inside}" if inside else name, sub.end()
                break
        self._emit("word", name, found.start(), stop)
        return stop

    def _sign(self, found: re.Match[str]) -> int:
        sign = "…" if found[0].startswith("..") else _SAME_SIGN.get(found[0], found[0])
        if (
            sign == "*"
            and not self.text[found.end() :].strip(" .")
            and self.original[self.places[found.start()]] in "×✕"
        ):
            self._emit("word", "times", found.start(), found.end())  # 33.1×
            return found.end()
        if sign == "~":  # a space of LaTeX between two glued pieces, else "about"
            after = self.text[found.end() : found.end() + 1]
            if self.glued and self.out and (after.isalnum() or after == "\\"):
                self.glued = False
                return found.end()
            sign = "≈"
        if sign == "&":
            return found.end()
        if sign == "⇒":
            self._emit("word", "thus", found.start(), found.end())
            return found.end()
        self._track(sign)
        self._emit("sign", sign, found.start(), found.end())
        return found.end()

    def _command(self, at: int, end: int) -> int:
        found = _COMMAND.match(self.text, at, end)
        if not found:
            raise self.refuse(at, "a backslash at the end")
        name, stop = found[1], found.end()
        if name in WRAPPERS:
            return self._wrapped(stop, end)
        if name in ANNOTATED:
            return self._annotated(at, stop, end)
        if name in WORDS or name in GREEK:
            self._emit("word", WORDS.get(name, name), at, stop)
            return self._subscript(stop, end)
        if name in SIGNS or name in FRACTIONS:
            sign = SIGNS.get(name, "frac")
            self._track(sign)
            self._emit("sign", sign, at, stop)
        elif name in SPACES:
            self.glued = False
        elif name in ("begin", "end") and (environment := _ENVIRONMENT.match(self.text, stop, end)):
            return environment.end()
        elif name == "lim" and (note := _NOTE.match(self.text, stop, end)):
            self._emit("sign", "→", at, stop)
            return note.end()
        elif name not in SILENT:
            raise self.refuse(at, f"the command \\{name[:30]} is not known here")
        dot = name in ("left", "right") and self.text[stop : stop + 1] == "."
        return stop + dot

    def _track(self, sign: str) -> None:
        """Keep whether a parenthesis that opens is that of a call, in which a comma parts arguments."""
        if sign in "([{":
            self.calls.append(bool(self.out) and self.out[-1].text in CALLS)
        elif sign in ")]}" and self.calls:
            self.calls.pop()

    def _subscript(self, stop: int, end: int) -> int:
        """Attach a subscript to the word just emitted: the base of a logarithm, or part of a Greek name."""
        sub = _SUB_BRACES.match(self.text, stop, end) or re.compile(r"_\s*(\w)").match(self.text, stop, end)
        if not sub:
            return stop
        last = self.out.pop()
        self.out.append(last._replace(text=f"{last.text}_{sub[1].strip()}"))
        return sub.end()

    def _annotated(self, at: int, stop: int, end: int) -> int:
        """Read what a brace is drawn under, and pass over what is written there."""
        inside = _NESTED.match(self.text, stop, end)
        if not inside:
            raise self.refuse(at, "braces should follow this command")
        self._emit("sign", "(", at, stop)
        self.run(inside.start(1), inside.end(1))
        self._emit("sign", ")", inside.end() - 1, inside.end())
        note = _NOTE.match(self.text, inside.end(), end)
        return note.end() if note else inside.end()

    def _wrapped(self, stop: int, end: int) -> int:
        r"""Read what a command such as \mathrm holds as if the command were not there; words in it stay whole."""
        inside = _BRACED.match(self.text, stop, end)
        if not inside:
            return stop
        self.run(inside.start(1), inside.end(1))
        return self._subscript(inside.end(), end) if self.out and self.out[-1].kind == "word" else inside.end()
