"""Equations of quantities, each solved for the one unknown that it has, until nothing more follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from symacct.errors import EquationError
from symacct.expr import Expr, Poly, add, coefficient, names_in, read, substitute
from symacct.expr.poly import whole

Number: TypeAlias = int | Fraction
Tell: TypeAlias = Callable[[str, Number], str]

_SAME = Fraction(1, 10**6)
"""Given values may differ by so much, relatively, from what follows of the others: they were rounded."""


@dataclass(frozen=True, slots=True)
class Equation:
    """Two sides that are equal, each unknown standing to the first power.

    Examples
    --------
    >>> solve([Equation("flops = 6*params*tokens")], {"flops": 60, "tokens": 5})
    ({'flops': 60, 'tokens': 5, 'params': 2}, {'params': 'flops = 6*params*tokens'})

    """

    text: str
    gap: Expr = field(init=False)

    def __post_init__(self) -> None:
        """Read the text."""
        left, _, right = self.text.partition("=")
        object.__setattr__(self, "gap", add((read(left), -read(right))))

    @property
    def names(self) -> tuple[str, ...]:
        """The quantities in it."""
        return tuple(dict.fromkeys(names_in(self.gap)))


def _plain(_name: str, value: Number) -> str:
    return f"{float(value):.6g}"


def solve(
    equations: Iterable[Equation], known: Mapping[str, Number], tell: Tell = _plain
) -> tuple[dict[str, Number], dict[str, str]]:
    """Return all values that follow from the known ones, and by which equation each was found.

    `tell` prints the value of a name where something is wrong.

    Raises
    ------
    EquationError
        Where the known values contradict an equation, or a value comes out negative.

    """
    equations, values, found_by = list(equations), dict(known), dict[str, str]()
    progress = True
    while progress:
        progress = False
        for equation in equations:
            unknown = [n for n in equation.names if n not in values]
            if len(unknown) == 1 and (value := _root(equation, unknown[0], values, tell)) is not None:
                values[unknown[0]] = value
                found_by[unknown[0]] = equation.text
                progress = True
    for equation in equations:
        _check(equation, values, tell)
    return values, found_by


def _root(equation: Equation, unknown: str, values: Mapping[str, Number], tell: Tell) -> Number | None:
    """Solve ``a*x + b = 0``; None where x does not matter, as nothing times x."""
    gap = substitute(equation.gap, values)
    slope, rest = coefficient(gap, unknown, 1), coefficient(gap, unknown, 0)
    assert not isinstance(slope, Poly)
    assert not isinstance(rest, Poly)
    if slope == 0:
        return None
    value = whole(Fraction(-rest) / slope)
    if value < 0:
        raise EquationError(
            f"{unknown} would be {float(value):.6g}, below 0, by {equation.text}; {_shown(equation, values, tell)}"
        )
    return value


def _check(equation: Equation, values: Mapping[str, Number], tell: Tell) -> None:
    if any(n not in values for n in equation.names):
        return
    sides = [substitute(read(side), values) for side in equation.text.split("=")]
    assert not any(isinstance(side, Poly) for side in sides)
    left, right = (Fraction(side) for side in sides)  # type: ignore[arg-type]
    if abs(left - right) > _SAME * max(abs(left), abs(right)):
        raise EquationError(
            f"the values given contradict {equation.text}: {float(left):.6g} against {float(right):.6g}; "
            f"{_shown(equation, values, tell)}; leave one out"
        )


def _shown(equation: Equation, values: Mapping[str, Number], tell: Tell) -> str:
    return ", ".join(f"{n} = {tell(n, values[n])}" for n in equation.names if n in values)
