"""A check: two ways to one number, fixed cases and random ones."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from symacct.expr import Expr, symbol, to_sympy


class DisagreementError(AssertionError):
    """Two ways to one number came out different."""


@dataclass(frozen=True)
class Check:
    """Two ways to one number.

    `agree` takes a case and raises where the two differ. `fixed` cases are always tried, and alone kill mutants;
    `cases` draws random ones. `proves` names what depends on it: kinds of operations, their gradients, "conventions",
    "bounds". `share` scales the number of random cases of a slow check, `needs` names the modules it cannot do without.
    """

    name: str
    formula: str
    oracle: str
    agree: Callable[[Any], None]
    cases: st.SearchStrategy[Any] | None = None
    fixed: tuple[Any, ...] = ()
    claims: tuple[str, ...] = ()
    proves: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    share: float = 1

    @property
    def missing(self) -> list[str]:
        """The modules that are not installed."""
        return [n for n in self.needs if importlib.util.find_spec(n) is None]

    def draws(self, examples: int) -> int:
        """How many random cases it gets out of `examples`."""
        return max(1, round(examples * self.share)) if self.cases is not None else 0

    def try_fixed(self) -> int:
        """Try the fixed cases; return how many there are."""
        for case in self.fixed:
            self.agree(case)
        return len(self.fixed)

    def try_random(self, examples: int, start: int, tick: Callable[[], None] = lambda: None) -> int:
        """Try about `examples` random cases from a seed; return how many agreed."""
        if self.cases is None:
            return 0
        tried = 0

        def one(case: Any) -> None:
            nonlocal tried
            self.agree(case)
            tried += 1
            tick()

        limits = settings(
            max_examples=self.draws(examples),
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        seed(start)(limits(given(self.cases)(one)))()
        return tried


def agree(ours: object, theirs: object, what: str) -> None:
    """Raise unless what symacct says and what the oracle saw are equal."""
    if ours != theirs:
        msg = f"{what}: symacct says {ours}, the oracle {theirs}"
        raise DisagreementError(msg)


def at_most(smaller: Any, larger: Any, what: str) -> None:
    """Raise unless `smaller <= larger`."""
    if not smaller <= larger:
        msg = f"{what}: {smaller} is more than {larger}"
        raise DisagreementError(msg)


def number(x: Expr | Any, sizes: Mapping[str, int]) -> int | Fraction | float:
    """Return the number that a closed form has at some sizes, worked out by sympy."""
    import sympy

    value = to_sympy(x) if not isinstance(x, sympy.Basic) else x
    value = value.subs({symbol(n): s for n, s in sizes.items()}, simultaneous=True)
    if value.free_symbols:
        msg = f"{x} has names without a size: {value.free_symbols}"
        raise DisagreementError(msg)
    if not value.is_Rational:
        return float(value)
    exact = Fraction(int(value.p), int(value.q))
    return exact.numerator if exact.denominator == 1 else exact
