"""A run solved: what is assumed of it, what follows, and what is still open."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction

from symacct.errors import EquationError
from symacct.hardware.utilisation import checked_utilisation
from symacct.runs.equations import Number, solve
from symacct.runs.given import Value
from symacct.runs.training import EQUATIONS, VARIABLES, shown
from symacct.units import Quantity, Range

_MOST_RANGES = 8
_ATTENTION = {"layers", "width", "context"}


def corners_of(given: Mapping[str, Value]) -> list[dict[str, Number]]:
    """Take each end of each range with each end of the others: every quantity is monotonic in between."""
    if sum(isinstance(value, Range) for value in given.values()) > _MOST_RANGES:
        raise EquationError(f"more than {_MOST_RANGES} ranges in one question")
    ends = [[(name, end) for end in (v if isinstance(v, Range) else (v,))] for name, v in given.items()]
    return [{name: Fraction(end.value) for name, end in corner} for corner in itertools.product(*ends)]


def solved(
    given: Mapping[str, Number], sources: Mapping[str, str], target: str
) -> tuple[dict[str, Number], dict[str, str]]:
    """Solve with what is assumed of the work of a token; of recompute only if it does not follow."""
    assumed = _assumed(given, target)
    values, by = solve(EQUATIONS, {**given, **assumed}, _told)
    if "recompute" not in values and target != "recompute":
        assumed["recompute"] = 0
        values, further = solve(EQUATIONS, {**values, "recompute": 0}, _told)
        by |= further
    if target not in values:
        raise EquationError(_open(target, given, values))
    used = {name for equation in EQUATIONS if equation.text in by.values() for name in equation.names}
    values = {name: value for name, value in values.items() if name in used or name not in assumed}
    for name, value in values.items():
        if name in ("mfu", "hfu"):
            checked_utilisation(float(value), name)
        if value == 0 and VARIABLES[name].default != 0:
            raise EquationError(f"{name} would be 0 by {by[name]}")
    how = {**sources, **{n: f"assumed: {VARIABLES[n].assumption}" for n in assumed}, **by}
    return values, {name: how[name] for name in values}


def _told(name: str, value: Number) -> str:
    return shown(name, Quantity(value, VARIABLES[name].unit))


def _assumed(given: Mapping[str, Number], target: str) -> dict[str, Number]:
    """The factor 6, and attention as none or, where its sizes are given, with the factor 12."""
    names = ("factor", "attention_factor" if _ATTENTION & set(given) else "attention")
    return {n: VARIABLES[n].default or 0 for n in names if n not in given and n != target}


def _open(target: str, given: Mapping[str, Number], values: Mapping[str, Number]) -> str:
    told = [n for n in VARIABLES if n in _ATTENTION and n in given]
    untold = [n for n in VARIABLES if n in _ATTENTION and n not in values and n != target]
    if told and untold and "attention" not in values:
        meant = ", ".join(f"{n} ({VARIABLES[n].meaning})" for n in untold)
        return (
            f"{target} does not follow: with {', '.join(told)} attention counts, which takes {meant} too; "
            f"give {', '.join(untold)}, or leave {', '.join(told)} out"
        )
    ways = [e for e in EQUATIONS if target in e.names]
    open_names = {e.text: [n for n in e.names if n not in values and n != target] for e in ways}
    lines = [f"- {text} (give {', '.join(names)})" for text, names in open_names.items()]
    lines += [f"{n}: {VARIABLES[n].meaning}" for n in dict.fromkeys(n for names in open_names.values() for n in names)]
    return f"{target} does not follow from {', '.join(given) or 'nothing'}. It would from\n" + "\n".join(lines)


def joined(ends: list[Number], unit: str) -> Value:
    """Return one quantity where all corners agree, else the range that they span."""
    low, high = (Quantity(pick(ends), unit) for pick in (min, max))
    return low if low == high else Range(low, high)
