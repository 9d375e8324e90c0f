"""The numbers of a step of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symacct.memory import MemoryFigures
from symacct.show import table
from symacct.units import Quantity

TOTALS = ("flops", "matmul_flops", "bytes")


@dataclass(frozen=True, repr=False)
class StepFigures:
    """The numbers of a step of training: totals by phase (None where one is not known), and the memory."""

    totals: Mapping[str, Mapping[str, Quantity | None]]
    memory: MemoryFigures

    def __str__(self) -> str:
        """Print the totals by phase, and the memory at its peak."""
        rows = [[phase, *(str(along[q] or "not known") for q in TOTALS)] for phase, along in self.totals.items()]
        return f"{table(['phase', *TOTALS], rows)}\n\n{self.memory}"

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able data with stable keys."""
        numbers = {phase: {q: n and str(n.value) for q, n in along.items()} for phase, along in self.totals.items()}
        return {"totals": numbers, "memory": self.memory.to_json()}
