"""From which size on a kernel is bound by computing: where its intensity reaches the ridge of its engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symacct.accounting.numbers import axis_name
from symacct.accounting.roofline.lanes import Kernel, Lane
from symacct.accounting.solve import Solution, reaching
from symacct.expr import divide

if TYPE_CHECKING:
    from symacct.accounting.roofline.core import Roofline


@dataclass(frozen=True, slots=True)
class Turn:
    """Where the work of one engine of one kernel outlasts its traffic."""

    label: str
    engine: str
    solution: Solution

    def __str__(self) -> str:
        """Print as a sentence."""
        return f"{self.label}: {self.solution}"


def turns(roof: Roofline, axis: Any) -> tuple[Turn, ...]:
    """See `Roofline.turns`."""
    n = axis_name(roof.account, axis)
    found = []
    for kernel in dict.fromkeys(roof.kernels):
        for engine, lane in (("matrix", kernel.matrix), ("vector", kernel.vector)):
            if lane.flops != 0 and kernel.bytes != 0:
                found.append(Turn(kernel.label, engine, _solution(roof, kernel, lane, n)))
    return tuple(dict.fromkeys(found))


def _solution(roof: Roofline, kernel: Kernel, lane: Lane, n: str) -> Solution:
    ridge = lane.peak / roof.machine.bandwidth
    told = ("intensity", f"{float(ridge):.6g}")
    return reaching(divide(lane.flops, kernel.bytes), ridge, n, told, roof.account.conditions)
