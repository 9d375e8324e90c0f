"""Sentences around a formula: words that stand for signs, and the clause that concludes.

``two times B T D squared``, ``forward 2ND, backward 4ND, so the total is 6ND``: what is judged is what is concluded.
"""

from __future__ import annotations

from symacct.answers.text.names import Names
from symacct.answers.text.tokens import Token
from symacct.answers.text.vocabulary import CONCLUSIONS, EQUALS, NEGATIONS, OTHERS, PROSE, SPOKEN
from symacct.errors import AnswerError, caret

OPENS, CLOSES = frozenset("([{⌈⌊"), frozenset(")]}⌉⌋")
_LONGEST = max(len(phrase) for phrase in SPOKEN)


def written_out(tokens: list[Token], names: Names) -> list[Token]:
    """Return tokens with signs for the words that stand for them: ``plus``, ``squared``, ``at least``."""
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        size = _phrase(tokens, at, names)
        if size and (out or tokens[at].text.lower() in _FIRST):
            start, end = tokens[at].start, tokens[at + size - 1].end
            signs = SPOKEN[tuple(t.text.lower() for t in tokens[at : at + size])].split()
            out += [Token("number" if s[0].isdecimal() else "sign", s, start, end) for s in signs]
            at += size
        elif tokens[at].text.lower() in EQUALS and _is_label(out) and _has_formula(tokens[at + 1 :], names):
            out.append(tokens[at]._replace(kind="sign", text="="))
            at += 1
        else:
            out.append(tokens[at])
            at += 1
    return out


def _is_label(tokens: list[Token]) -> bool:
    """Whether the clause that ends here is words only."""
    clause = _clauses(tokens)[-1]
    return bool(clause) and all(t.kind in ("word", "han") for t in clause)


_FIRST = frozenset(phrase[0] for phrase, signs in SPOKEN.items() if signs[0].isdecimal() or signs[0] in "<>→√≈")
"""Words of phrases that an answer may begin with; before the others something must stand."""


def _phrase(tokens: list[Token], at: int, names: Names) -> int:
    """Return how many tokens from here are a phrase that stands for signs; some need something behind them."""
    for size in range(min(_LONGEST, len(tokens) - at), 0, -1):
        words = tokens[at : at + size]
        signs = SPOKEN.get(tuple(t.text.lower() for t in words))
        if signs and not any(names.whole(t.text) for t in words if len(t.text) == 1):
            return size if at + size < len(tokens) or signs[-1].isdecimal() else 0
    return 0


def concluded(tokens: list[Token], names: Names, text: str) -> list[Token]:
    """Return what stands behind the last word that concludes, without clauses that are words only.

    Raises
    ------
    AnswerError
        Where it says what something is not.

    """
    depth, start = 0, 0
    for i, token in enumerate(tokens):
        depth += (token.text in OPENS) - (token.text in CLOSES) if token.kind == "sign" else 0
        if depth == 0 and _concludes(tokens, i, names) and _has_formula(tokens[i + 1 :], names):
            start = i + 1
    clauses = [c for c in _clauses(tokens[start:]) if _has_formula(c, names)]
    out = clauses[0] if len(clauses) == 1 else tokens[start:]
    for token in out:
        if token.kind == "word" and token.text.lower() in NEGATIONS:
            what = f"{token.text!r} says what it is not"
            raise AnswerError(f"cannot read the answer: {what}\n{caret(text, token.start, token.end)}")
    return out


def _concludes(tokens: list[Token], at: int, names: Names) -> bool:
    token = tokens[at]
    before = tokens[at - 1].text if at else ""
    that_is = token.text in ("is", "=") and before.lower() == "that"
    return that_is or (token.text.lower() in CONCLUSIONS and _is_word(token, names))


def _clauses(tokens: list[Token]) -> list[list[Token]]:
    """Split at the commas and semicolons outside of parentheses."""
    out: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        if token.kind == "sign":
            depth += (token.text in OPENS) - (token.text in CLOSES)
        if depth <= 0 and token.kind == "sign" and token.text in ",;":
            out.append([])
        else:
            out[-1].append(token)
    return out


def _has_formula(tokens: list[Token], names: Names) -> bool:
    """Whether there is a number, a sign, or nothing but symbols and filling words: not in ``linear in n``."""
    words = [t for t in tokens if t.kind in ("word", "han")]
    signs = [t.text for t in tokens if t.kind not in ("word", "han")]
    if signs == ["="] and _is_word(tokens[-1], names):  # N = parameters
        return False
    if signs or any(t.text.lower() in OTHERS for t in words):
        return True
    strange = [t for t in words if _is_word(t, names)]
    return len(strange) < len(words) and all(t.text.lower() in PROSE - {"constant"} for t in strange)


def _is_word(token: Token, names: Names) -> bool:
    """Whether a token is neither a number nor a sign nor a product of symbols as the question writes them."""
    return token.kind in ("word", "han") and not names.is_product(token.text)
