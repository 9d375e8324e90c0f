"""What people write as an answer: read, compared with the truth, and explained."""

from __future__ import annotations

from symacct.answers.comparing import check
from symacct.answers.reading import read_answer
from symacct.answers.types import Counterexample, Finding, Reading, Verdict, Warned

__all__ = ["Counterexample", "Finding", "Reading", "Verdict", "Warned", "check", "read_answer"]
