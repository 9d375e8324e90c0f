"""The memory of a step of training: what lasts, what the step makes, and the moments at which most may be alive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

from symacct.accounting.walk import names_of
from symacct.errors import one_of
from symacct.expr import Expr, Size, add, names_in, substitute, to_json, to_sympy, to_text
from symacct.graph import Condition
from symacct.memory.alive import Apart, Label, Path
from symacct.memory.candidates import Held, Moment, Walks, undominated
from symacct.memory.figures import MemoryFigures, figures
from symacct.memory.largest import Largest, largest
from symacct.memory.step import ROLES, Step, Storages
from symacct.memory.timeline import Timeline, timeline
from symacct.memory.where import phase_of, where
from symacct.show import table

AFTER: Path = ()
"""When both passes are done."""

LASTING = ("parameters", "master copies", "optimizer state")
SHOWN = 4


class Peak(NamedTuple):
    """A moment at which most may be alive: the phase, the operation, and the bytes."""

    phase: str
    where: str
    bytes: Expr
    path: Path


@dataclass(frozen=True, repr=False)
class Ledger:
    """What is alive in a step of training, in closed forms; made by `Account.training`.

    Examples
    --------
    >>> import symacct as sa
    >>> def network(x: "b d", w: "L d d"):
    ...     return sa.repeat("L", lambda h, w: sa.relu(h @ w), x, xs=w)
    >>> memory = sa.account(network, params=["w"]).training(optimizer="adagrad", policy="bf16").memory
    >>> memory.roles["parameters"], memory.roles["optimizer state"], memory.roles["activations"]
    (2*L*d**2, 4*L*d**2, 2*L*b*d)

    """

    step: Step
    turns: Mapping[Expr, int] = field(default_factory=dict)
    """Repeats that turn so often: too few turns for the closed forms."""
    sizes: Mapping[str, int] | None = None
    """Numbers for all sizes, where everything is worked out with them."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The sizes that are still names, in alphabetical order."""
        return tuple(sorted({*names_of(self.step.graph), *names_in(self.step.micro_batches)}))

    def with_sizes(self, sizes: Mapping[str, Any]) -> Ledger:
        """Return the ledger at some sizes: repeats with too few turns for the forms are written out.

        The number of micro-batches, which decides what lasts, is put in too.
        """
        parts = self.step.micro_batches
        if (known := substitute(parts, sizes)) != parts:
            step = replace(self.step, micro_batches=cast("Size", known))
            return replace(self, step=step).with_sizes(sizes)
        free = {n: substitute(n, sizes) for n in self.walks.free}
        few = {n: turns for n, turns in free.items() if isinstance(turns, int) and turns < self.walks.few[n]}
        return replace(self, turns=few) if few else self

    @cached_property
    def storages(self) -> Storages:
        """What makes the storages."""
        return Storages(self.step, self.sizes)

    @cached_property
    def besides(self) -> dict[Label, Expr]:
        """What is alive all the time besides what the graph holds: state, master copies, gradients that add up."""
        return self.storages.lasting()

    @cached_property
    def walks(self) -> Walks:
        """The walks of the graph, in which its inputs stay alive, but for the gradients of what it yields."""
        step, storages = self.step, self.storages
        gradients = frozenset(step.gradients.values())
        return Walks(
            step.graph,
            storages.given,
            storages.measure,
            kept=set(step.graph.inputs) - set(step.seeds),
            apart=Apart(frozenset(step.seeds), step.absorbed, gradients),
            lasting=add(self.besides.values()),
            turns=self.turns,
            watched=(AFTER, self.between),
        )

    @cached_property
    def moments(self) -> list[Moment]:
        """What is alive after each operation, and in the update."""
        *inside, last = self.walks.moments()
        updates = [
            Moment((len(self.step.graph.ops) + k,), add((last.bytes, *made.values())))
            for k, made in enumerate(self.storages.temporaries())
        ]
        return [*inside, *updates]

    @cached_property
    def peaks(self) -> list[Peak]:
        """The moments of which none is proved to have at most as much alive as another."""
        graph = self.step.graph
        return [Peak(phase_of(graph, m.path), where(graph, m.path), m.bytes, m.path) for m in undominated(self.moments)]

    def held_at(self, path: Path) -> Held:
        """Return what is alive at a moment, by whose it is; after all operations stand the updates, one by one."""
        after = path[0] - len(self.step.graph.ops) if path else -1
        inside = path if after < 0 else AFTER
        held = {**self.besides, **self.walks.held(inside)}
        return held if after < 0 else held | self.storages.temporaries()[after]

    @cached_property
    def held(self) -> Held:
        """What the forward pass leaves for the backward one, and what lasts, by whose it is."""
        inside = self.held_at(self.between)
        return {label: bytes for label, bytes in inside.items() if label.role not in ("backward", "gradients")}

    @property
    def between(self) -> Path:
        """The first moment of the backward pass, when nothing that it reads is gone yet."""
        first = next((op for op in self.step.graph.ops if op.phase == "bwd"), None)
        if first is None:  # gradients that are those of the outputs: nothing is executed for them
            return AFTER
        return (first.id, 0, -1) if first.kind == "repeat" else (first.id,)

    @cached_property
    def by_role(self) -> dict[str, Expr]:
        """Bytes by role: what is alive between the passes, and all gradients."""
        done = {label: bytes for label, bytes in self.held_at(AFTER).items() if label.role == "gradients"}
        held = {**self.held, **done}
        found = {role: add(b for label, b in held.items() if label.role == role) for role in ROLES}
        return {role: bytes for role, bytes in found.items() if bytes != 0}

    @cached_property
    def roles(self) -> dict[str, Any]:
        """`by_role` as sympy expressions."""
        return {role: to_sympy(bytes) for role, bytes in self.by_role.items()}

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """From how many turns on the forms hold."""
        return self.conditions_at({})

    def conditions_at(self, sizes: Mapping[str, Any]) -> tuple[Condition, ...]:
        """Return from how many turns on the forms hold, with sizes put in, where that is not decided."""
        few = self.walks.few
        found = [Condition("at_least", substitute(n, sizes), few[n]) for n in self.walks.free if not isinstance(n, int)]
        return tuple(c for c in found if not c.holds)

    def at(self, *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> MemoryFigures:
        """Return the numbers at given sizes: the peak, where it is, and what is alive there."""
        return figures(self, sizes, axes)

    def timeline(self, *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> Timeline:
        """Return what is alive after each operation at given sizes, each turn of each repeat walked with numbers.

        `symacct.draw` draws it.

        Raises
        ------
        UndefinedSizeError
            Names the sizes that are missing.
        InconclusiveError
            For more than 100,000 operations.

        Examples
        --------
        >>> import symacct as sa
        >>> layer = sa.account(lambda x, w: sa.relu(x @ w), x="b d", w="d k", params=["w"])
        >>> line = layer.training(optimizer="sgd").memory.timeline(b=2, d=3, k=5)
        >>> line.phases[-2:], line.totals
        (('backward', 'update'), [42, 62, 82, 102, 112, 92])

        """
        return timeline(self, sizes, axes)

    def largest(self, axis: Any, memory: Any, *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> Largest:
        """Return the largest size of one axis at which a step fits into memory.

        Parameters
        ----------
        axis
            The size that is asked: a batch, a sequence, a number of layers, a width.
        memory
            Bytes, or text such as ``"80 GB"``.
        sizes, **axes
            The other sizes; those that are left out stay names, and the answer is a bound in them for each candidate.
        """
        return largest(self, axis, memory, sizes, axes)

    def __str__(self) -> str:
        """Print the bytes by role, and the candidates for the peak: what is alive there besides what lasts."""
        if not self.names:
            return str(self.at())
        rows = [[role, to_text(bytes)] for role, bytes in self.by_role.items()]
        lasting = [role for role in LASTING if role in self.by_role]
        lasts = add(self.by_role[role] for role in lasting)
        peaks = [[p.phase, p.where, to_text(add((p.bytes, -lasts)))] for p in self.peaks[:SHOWN]]
        more = len(self.peaks) - SHOWN
        told = f"\n and {more} more candidates; give sizes, or see .peaks" if more > 0 else ""
        besides = f"bytes besides {one_of(lasting)}" if lasting else "bytes, all together"
        head = ["peak in", "right after", besides]
        return f"{table(['memory', 'bytes'], rows)}\n\n{table(head, peaks)}{told}"

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return JSON-able data with stable keys."""
        return {
            "roles": {role: to_json(bytes) for role, bytes in self.by_role.items()},
            "tensors": [{**label._asdict(), "bytes": to_json(bytes)} for label, bytes in self.held.items()],
            "peaks": [{"phase": p.phase, "where": p.where, "bytes": to_json(p.bytes)} for p in self.peaks],
            "conditions": [str(c) for c in self.conditions],
            **self.step.under,
        }
