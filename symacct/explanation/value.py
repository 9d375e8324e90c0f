"""What `symacct.explain` returns: answers side by side, and how they come about."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import Any, NamedTuple

from symacct.explanation.steps import Block, amounts_text
from symacct.expr import Expr, to_json, to_latex
from symacct.show import WIDTH, aligned, html_table, table


class Answer(NamedTuple):
    """The quantity under one convention or notion of traffic; two amounts where MACs stand beside operations."""

    name: str
    amounts: tuple[tuple[Expr, str], ...]
    note: str

    @property
    def text(self) -> str:
        """The amounts with their units."""
        return amounts_text(self.amounts) or "no single number"

    @property
    def latex(self) -> str:
        """The amounts with their units as LaTeX."""
        parts = [rf"{to_latex(x)} \ \text{{{unit}}}" for x, unit in self.amounts]
        return r" \text{ and } ".join(parts) or r"\text{no single number}"

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON-able data."""
        amounts = [{"formula": to_json(x), "unit": unit} for x, unit in self.amounts]
        return {"name": self.name, "amounts": amounts, "note": self.note}


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """One quantity under each way to count it, and its derivation; made by `symacct.explain`.

    Attributes
    ----------
    of
        The quantity: flops, bytes or intensity.
    title
        The pattern, and the sizes and the order that were given.
    answers
        One a convention (flops, intensity) or a notion of traffic (bytes).
    derivation
        One block a step of the computation.
    conditions
        What must hold for the forms to be true.
    """

    of: str
    title: str
    answers: tuple[Answer, ...]
    derivation: tuple[Block, ...]
    conditions: tuple[str, ...] = ()

    def _headers(self) -> list[str]:
        return ["traffic" if self.of == "bytes" else "convention", self.of, ""]

    def __str__(self) -> str:
        """Print in at most 80 columns."""
        parts = [table(self._headers(), [[a.name, a.text, a.note] for a in self.answers], self.title)]
        parts += [_block_text(b) for b in self.derivation]
        where = [_wrapped("where ", c) for c in self.conditions]
        return "\n\n".join([*parts, "\n".join(where)] if where else parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Show the explanation in a notebook."""
        rows = [[a.name, f"${a.latex}$", a.note] for a in self.answers]
        parts = [html_table(self._headers(), rows, self.title)]
        parts += [html_table(["", ""], [list(line) for line in b.lines], b.title) for b in self.derivation]
        return "".join([*parts, html_table(["where"], [[c] for c in self.conditions]) if self.conditions else ""])

    def latex(self) -> str:
        """Return the answers as a LaTeX `aligned` block."""
        return aligned([(a.name, a.latex) for a in self.answers])

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON-able data with stable keys."""
        return {
            "title": self.title,
            "of": self.of,
            "answers": [a.to_json() for a in self.answers],
            "derivation": [{"title": b.title, "lines": [list(line) for line in b.lines]} for b in self.derivation],
            "conditions": list(self.conditions),
        }


def _block_text(block: Block) -> str:
    width = max(len(label) for label, _ in block.lines) + 3
    lines = [_wrapped(f" {label:<{width}}", text) for label, text in block.lines]
    return "\n".join([fill(block.title, WIDTH), *lines])


def _wrapped(label: str, text: str) -> str:
    return fill(text, WIDTH, initial_indent=label, subsequent_indent=" " * len(label), break_on_hyphens=False)
