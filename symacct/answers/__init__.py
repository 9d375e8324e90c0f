"""What people write as an answer: read, compared with the truth, and explained."""

from __future__ import annotations

from symacct.answers.comparing import check, judge
from symacct.answers.mistakes import LANGUAGES, MISTAKES, sentence, told
from symacct.answers.question import MODES, Question, question_of
from symacct.answers.reading import read_answer
from symacct.answers.truth import Truth, truth_of
from symacct.answers.types import Counterexample, Finding, Reading, Verdict, Warned

__all__ = [
    "LANGUAGES",
    "MISTAKES",
    "MODES",
    "Counterexample",
    "Finding",
    "Question",
    "Reading",
    "Truth",
    "Verdict",
    "Warned",
    "check",
    "judge",
    "question_of",
    "read_answer",
    "sentence",
    "told",
    "truth_of",
]
