"""Named functions and fused gradients: the fixed cases of their checks, programs run on numbers that count."""

from __future__ import annotations

import pytest

from symacct.rules import FORMULAS, activations, loss, norm_gradients, softmax
from symacct.rules.rule import no_second_gradient
from verify.check import Check
from verify.rooms import named, norms


@pytest.mark.parametrize("check", [*named.CHECKS, *norms.CHECKS], ids=lambda check: check.name)
def test_terms_are_what_programs_execute(check: Check) -> None:
    assert check.try_fixed() == len(check.fixed) > 0


def test_every_role_of_a_named_function_has_elements() -> None:
    """Under `unit` a function counts once an element: without "points" it would count nothing."""
    assert {(name, "points") for name, _ in FORMULAS} <= set(FORMULAS)


def test_no_fused_gradient_passes_none_on() -> None:
    rules = [
        r for family in (activations, softmax, norm_gradients, loss) for k, r in family.RULES.items() if "_back" in k
    ]
    assert len(rules) == 5 + 2 + 4 + 1
    assert {r.gradient for r in rules} == {no_second_gradient}
