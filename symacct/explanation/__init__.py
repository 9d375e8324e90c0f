"""One quantity under each way to count it, and how it comes about, step by step."""

from __future__ import annotations

from symacct.explanation.readings import explain
from symacct.explanation.steps import Block
from symacct.explanation.value import Answer, Explanation

__all__ = ["Answer", "Block", "Explanation", "explain"]
