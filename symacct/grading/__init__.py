"""Assignments: a key in TOML, answers in files, verdicts with points, and reports for people and for other programs."""

from __future__ import annotations

from symacct.grading.key import read_key
from symacct.grading.lint import lint
from symacct.grading.marking import grade
from symacct.grading.submissions import read_submissions
from symacct.grading.types import Graded, Key, Mark, Question, Submission, Truth

__all__ = [
    "Graded",
    "Key",
    "Mark",
    "Question",
    "Submission",
    "Truth",
    "grade",
    "lint",
    "read_key",
    "read_submissions",
]
