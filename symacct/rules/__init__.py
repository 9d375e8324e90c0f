"""What operations cost: one file a family, each with the work and the traffic of its kinds."""

from __future__ import annotations

from symacct.errors import UnknownOpError, one_of
from symacct.graph import Op
from symacct.rules import contraction, pointwise
from symacct.rules.rule import Read, Rule

RULES: dict[str, Rule] = {**contraction.RULES, **pointwise.RULES}

__all__ = ["RULES", "Read", "Rule", "rule_of"]


def rule_of(op: Op) -> Rule:
    """Return the rule of an operation.

    Raises
    ------
    UnknownOpError
        There is no rule; nothing is ever taken as free by default.

    """
    rule = RULES.get(op.kind)
    if rule is None:
        msg = f"no rule for the operation {op.kind!r}; known: {one_of(sorted(RULES))}"
        raise UnknownOpError(msg)
    return rule
