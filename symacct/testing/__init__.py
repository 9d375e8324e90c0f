"""Oracles, Hypothesis strategies and property tests for users' own tests.

`assert_formula` holds a function of sizes, or a module of torch, against a truth. `counting` has a number type that
counts what is done with it, `loops` runs a pattern with it and records which elements are touched, `strategies` draws
patterns and sizes (it needs Hypothesis: ``pip install symacct[test]``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symacct.testing.formula import Held, assert_formula
    from symacct.testing.students import Limits, Student

__all__ = ["Held", "Limits", "Student", "assert_formula"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the plugin of pytest stands here too, and must stay light."""
    if name in ("Held", "assert_formula"):
        from symacct.testing import formula

        return getattr(formula, name)
    if name in ("Limits", "Student"):
        from symacct.testing import students

        return getattr(students, name)
    msg = f"module 'symacct.testing' has no attribute {name!r}"
    raise AttributeError(msg)
