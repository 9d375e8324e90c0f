"""What an assignment is made of: a key with questions, what students handed in, and the marks they get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from symacct.answers import Verdict

Texts: TypeAlias = Mapping[str, str]
"""One text in some languages: ``{"en": ..., "zh": ...}``; ``""`` stands for every language."""


def in_language(texts: Texts, language: str) -> str:
    """Return a text in a language, or in the one that it is written in.

    Examples
    --------
    >>> in_language({"en": "rows", "zh": "行"}, "zh"), in_language({"": "rows"}, "zh")
    ('行', 'rows')

    """
    return texts.get(language) or texts.get("") or next(iter(texts.values()), "")


class Truth(NamedTuple):
    """Where a right answer comes from: a formula, or a quantity of a pattern or of a graph's file, with options."""

    kind: Literal["formula", "pattern", "graph"]
    text: str
    of: str = "flops"
    options: Mapping[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a key.

    Attributes
    ----------
    id
        How answers refer to it.
    prompt
        What is asked, by language.
    truth
        Where the right answer comes from.
    symbols
        The names that an answer may have, with their meanings.
    mode, rtol, var, at, unit
        How answers are compared: those of `symacct.check`.
    points
        What a right answer gets.
    conventions
        Answers that are right under another convention, by its name.
    accept
        Which of these conventions get full points.
    partial
        What share of the points an answer with a mistake gets, by the mistake's code.
    hints
        Shown one after the other when somebody tries again.
    right, wrong
        Answers that must be accepted, and ones that must be rejected with the code of their mistake (``""``: any);
        `symacct grade --lint` tries them.
    line
        Where it begins in the key.
    """

    id: str
    prompt: Texts
    truth: Truth
    symbols: Mapping[str, str]
    mode: str = "exact"
    rtol: float | None = None
    var: tuple[str, ...] = ()
    at: Mapping[str, Any] = field(default_factory=dict)
    unit: str = ""
    points: float = 1
    conventions: Mapping[str, str] = field(default_factory=dict)
    accept: tuple[str, ...] = ()
    partial: Mapping[str, float] = field(default_factory=dict)
    hints: tuple[Texts, ...] = ()
    right: tuple[str, ...] = ()
    wrong: Mapping[str, str] = field(default_factory=dict)
    line: int = 0


@dataclass(frozen=True, slots=True)
class Key:
    """An assignment: its title, its questions in order, and the file that it was read from."""

    title: Texts
    questions: tuple[Question, ...]
    file: str

    @property
    def points(self) -> float:
        """What can be got in all."""
        return round(sum(q.points for q in self.questions), 6)


class Submission(NamedTuple):
    """What one student handed in: answers by question, the file, and why it cannot be graded or what to look at.

    `refused` are the questions that alone cannot be graded, each with the reason.
    """

    student: str
    answers: Mapping[str, str]
    source: str
    problem: str = ""
    notes: tuple[str, ...] = ()
    refused: Mapping[str, str] = {}


class Mark(NamedTuple):
    """One answer (None where there is none), what it got of how much, and why; or why it is not graded."""

    question: str
    answer: str | None
    points: float
    out_of: float
    verdict: Verdict | None
    problem: str = ""


class Graded(NamedTuple):
    """A submission with its marks, one a question of the key."""

    submission: Submission
    marks: tuple[Mark, ...]

    @property
    def points(self) -> float:
        """What it got in all."""
        return round(sum(m.points for m in self.marks), 6)
