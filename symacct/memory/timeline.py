"""The memory of a step from operation to operation, at given sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from symacct.errors import InconclusiveError
from symacct.expr import add, evaluate
from symacct.graph import Graph
from symacct.memory.alive import Path
from symacct.memory.candidates import repeats
from symacct.memory.figures import MemoryFigures, numbers
from symacct.memory.step import ROLES
from symacct.memory.where import phase_of

if TYPE_CHECKING:
    from symacct.memory.ledger import Ledger

MOST = 100_000
"""So many operations are walked one by one."""


@dataclass(frozen=True)
class Timeline:
    """What is alive after each operation of a step, by role.

    Attributes
    ----------
    phases
        The phase of each moment: ``"forward"``, ``"backward"`` or, where there is an optimizer, ``"update"``.
    roles
        The bytes at each moment, by role.
    figures
        The peak, and where it is.
    title
        Under what.
    """

    phases: tuple[str, ...]
    roles: Mapping[str, tuple[int, ...]]
    figures: MemoryFigures
    title: str

    @property
    def totals(self) -> list[int]:
        """The bytes at each moment, all roles together."""
        return [sum(at) for at in zip(*self.roles.values(), strict=True)]


def timeline(ledger: Ledger, sizes: Mapping[str, Any] | None, axes: Mapping[str, Any]) -> Timeline:
    """Return what is alive after each operation; see `Ledger.timeline`."""
    given = numbers(ledger, sizes, axes)
    whole = ledger
    graph = ledger.step.graph
    turns = {op.attrs["n"]: int(evaluate(op.attrs["n"], given)) for op in repeats(graph)}
    if _operations(graph, turns) > MOST:
        msg = f"a step at these sizes is more than {MOST:,} operations; give fewer turns to its repeats"
        raise InconclusiveError(msg)
    ledger = replace(ledger.with_sizes(given), turns=turns, sizes=given)
    moments: list[tuple[str, dict[str, int]]] = []
    steady = _by_role(ledger.besides)

    def look(path: Path, tally: Mapping[str, Any]) -> None:
        moments.append((phase_of(graph, path), {**steady, **{r: steady.get(r, 0) + b for r, b in tally.items()}}))

    ledger.walks.profile(look)
    before, last = moments[-2][0], moments[-1][1]
    most = max(ledger.storages.temporaries(), key=lambda made: int(add(made.values())))  # type: ignore[arg-type]
    moments[-1] = ("update" if whole.step.optimizer else before, {**last, **_by_role(most)})
    roles = {role: tuple(int(at.get(role, 0)) for _, at in moments) for role in ROLES}
    step = whole.step
    said = [
        step.policy.name,
        *([step.optimizer.name] if step.optimizer else []),
        *(f"{n}={s}" for n, s in given.items()),
    ]
    return Timeline(
        tuple(phase for phase, _ in moments),
        {role: line for role, line in roles.items() if any(line)},
        whole.at(sizes=given),
        ", ".join(said),
    )


def _by_role(held: Mapping[Any, Any]) -> dict[str, Any]:
    return {role: add(b for label, b in held.items() if label.role == role) for role in {x.role for x in held}}


def _operations(graph: Graph, turns: Mapping[Any, int]) -> int:
    return sum(
        turns[op.attrs["n"]] * max(_operations(body, turns) for body in op.parts) if op.kind == "repeat" else 1
        for op in graph.ops
    )
