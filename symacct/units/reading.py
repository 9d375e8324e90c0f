"""Text -> a number with a unit: "80 GB", "3.35 TB/s", "15T tokens", "70B"."""

from __future__ import annotations

import math
import operator
import re
from fractions import Fraction
from typing import Any

from symacct.errors import MixedUnitsError, SizeError, UndefinedSizeError, UnitError
from symacct.expr import Poly, from_sympy, read
from symacct.expr.poly import whole
from symacct.units.quantity import Quantity
from symacct.units.spelling import COUNTS, check_unit, read_unit

_NUMBER = r"(?:\d[\d_]*+\.?+\d*+(?:[eE][+-]?\d++)?+|\.\d++|[\s()+*/^-])+(?<=[\d.)])"
_TEXT = re.compile(rf"\s*(?P<dollar>\$)?\s*(?P<number>{_NUMBER})(?P<space>\s*)(?P<rest>.*?)\s*", re.DOTALL)
_MANY = {"k": 3, "K": 3, "thousand": 3, "M": 6, "million": 6, "B": 9, "billion": 9, "T": 12, "trillion": 12}
_COUNTED_UNITS = (*COUNTS, "$")
_EXAMPLES = {"B": "80 GB", "B/s": "3.35 TB/s", "FLOP/s": "989.5 TFLOP/s", "s": "5 us", "$/s": "$2/h"}
_COUNTED = re.compile(rf"({'|'.join(sorted(_MANY, key=len, reverse=True))})(?:\s+(.*))?", re.DOTALL)


def quantity(given: str | float | Fraction | Quantity, unit: str | None = None) -> Quantity:
    """Read a number with its unit, exactly.

    Parameters
    ----------
    given
        Text: a number, or an expression of numbers, and a unit (``"80 GB"``, ``"6*1.5e9 FLOP"``, ``"400 Gbit/s"``).
        After the number of a count stand k, M, B and T (or words) for powers of ten: ``"70B"``, ``"15T tokens"``.
        Or a plain number, in base units; or a quantity. Text without a unit stands for a count, or for nothing.
    unit
        The unit that is wanted, such as ``"B/s"``; None takes any.

    Returns
    -------
    The quantity in base units: FLOP, MAC, B, s, token, param, $ and their ratios. GB is 10**9 bytes, GiB 2**30; b and
    bit are an eighth of a byte; a year has 365.25 days.

    Raises
    ------
    MixedUnitsError
        For a quantity in another unit than the wanted one, such as work (FLOP) for a speed (FLOP/s).
    UnitError
        For an unknown unit, or one that reads in two ways, such as FLOPS.
    SizeError
        For what is no number, is negative or is not finite; for text that lacks the unit of a rate, time or memory.

    Examples
    --------
    >>> from symacct.units import quantity
    >>> quantity("80 GB"), quantity("1 GiB"), quantity("3.35 TB/s")
    (Quantity(80000000000, 'B'), Quantity(1073741824, 'B'), Quantity(3350000000000, 'B/s'))
    >>> quantity("70B", "param"), quantity("70B", "B")
    (Quantity(70000000000, 'param'), Quantity(70, 'B'))
    >>> print(quantity("15T tokens"), "|", quantity("3640 PFLOP/s*day"), "|", quantity("$2/h"))
    15.000 trillion tokens | 314.496 ZFLOP | $2/h

    """
    if unit and (base := read_unit(unit)[1]) != unit:
        raise UnitError(f"{unit[:60]!r} is no base unit; ask for {base!r}")
    if isinstance(given, Quantity):
        found = given
    elif isinstance(given, str):
        found = _read(given, unit)
    else:
        found = Quantity(_number(given), unit or "")
    if unit is not None:
        check_unit(unit, found.unit, repr(given)[:60] if isinstance(given, str) else str(given))
    return found


def _number(given: float | Fraction) -> int | Fraction | float:
    """Take a number as it is, a float as the decimal that it prints as, one of sympy's or numpy's exactly."""
    if hasattr(given, "free_symbols"):
        given = _sympy_number(given)
    elif hasattr(given, "__index__") and not isinstance(given, bool):
        given = operator.index(given)
    if isinstance(given, bool) or not isinstance(given, int | float | Fraction):
        raise SizeError(f"{repr(given)[:60]} is no quantity; write a number, or text such as '80 GB'")
    if not math.isfinite(given) or given < 0:
        raise SizeError(f"{str(given)[:60]} is no quantity; it is a finite number, 0 or more")
    return whole(Fraction(repr(float(given)))) if isinstance(given, float) else given


def _sympy_number(given: Any) -> int | Fraction:
    number = from_sympy(given)
    if isinstance(number, Poly):
        raise UndefinedSizeError(f"{given} has sizes that are still names; give them numbers")
    return number


def _read(text: str, unit: str | None) -> Quantity:
    found = _TEXT.fullmatch(text)
    if not found:
        raise SizeError(f"{text[:60]!r} is no quantity; write a number and a unit, such as '80 GB' or '3.35 TB/s'")
    value = read(found["number"])
    if isinstance(value, Poly) or value < 0:
        raise SizeError(f"{text[:60]!r} is negative; a range is written 0.3..0.5")
    bytes_alone = found["rest"] == "B" and found["space"] and unit is None
    many, rest = (1, "B") if bytes_alone else _many(found["rest"], text, "$" if found["dollar"] else unit)
    rest = (found["dollar"] or "") + rest
    if not rest and value and (example := _EXAMPLES.get(unit or "")):
        raise SizeError(f"{text[:60]!r} has no unit; write it behind the number, as in {example!r}")
    scale, base = read_unit(rest) if rest else (1, unit or "")
    return Quantity(whole(Fraction(value) * many * scale), base)


def split_number(text: str) -> tuple[str, str]:
    """Split text into its number and what stands behind it, such as ``"12 days"``."""
    found = _TEXT.fullmatch(text)
    if not found:
        raise SizeError(f"{text[:60]!r} has no number; write one, such as '80 GB' or '0.5'")
    return found["number"], found["rest"]


def _many(rest: str, text: str, unit: str | None) -> tuple[int, str]:
    """Split `B tokens` into 10**9 and the unit, where a count is wanted or named."""
    found = _COUNTED.fullmatch(rest)
    if not found:
        return 1, rest
    many, of = found.groups()
    if of:
        return 10 ** _MANY[many], of
    if many == "B" and unit not in _COUNTED_UNITS:
        if unit is not None:
            return 1, rest  # bytes
        number = text[:60].rstrip(" B")
        raise UnitError(f"{text[:60]!r} is billions or bytes; write '{number}e9' or '{number} bytes'")
    if unit not in (*_COUNTED_UNITS, None):
        example = _EXAMPLES.get(unit, f"{text[:60].strip()} {unit}")
        raise MixedUnitsError(f"{text[:60]!r} is a count; write the unit, as in {example!r}")
    return 10 ** _MANY[many], ""
