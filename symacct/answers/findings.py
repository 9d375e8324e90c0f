"""Why an answer is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from symacct.answers.truth import Truth
from symacct.answers.types import Finding
from symacct.expr.tree import Tree


def explain_difference(tree: Tree, truth: Truth, mode: str, at: Mapping[str, Fraction] | None) -> tuple[Finding, ...]:
    """Return the likely mistakes, the likeliest first."""
    del tree, truth, mode, at
    return ()


def other_convention(tree: Tree, truth: Truth) -> str:
    """Return the rule under which an answer would be right."""
    from symacct.answers.equality import equal_for_all

    for name, other in truth.others.items():
        if equal_for_all(tree, other, tuple(truth.names.symbols)).equal:
            return name
    return ""
