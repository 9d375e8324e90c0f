"""Memory against operations executed again: the best plan at each budget, from everything kept down to the least."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from symacct.accounting import Account, Quantity
from symacct.checkpointing.asked import asked_of
from symacct.checkpointing.chain import Stage
from symacct.checkpointing.frontier import again_of, fewest
from symacct.checkpointing.least import least_budget, with_tail
from symacct.checkpointing.numbers import Cut, Numbers, as_number, follow
from symacct.checkpointing.plan import Builder, peaks
from symacct.errors import SizeError
from symacct.expr import Number
from symacct.show import percent, table

FAILURES = 2
"""After so many budgets at which there were too many plans to try all, no more are tried."""


class Point(NamedTuple):
    """A plan: bytes held at its fullest, operations executed again; whether it is sure that none does fewer."""

    memory: Number
    again: Number
    segments: tuple[Cut, ...]
    sure: bool


@dataclass(frozen=True, repr=False)
class Curve:
    """Plans of which none is beaten in both memory and recomputed operations; made by `symacct.checkpoint_curve`.

    Attributes
    ----------
    title
        What is computed.
    points
        The plans, by falling memory.
    forward
        Operations of the forward pass.
    complete
        Whether no plan between two points is left out.
    assumptions
        Under what it holds, in words.

    """

    title: str
    points: tuple[Point, ...]
    forward: Number
    complete: bool
    assumptions: tuple[str, ...]

    def draw(self, path: str | Path | None = None) -> Any:
        """Draw the curve; see `symacct.checkpointing.picture.draw_curve`."""
        from symacct.checkpointing.picture import draw_curve

        return draw_curve(self, path)

    def to_json(self) -> dict[str, Any]:
        """Return the curve as JSON-able data with stable keys; exact numbers, fractions as text."""
        return {
            "title": self.title,
            "forward": _exact(self.forward),
            "complete": self.complete,
            "points": [
                {
                    "memory": _exact(p.memory),
                    "recomputed": _exact(p.again),
                    "sure": p.sure,
                    "segments": [c._asdict() for c in p.segments],
                }
                for p in self.points
            ],
            "assumptions": list(self.assumptions),
        }

    def __str__(self) -> str:
        """Print a plan a line."""
        rows = []
        for p in self.points:
            runs = sum(c.recomputed for c in p.segments)
            share = percent(float(p.again / self.forward)) if self.forward else "-"
            rows.append([str(Quantity(p.memory, "B")), str(Quantity(p.again, "FLOP")), share, str(runs)])
        out = table(["peak", "recomputed", "of forward", "segments"], rows, self.title)
        return out + "\n\n" + table(["under", ""], [["assumed", a] for a in self.assumptions])

    __repr__ = __str__


def _exact(x: Number) -> int | str:
    return x if isinstance(x, int) else str(x)


def checkpoint_curve(
    what: Account | Stage | Sequence[Stage],
    *,
    points: int = 40,
    layers: Any = None,
    early_stop: bool = True,
    device: str = "cpu",
    wrt: Sequence[str] | None = None,
    sizes: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], object] | None = None,
    **axes: Any,
) -> Curve:
    """Pareto curve of activation checkpointing: peak memory against recomputed FLOPs, in numbers.

    Parameters
    ----------
    what, layers, early_stop, device, wrt, sizes, **axes
        As for `symacct.checkpoint`; every size needs a number.
    points
        About how many plans at most: where there are more, budgets apart by a constant factor are taken.
    progress
        Called after each plan with how many there are and about how many there will be.

    Returns
    -------
    Curve
        Its ``points`` have ``memory``, ``again`` and ``segments``; ``draw(path)`` makes a picture.

    Raises
    ------
    SizeError
        For fewer than two points.
    UndefinedSizeError
        While a size is a name.

    Notes
    -----
    Every point is the plan with the fewest operations at a budget, see `symacct.checkpoint`; the next budget lies just
    below what it holds, or a step further where more than `points` steps were needed.

    Examples
    --------
    >>> import symacct as sa
    >>> curve = sa.checkpoint_curve(sa.Stage(1, 3, keeps_input=True), layers=4)
    >>> [(p.memory, p.again) for p in curve.points]
    [(16, 0), (13, 1), (9, 2), (7, 3)]

    """
    if type(points) is not int or points < 2:
        msg = f"{points!r} points; a curve has two at least"
        raise SizeError(msg)
    asked = asked_of(what, layers, wrt, sizes, axes, device=device, in_numbers=True)
    chain = asked.chains["flops"]
    numbers = Numbers(chain, early_stop=early_stop)
    least, budget = least_budget(numbers), numbers.everything
    step = (float(budget) / float(least or 1)) ** (1 / points)
    found: list[Point] = []
    complete, failures = True, 0
    while budget >= least:
        cuts, sure = fewest(numbers, budget) if failures < FAILURES else (with_tail(numbers, budget), False)
        failures += not sure
        build = Builder(early_stop=early_stop)
        follow(build, numbers.stages, cuts)
        held = max(as_number(p.bytes) for p in peaks(build.parts, chain.held(recomputing=build.recomputes)))
        point = Point(held, again_of(numbers, cuts), tuple(cuts), sure)
        found = [p for p in found if p.again < point.again] + [point]
        if progress is not None:
            progress(len(found), points)
        below, further = held - numbers.unit, int(budget / step) * numbers.unit
        complete &= below <= further or held == least
        budget = min(below, max(further, least))
    notes = (*asked.notes(early_stop=early_stop), asked.optimality(sure=all(p.sure for p in found)))
    return Curve(asked.title, tuple(found), numbers.work[-1], complete, notes)
