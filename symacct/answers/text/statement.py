"""An answer as a statement: labels before it, relations in it, conditions and comments behind it.

``N_DP < 1 + BW/C``, ``T = 2D``, ``max batch size: 3``, ``6D when F=4D``, ``2 (constant)``: what is judged is the
formula; the rest says which mode it is in, in which direction a threshold goes, or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from symacct.answers.text.comments import without_comments
from symacct.answers.text.han import spread_han
from symacct.answers.text.names import Names
from symacct.answers.text.sentences import CLOSES, OPENS, concluded, written_out
from symacct.answers.text.tokens import Token
from symacct.answers.text.vocabulary import APPROXIMATE, CONDITIONS, FUNCTIONS, ORDERS
from symacct.errors import AnswerError, caret

Segment = tuple[str, list[Token]]
RELATIONS = frozenset(["=", "<", ">", "≈", "→", ":"])
_SLOW = frozenset(["communication", "communications", "comm", "comms", "network", "memory", "bandwidth"])
"""What something is bound by when a threshold is passed; of "communication bound when N > x" the bound is N < x."""
FLIPPED = {"<": ">", ">": "<"}


@dataclass
class Statement:
    """The formulas of an answer in order, each with the relation before it, and the words around them."""

    formulas: list[tuple[str, list[Token]]] = field(default_factory=list)
    condition: list[Token] = field(default_factory=list)
    passed: list[Token] = field(default_factory=list)
    """What was passed over: comments, and conditions that say nothing about a name."""
    approximate: bool = False
    bare: bool = False
    """Whether it is a bound on nothing that is named, as ``at most 144``."""
    flipped: bool = False
    """Whether the name stands behind the formula, as in ``1 + BW/C > N``."""
    is_cases: bool = False
    """Whether the formulas are the two sides of a comparison and what holds below and above it."""


def split(tokens: list[Token], names: Names, text: str) -> Statement:
    """Split an answer into its formulas."""
    out = Statement()
    tokens = written_out(spread_han(tokens), names)
    if cases := _cases(tokens):
        out.formulas, out.is_cases = cases, True
        return out
    tokens = concluded(tokens, names, text)
    tokens = _constant(tokens) or tokens
    tokens, comments = without_comments(tokens, names)
    tokens, condition = _cut_condition(tokens, names, out)
    _refuse_cases(condition, names, text)
    for words in (*comments, condition):
        if any(t.text == "=" for t in words):
            out.condition = words
        elif any(t.text in ("→", "∞") for t in words):
            out.approximate = True
        elif words:
            out.passed.append(words[0]._replace(end=words[-1].end))
    segments = _unlabelled(_segments(tokens), out)
    if len(segments) > 1 and [t.kind for t in segments[-1][1]] == ["word"] and segments[-1][0] in "<>":
        out.flipped = not out.flipped
        segments = [(segments[-1][0], segments[0][1]), *segments[1:-1]]
    spoken = [t.text for t in tokens if t.kind == "word"]
    out.approximate |= any(w.lower() in APPROXIMATE and not names.whole(w) for w in spoken)
    out.formulas = segments
    return out


def _cases(tokens: list[Token]) -> list[Segment]:
    """Return the four formulas of ``P/W if B < C else B*P`` (the lower side first), or nothing."""
    words = [t.text.lower() if t.kind == "word" else t.text for t in tokens]
    if words.count("if") != 1 or words.count("else") + words.count("otherwise") != 1:
        return []
    start, end = words.index("if"), words.index("else" if "else" in words else "otherwise")
    relations = [i for i in range(start, end) if words[i] in ("<", ">")]
    if len(relations) != 1:
        return []
    comma = tokens[end - 1].text in (",", ";")
    sides = [tokens[start + 1 : relations[0]], tokens[relations[0] + 1 : end - comma]]
    values = [tokens[:start], tokens[end + 1 :]]
    if words[relations[0]] == ">":
        sides.reverse()
    return [("", side) for side in (*sides, *values)]


def _constant(tokens: list[Token]) -> list[Token]:
    """Return O(1) for an answer that says in words that something is constant."""
    words = [t.text.lower() for t in tokens]
    if words[-1:] != ["constant"] and words[:1] != ["independent"]:
        return []
    if any(t.kind != "word" for t in tokens):
        return []
    kinds = ("word", "O"), ("sign", "("), ("number", "1"), ("sign", ")")
    return [tokens[0]._replace(kind=kind, text=text) for kind, text in kinds]


def _unlabelled(segments: list[Segment], out: Statement) -> list[Segment]:
    """Take off what is before the first formula: labels, and marks of approximation."""
    while len(segments) > 1 and not segments[0][1]:
        out.approximate |= segments[0][0] in ("≈", "→") or segments[1][0] in ("≈", "→")
        out.bare |= segments[1][0] in "<>"
        segments = [(segments[1][0] if segments[1][0] in "<>" else "", segments[1][1]), *segments[2:]]
    while len(segments) > 1 and _is_label(segments[0][1]):
        out.approximate |= segments[1][0] == "≈"
        segments = segments[1:]
    return segments


def _segments(tokens: list[Token]) -> list[Segment]:
    out: list[Segment] = [("", [])]
    depth = 0
    for token in tokens:
        if token.kind == "sign" and token.text in OPENS:
            depth += 1
        elif token.kind == "sign" and token.text in CLOSES:
            depth -= 1
        if token.kind == "sign" and depth <= 0 and token.text in RELATIONS:
            out.append((token.text, []))
        elif not (token.kind == "sign" and token.text in ",;" and depth <= 0 and token is tokens[-1]):
            out[-1][1].append(token)
    return [s for i, s in enumerate(out) if s[1] or i == 0]


def _is_label(tokens: list[Token]) -> bool:
    """Whether words only: a name, ``max batch size``, ``f(n)``, ``lambda B, D``."""
    words = [t for t in tokens if t.kind == "word"]
    signs = all(t.text in ("(", ")", ",", "_", "[", "]", "|") for t in tokens if t.kind == "sign")
    if not words or not signs or any(t.kind == "number" for t in tokens):
        return False
    return (
        not any(t.text in FUNCTIONS or t.text in ORDERS for t in words[:1] if len(tokens) > 2) or words[0].text == "max"
    )


def _refuse_cases(condition: list[Token], names: Names, text: str) -> None:
    """Refuse two answers in one: ``6ND for training and 2ND for inference``."""
    for before, token in pairwise(condition):
        product = before.kind == "number" and token.glued and names.is_product(token.text)
        if token.text.lower() in ("else", "otherwise") or (product and not any(t.text in RELATIONS for t in condition)):
            what = "there are two answers here; give the one that is asked for"
            raise AnswerError(f"cannot read the answer: {what}\n{caret(text, token.start, token.end)}")


def _cut_condition(tokens: list[Token], names: Names, out: Statement) -> tuple[list[Token], list[Token]]:
    for i, token in enumerate(tokens):
        if i == 0 or token.kind != "word":
            continue
        word = token.text
        part_of_product = token.glued and not any(piece.kind == "unknown" for piece in names.cut(word))
        if word.lower() in CONDITIONS and not part_of_product and not names.whole(word):
            if _is_label(tokens[:i]) and any(t.text in RELATIONS for t in tokens[i:]):
                out.flipped |= any(t.text.lower() in _SLOW for t in tokens[:i])
                return _cut_condition(tokens[i + 1 :], names, out)
            cut = i - 1 if tokens[i - 1].text in (",", ";") else i
            return tokens[:cut], tokens[i + 1 :]
    return tokens, []
