"""What reading and comparing an answer gives back: plain frozen values that turn into JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from symacct.expr import Number
from symacct.expr.tree import Leaf, Tree

ZERO = Leaf("number", "0", 0)


class Warned(NamedTuple):
    """Something a reader should know: a code, one sentence, and the place in the text, `start` up to `end`."""

    code: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """How the text of an answer was understood; made by `symacct.read_answer`.

    Attributes
    ----------
    text
        The answer as it was written.
    formula
        The expression in our own notation, such as ``"2*B*T*D**2"``.
    mode
        ``"exact"``, ``"approximate"`` (written with ``~``, ``≈``, ``→``) or ``"order"`` (written as ``O(...)``).
    unit
        The unit it was written in, such as ``"GB"``, or ``""``; the expression is in the base unit (bytes, FLOPs, s).
    relation
        ``""``, or the direction of a threshold: ``"<"`` or ``">"``.
    warnings
        What was guessed: aliases, near-miss names, ambiguous divisions, each with its place.
    alternatives
        Other ways to read the same text, the likelier first.
    unknown
        Names that are none of the question's symbols.
    tree
        The parsed expression.
    dims, per
        The dimensions of the unit, such as ``(("byte", 1),)``, and the noun it is counted by (``"param"``).
    bare_bound
        Whether it is a bound on nothing that is named: ``at most 144``.
    limit
        What it tends to, where the answer says so: ``(2n-1)/(4n+2) → 1/2``.
    remainder
        What is left out, where the answer says so: ``n/3 + O(1)``.
    """

    text: str
    formula: str
    mode: str = "exact"
    unit: str = ""
    relation: str = ""
    warnings: tuple[Warned, ...] = ()
    alternatives: tuple[Reading, ...] = ()
    unknown: tuple[str, ...] = ()
    tree: Tree = field(default=ZERO, repr=False, compare=False)
    dims: tuple[tuple[str, int], ...] = field(default=(), repr=False, compare=False)
    per: str = field(default="", repr=False, compare=False)
    bare_bound: bool = field(default=False, repr=False, compare=False)
    limit: Tree | None = field(default=None, repr=False, compare=False)
    remainder: Tree | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        """Print the formula and what had to be guessed."""
        unit = f"  [{self.unit}]" if self.unit else ""
        return "\n".join([f"{self.formula}{unit}", *(w.text for w in self.warnings)])

    @property
    def expression(self) -> Any:
        """The expression as sympy has it, over plain symbols."""
        from symacct.expr.formula import to_sympy

        return to_sympy(self.tree)

    def to_json(self) -> dict[str, Any]:
        """Return the reading as JSON-able data with stable keys."""
        return {
            "text": self.text,
            "formula": self.formula,
            "mode": self.mode,
            "unit": self.unit,
            "relation": self.relation,
            "warnings": [w._asdict() for w in self.warnings],
            "alternatives": [a.formula for a in self.alternatives],
            "unknown": list(self.unknown),
        }


class Counterexample(NamedTuple):
    """Sizes at which the answer and the truth differ, and both values there."""

    sizes: Mapping[str, Number]
    answer: Number | float
    truth: Number | float

    def __str__(self) -> str:
        """Write it as one line: ``at B=2, D=3: 6, not 12``."""
        at = ", ".join(f"{n}={v}" for n, v in self.sizes.items())
        return (f"at {at}: " if at else "") + f"{shown(self.answer)}, not {shown(self.truth)}"

    def to_json(self) -> dict[str, Any]:
        """Return the sizes and both values; fractions as text."""
        sizes = {n: _plain(v) for n, v in self.sizes.items()}
        return {"sizes": sizes, "answer": _plain(self.answer), "truth": _plain(self.truth)}


class Finding(NamedTuple):
    """A likely mistake: its code in `symacct.answers.MISTAKES`, and what it is about, such as the missing term."""

    code: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right, how that is known, and what probably went wrong; made by `symacct.check`.

    Attributes
    ----------
    correct
        Whether the answer is right under the question's own convention.
    proof
        ``"algebra"``, ``"sampled(n)"`` (n points of exact evaluation), ``"limit"``, ``"value"`` (numbers), or ``""``.
    counterexample
        Small distinct sizes at which it is wrong, with both values.
    findings
        The likely mistakes, the likeliest first.
    other_convention
        The rule under which the answer would be right, such as ``"mac"``.
    reading
        How the answer was read; nothing where it could not be.
    problem
        Why it could not be read.
    warnings
        What a person should look at although it does not decide.
    truth
        The right answer as a formula.
    derivation
        How the right answer comes about, one line a step, where it was asked for.
    """

    correct: bool
    proof: str = ""
    counterexample: Counterexample | None = None
    findings: tuple[Finding, ...] = ()
    other_convention: str = ""
    reading: Reading | None = None
    problem: str = ""
    warnings: tuple[Warned, ...] = ()
    truth: str = ""
    derivation: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Print right or wrong, the counterexample, the likely mistakes and what was noticed."""
        from symacct.answers.mistakes import told

        return "\n".join([*told(self), *dict.fromkeys(w.text for w in self.warnings)])

    @property
    def mistakes(self) -> tuple[str, ...]:
        """The codes of the likely mistakes, the likeliest first."""
        return tuple(f.code for f in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON-able data with stable keys."""
        return {
            "correct": self.correct,
            "proof": self.proof,
            "counterexample": self.counterexample.to_json() if self.counterexample else None,
            "mistakes": list(self.mistakes),
            "findings": [f._asdict() for f in self.findings],
            "other_convention": self.other_convention,
            "reading": self.reading.to_json() if self.reading else None,
            "problem": self.problem,
            "warnings": [w._asdict() for w in self.warnings],
            "truth": self.truth,
            "derivation": list(self.derivation),
        }


def shown(value: float | Fraction) -> str:
    """Write a number for people: whole ones in full up to 15 digits, others to six digits."""
    if isinstance(value, int) and abs(value) < 10**15:
        return str(value)
    if isinstance(value, Fraction) and value.denominator < 1000 and abs(value.numerator) < 10**6:
        return str(value)
    try:
        return f"{float(value):.6g}"
    except OverflowError:
        return "a number above 10**308" if value > 0 else "a number below -10**308"


def _plain(value: float | Fraction) -> int | float | str:
    if isinstance(value, int) and abs(value) < 2**53:
        return value
    return value if isinstance(value, float) else str(value)
