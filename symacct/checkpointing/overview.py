"""Every strategy side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from symacct.accounting import Quantity
from symacct.checkpointing.answer import Checkpointing
from symacct.checkpointing.strategies import STRATEGIES
from symacct.errors import SymacctError
from symacct.expr import Expr, to_text
from symacct.show import table


@dataclass(frozen=True, slots=True)
class Overview:
    """What each strategy costs, by name; and why, where one cannot be had."""

    plans: dict[str, Checkpointing]
    missing: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the plans as JSON-able data with stable keys."""
        return {"plans": {name: plan.to_json() for name, plan in self.plans.items()}, "missing": self.missing}

    def __str__(self) -> str:
        """Print a strategy a line."""
        first = next(iter(self.plans.values()))
        rows = []
        for name, plan in self.plans.items():
            peak = "\nor ".join(_told(p.bytes, "B") for p in plan.peaks)
            rows.append([name, peak, _told(plan.work["flops"].again, plan.work["flops"].unit)])
        out = table(["strategy", "peak", "executed again"], rows, first.title)
        notes = [["assumed", a] for a in first.assumptions]
        notes += [[name, why] for name, why in self.missing.items()]
        notes += [["condition", f"{name}: {c}"] for name, plan in self.plans.items() for c in plan.conditions]
        return out + "\n\n" + table(["under", ""], notes)


def _told(amount: Expr, unit: str) -> str:
    """Write an amount: a formula, or a number with its unit."""
    return str(Quantity(amount, unit)) if not hasattr(amount, "terms") else to_text(amount)


def overview(plan: Callable[[str], Checkpointing]) -> Overview:
    """Ask for a plan by each strategy.

    Raises
    ------
    SymacctError
        Where not even keeping everything can be had.

    """
    plans, missing = {"none": plan("none")}, {}
    for name in [*STRATEGIES, "selective", "least"]:
        try:
            plans[name] = plan(name)
        except SymacctError as error:
            missing[name] = str(error)
    return Overview(plans, missing)
