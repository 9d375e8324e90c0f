"""What is known of a training run: every quantity, and how it came about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symacct.errors import EquationError, nearest, one_of
from symacct.runs.training import VARIABLES, WHOLE, shown
from symacct.units import Quantity, Range


@dataclass(frozen=True, slots=True)
class Run:
    """The quantities of a run by name, each a `Quantity`, or a `Range` where a range went in.

    Attributes
    ----------
    target
        The quantity that was asked for.
    values
        All quantities that are known.
    how
        Of each whether it was given, what it was assumed from, or the equation that it follows from.
    readings
        What the target would be under other assumptions, which people mix up with these.

    Examples
    --------
    >>> import symacct as sa
    >>> run = sa.training_run(params="70B", tokens="15T", devices=1024, device="h100", mfu=0.5)
    >>> print(run["time"], "|", run["device_time"], "|", run.how["peak"])
    143.93 days | 147,380.83 days | h100: bf16, fp32 sums, matrix, dense

    """

    target: str
    values: Mapping[str, Quantity | Range]
    how: Mapping[str, str]
    readings: tuple[tuple[str, Quantity], ...] = ()

    @property
    def answer(self) -> Quantity | Range:
        """The quantity that was asked for."""
        return self.values[self.target]

    def __getitem__(self, name: str) -> Quantity | Range:
        """Return a quantity by name.

        Raises
        ------
        EquationError
            Where it is not known; lists what is.

        """
        if name not in self.values:
            known = one_of(self.values)
            raise EquationError(f"nothing tells {name[:40]!r} of this run.{nearest(name, self.values)} Known: {known}")
        return self.values[name]

    def __str__(self) -> str:
        """Print the answer, a table of all that is known, and other readings."""
        from symacct.show import table

        rows = [
            [n, shown(n, self.values[n]), self.how[n].removeprefix(f"{n} = ")] for n in VARIABLES if n in self.values
        ]
        answer = f"{self.target} = {self.answer}{_whole(self.target, self.answer)}"
        lines = [answer, table(["quantity", "value", "how"], rows)]
        if self.readings:
            lines += ["other readings", *(f" {value!s:<16} {what}" for what, value in self.readings)]
        elif any(isinstance(value, Range) for value in self.values.values()):
            lines.append("other readings are worked out where no range is given")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the answer, all quantities in base units with how they came about, and other readings."""
        return {
            "target": self.target,
            "quantities": {
                name: {**_json(value), "how": self.how[name], "meaning": VARIABLES[name].meaning}
                for name in VARIABLES
                if (value := self.values.get(name)) is not None
            },
            "readings": [{"reading": what, **_json(value)} for what, value in self.readings],
        }


def _whole(name: str, value: Quantity | Range) -> str:
    """Say how many whole devices are needed where not a whole number follows."""
    if name not in WHOLE or isinstance(value, Range) or value.value == int(value.value):
        return ""
    return f", so {math.ceil(value.value):,} whole ones"


def _json(value: Quantity | Range) -> dict[str, Any]:
    if isinstance(value, Range):
        return {"low": float(value.low), "high": float(value.high), "unit": value.low.unit}
    exact = value.value if type(value.value) is int else str(value.value)
    return {"value": exact, "float": float(value), "unit": value.unit}
