"""What a plan costs: bytes held at its fullest, operations executed again; as formulas, numbers, a table and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symacct.accounting import Quantity
from symacct.accounting.numbers import check_condition
from symacct.checkpointing.numbers import Cut
from symacct.checkpointing.plan import Part, Peak, peaks
from symacct.errors import SizeError
from symacct.expr import (
    Expr,
    Number,
    Sympy,
    add,
    collect_sizes,
    evaluate,
    maximum,
    names_in,
    numbers_for,
    to_json,
    to_latex,
    to_sympy,
    to_text,
)
from symacct.graph import Condition
from symacct.show import aligned, table


@dataclass(frozen=True, slots=True)
class Recomputed:
    """Operations executed again, of those of the forward pass."""

    again: Expr
    forward: Expr
    unit: str = "FLOP"


@dataclass(frozen=True, slots=True)
class Totals:
    """The numbers of a plan at given sizes."""

    memory: Quantity
    held: Quantity
    recomputed: Quantity
    forward: Quantity

    def __str__(self) -> str:
        """Print one a line."""
        return "\n".join(f"{name:<11} {getattr(self, name)}" for name in ("memory", "held", "recomputed", "forward"))


@dataclass(frozen=True, repr=False)
class Checkpointing:
    """What a plan of activation checkpointing costs; made by `symacct.checkpoint`.

    Attributes
    ----------
    title, strategy
        What is computed, and what is recomputed of it.
    parts
        The stretches of the plan in order: bytes held, bytes that come back, operations executed again.
    outside
        Bytes that are kept whatever is recomputed.
    work
        Operations executed again, and of the forward pass, by quantity: ``"flops"``, ``"matmul_flops"``.
    conditions
        What must hold for the formulas to be true.
    assumptions
        Under what they hold, in words.
    segments
        Of a plan in numbers: stages from `first` up to, not including, `last`, recomputed together or kept.

    """

    title: str
    strategy: str
    parts: tuple[Part, ...]
    outside: Expr
    work: Mapping[str, Recomputed]
    conditions: tuple[Condition, ...]
    assumptions: tuple[str, ...]
    segments: tuple[Cut, ...] = ()

    @property
    def peaks(self) -> list[Peak]:
        """Where the most can be held: one place where the sizes decide, else each that may be it."""
        return peaks(self.parts, self.outside)

    @property
    def memory(self) -> Sympy:
        """The bytes held at the fullest; a maximum where it depends on the sizes which part that is."""
        return maximum(*(p.bytes for p in self.peaks))

    @property
    def held(self) -> Sympy:
        """The bytes held from the forward to the backward pass."""
        return to_sympy(self._held)

    @property
    def _held(self) -> Expr:
        return add((self.outside, *(p.held for p in self.parts)))

    @property
    def recomputed(self) -> Sympy:
        """The operations executed again."""
        return to_sympy(self.work["flops"].again)

    @property
    def recomputed_matmul(self) -> Sympy:
        """The operations of matrix products and convolutions executed again; of an account."""
        return to_sympy(self.work["matmul_flops"].again)

    @property
    def forward(self) -> Sympy:
        """The operations of the forward pass."""
        return to_sympy(self.work["flops"].forward)

    @property
    def names(self) -> set[str]:
        """The sizes that are still names."""
        amounts = [x for p in self.parts for x in (p.held, p.transient, p.again)]
        amounts += [self.outside, *(x for w in self.work.values() for x in (w.again, w.forward))]
        return {n for x in amounts for n in names_in(x)}

    def at(self, *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> Totals:
        """Return the numbers at given sizes.

        Raises
        ------
        UndefinedSizeError
            Names the sizes that are missing.
        SizeError
            For a size that is none, or that breaks a condition.

        Examples
        --------
        >>> import symacct as sa
        >>> print(sa.checkpoint(sa.Stage("B*D", "B*D", "2*B*D^2"), "block", layers="L").at(B=8, D=16, L=5))
        memory      768 B
        held        640 B
        recomputed  20.480 kFLOP
        forward     20.480 kFLOP

        """
        given = self._numbers(collect_sizes(sizes, axes, tuple(sorted(self.names))))
        work = self.work["flops"]
        fullest = max(evaluate(p.bytes, given) for p in self.peaks)
        numbers = [Quantity(fullest, "B"), Quantity(evaluate(self._held, given), "B")]
        numbers += [Quantity(evaluate(x, given), work.unit) for x in (work.again, work.forward)]
        return Totals(*numbers)

    def _numbers(self, given: Mapping[str, Expr]) -> dict[str, Number]:
        """Return whole numbers for all names, conditions checked."""
        numbers: dict[str, Number] = {**numbers_for(sorted(self.names), given)}
        for condition in self.conditions:
            try:
                check_condition(condition, numbers)
            except SizeError as error:
                msg = f"{error}; give these sizes to symacct.checkpoint itself, which then takes whole segments"
                raise SizeError(msg) from None
        return numbers

    def latex(self) -> str:
        """Return the formulas as a LaTeX block."""
        rows = [(f"peak: {p.where}" if len(self.peaks) > 1 else "peak", to_latex(p.bytes)) for p in self.peaks]
        rows += [("held", to_latex(self._held))]
        rows += [(f"recomputed {name}", to_latex(work.again)) for name, work in self.work.items()]
        return aligned(rows)

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON-able data with stable keys; expressions as text, srepr and symbols."""
        return {
            "title": self.title,
            "strategy": self.strategy,
            "peaks": [{"where": p.where, "bytes": to_json(p.bytes)} for p in self.peaks],
            "held": to_json(self._held),
            "outside": to_json(self.outside),
            "recomputed": {name: to_json(work.again) for name, work in self.work.items()},
            "forward": {name: to_json(work.forward) for name, work in self.work.items()},
            "units": {"bytes": "B", **{name: work.unit for name, work in self.work.items()}},
            "parts": [
                {
                    "part": p.name,
                    "held": to_json(p.held),
                    "transient": to_json(p.transient),
                    "recomputed": to_json(p.again),
                }
                for p in self.parts
            ],
            "segments": [c._asdict() for c in self.segments],
            "conditions": [str(c) for c in self.conditions],
            "assumptions": list(self.assumptions),
        }

    def __str__(self) -> str:
        """Print the answer as tables of at most 80 columns."""
        where = self.peaks
        rows = [[f"peak: {p.where}" if len(where) > 1 else "peak", to_text(p.bytes), "B"] for p in where]
        rows.append(["held by forward", to_text(self._held), "B"])
        for name, work in self.work.items():
            rows.append([f"{name} again", to_text(work.again), work.unit])
            rows.append([f"{name} forward", to_text(work.forward), work.unit])
        notes = [["strategy", self.strategy], *(["assumed", a] for a in self.assumptions)]
        notes += [["condition", str(c)] for c in self.conditions]
        out = table(["quantity", "closed form", "unit"], rows, self.title)
        return out + "\n\n" + table(["under", ""], notes)

    __repr__ = __str__
