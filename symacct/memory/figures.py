"""The memory of a step at given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symacct.accounting.numbers import check_condition
from symacct.accounting.walk import conditions_of
from symacct.errors import ConventionError, one_of
from symacct.expr import collect_sizes, evaluate, numbers_for
from symacct.memory.alive import Label
from symacct.memory.step import ROLES
from symacct.show import percent, table
from symacct.units import Quantity

if TYPE_CHECKING:
    from symacct.memory.ledger import Ledger

GROUPS = {"role": "role", "tensor": "name", "module": "scope", "dtype": "dtype"}


@dataclass(frozen=True, repr=False)
class MemoryFigures:
    """The memory of a step at given sizes.

    Attributes
    ----------
    peak
        The most bytes that are alive at once.
    phase, where
        When that is, right after which operation.
    held
        What is alive then, tensor by tensor: role, name, module and format.
    under
        The policy, the optimizer (None for no update), and the kernel of its update.
    """

    peak: Quantity
    phase: str
    where: str
    held: Mapping[Label, int]
    sizes: Mapping[str, int]
    under: Mapping[str, str | None]

    def by(self, group: str) -> dict[str, Quantity]:
        """Return what is alive at the peak by ``"role"``, ``"tensor"``, ``"module"`` or ``"dtype"``.

        Raises
        ------
        ConventionError
            For another group.

        """
        if group not in GROUPS:
            msg = f"unknown group {group!r}; known: {one_of(GROUPS)}"
            raise ConventionError(msg)
        out: dict[str, int] = {}
        for label, bytes in self.held.items():
            key = getattr(label, GROUPS[group]) or "(none)"
            out[key] = out.get(key, 0) + bytes
        order = list(ROLES) if group == "role" else sorted(out, key=lambda key: -out[key])
        return {key: Quantity(out[key], "B") for key in order if key in out}

    @property
    def head(self) -> str:
        """The peak, where it is, and under what."""
        under = ", ".join(name for name in self.under.values() if name)
        return f"peak {self.peak}, {self.phase}, right after {self.where}\nunder {under}"

    def __str__(self) -> str:
        """Print the peak and what is alive then by role."""
        rows = [
            [role, str(q), percent(float(q.value / max(self.peak.value, 1)))] for role, q in self.by("role").items()
        ]
        return f"{self.head}\n{table(['alive then', 'bytes', 'share'], rows)}"

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able data with stable keys."""
        return {
            "peak": int(self.peak),
            "phase": self.phase,
            "where": self.where,
            "sizes": dict(self.sizes),
            **self.under,
            "held": [{**label._asdict(), "bytes": int(bytes)} for label, bytes in self.held.items()],
        }


def figures(ledger: Ledger, sizes: Mapping[str, Any] | None, axes: Mapping[str, Any]) -> MemoryFigures:
    """Return the memory of a step at given sizes; see `Ledger.at`."""
    given = numbers(ledger, sizes, axes)
    ledger = ledger.with_sizes(given)
    peak = max(ledger.peaks, key=lambda p: evaluate(p.bytes, given))
    held = {label: int(evaluate(bytes, given)) for label, bytes in ledger.held_at(peak.path).items()}
    most = Quantity(evaluate(peak.bytes, given), "B")
    return MemoryFigures(most, peak.phase, peak.where, held, given, ledger.step.under)


def numbers(ledger: Ledger, sizes: Mapping[str, Any] | None, axes: Mapping[str, Any]) -> dict[str, int]:
    """Return a number for every size in the step.

    Raises
    ------
    UndefinedSizeError
        Names the sizes that are missing.
    SizeError
        Where they break a condition.

    """
    given = collect_sizes(sizes, axes, ledger.names)
    out = numbers_for(ledger.names, given)
    for condition in conditions_of(ledger.step.graph):
        check_condition(condition, out)
    return out
