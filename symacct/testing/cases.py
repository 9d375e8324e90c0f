"""One student's function against one truth, at given sizes: what is wrong there, in a sentence."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from symacct.errors import StudentEndedError, StudentError
from symacct.expr import evaluate, to_text
from symacct.testing.attempts import Attempt
from symacct.testing.students import Number
from symacct.testing.truths import Truth


@dataclass(frozen=True, slots=True)
class Case:
    """A student's function by name, what it computes, the truth, and how far a float may be off."""

    name: str
    compute: Attempt
    truth: Truth
    rtol: float

    def wrong(self, sizes: Mapping[str, int], *, failing: bool = False) -> str:
        """Say what is wrong at these sizes, or nothing; `failing`: to give no value is not wrong.

        Raises
        ------
        StudentEndedError
            If there is nothing more to ask, with what was asked last.

        """
        expected = evaluate(self.truth.form, sizes)
        told = f"the truth {to_text(self.truth.form)} = {shown(expected)}"
        try:
            value = self.compute(sizes)
        except StudentEndedError as error:
            raise StudentEndedError(f"{self.called(sizes)} should give {told}, but: {error}") from None
        except StudentError as error:
            return "" if failing else f"{self.called(sizes)} should give {told}, but: {error}"
        if close(value, expected, self.rtol):
            return ""
        ratio = _ratio(value, expected) if expected and _finite(value) else ""
        return f"{self.called(sizes)} gives {shown(value)}{f', {ratio} of' if ratio else ';'} {told}"

    def executions(self, count: int) -> int:
        """Compare with real executions at a few small sizes; return how many there were.

        Raises
        ------
        AssertionError
            Where torch executed another number.

        """
        if self.truth.run is None:
            return 0
        done = 0
        for sizes in self._few(count):
            value, executed = self.compute(sizes), self.truth.run(sizes)
            if not close(value, executed, self.rtol):
                raise AssertionError(
                    f"{self.called(sizes)} gives {shown(value)}, as the truth {to_text(self.truth.form)} does, "
                    f"but torch executed {executed}; with execute=False the truth alone is asked"
                )
            done += 1
        return done

    def _few(self, count: int) -> Iterator[dict[str, int]]:
        """Yield small legal sizes, distinct, the same on every run: few enough points for torch to run."""
        names = self.truth.names
        among = random.Random(0)  # noqa: S311 - nothing secret is drawn
        left = count
        for _ in range(1000 * count):
            sizes = dict(zip(names, among.sample(range(2, 8 + len(names)), len(names)), strict=True))
            if left and self.truth.legal(sizes):
                left -= 1
                yield sizes

    def called(self, sizes: Mapping[str, int]) -> str:
        """Write the call with its sizes."""
        return f"{self.name}({', '.join(f'{n}={size}' for n, size in sizes.items())})"


def close(value: Number, expected: Number, rtol: float) -> bool:
    """Whether two numbers are equal, or, where one is a float, equal but for its rounding.

    Examples
    --------
    >>> close(48, 48, 0.1), close(47, 48, 0.1), close(47.0, 48, 0.1), close(float("nan"), 48, 0.1)
    (True, False, True, False)

    """
    if not isinstance(value, float) and not isinstance(expected, float):
        return value == expected
    return _finite(value) and abs(Fraction(value) - Fraction(expected)) <= rtol * abs(Fraction(expected))


def _finite(x: Number) -> bool:
    return not isinstance(x, float) or math.isfinite(x)


def shown(x: Number) -> str:
    """Write a number for a message; a huge one by its size."""
    if isinstance(x, float):
        return f"{x:.10g}"
    bits = max(x.numerator.bit_length(), x.denominator.bit_length())
    return str(x) if bits < 150 else f"a number of {bits} bits"


def _ratio(value: Number, expected: Number) -> str:
    ratio = Fraction(value) / Fraction(expected)
    simple = ratio.limit_denominator(1000)
    near = abs(ratio - simple) <= abs(ratio) / 10**9
    if near and abs(simple) < 10**6:
        return str(simple)
    return f"{float(ratio):.6g}" if abs(ratio) < sys.float_info.max else ""
