"""What a person gives of a run, read into quantities by the names of the variables."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from symacct.errors import EquationError, SizeError, SymacctError, nearest
from symacct.hardware import device
from symacct.hardware.utilisation import checked_utilisation
from symacct.runs.training import ALIASES, NEED_UNITS, VARIABLES, WHOLE
from symacct.units import Quantity, Range, read_range, read_unit, split_number

Value = Quantity | Range

_LARGEST = Fraction(10**36)


def read_given(known: Mapping[str, Any], dtype: str) -> tuple[dict[str, Value], dict[str, str]]:
    """Return the quantities that are given, and of each where it is from.

    Raises
    ------
    EquationError
        For a name that a run does not have, or a quantity that is given twice.
    SymacctError
        For a value that does not read, is in another unit or out of range; begins with its name.

    """
    given: dict[str, Value] = {}
    how: dict[str, str] = {}
    for word, value in known.items():
        name = ALIASES.get(word, ("peak" if word == "device" else word, ""))[0]
        if name not in VARIABLES:
            names = (*VARIABLES, *ALIASES, "device", "dtype")
            raise EquationError(f"a run has no {word[:40]!r}.{nearest(word, names)} Known: {', '.join(names)}")
        if name in given:
            raise EquationError(f"{name} is given twice, {word} being the second")
        try:
            given[name] = _checked(name, _read(name, word, value, dtype))
        except SymacctError as error:
            said = str(error)
            raise type(error)(said if said.startswith(word) else f"{word}: {said}") from None
        how[name] = "given" if word != "device" else f"{device(value).name}: {device(value).peak(dtype).label}, dense"
    return given, how


def _read(name: str, word: str, value: Any, dtype: str) -> Value:
    if word == "device":
        return device(value).peak(dtype).speed
    if word in ALIASES:
        one = Quantity(*read_unit(ALIASES[word][1]))
        found = read_range(value, "")
        return Range(found.low * one, found.high * one) if isinstance(found, Range) else found * one
    if name in NEED_UNITS and not _has_unit(value):
        raise SizeError(f"{repr(value)[:60]} has no unit; write {NEED_UNITS[name]}")
    return read_range(value, VARIABLES[name].unit)


def _has_unit(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_has_unit(end) for end in value)
    return isinstance(value, Quantity) or (
        isinstance(value, str) and ("$" in value or bool(split_number(value.split("..")[-1])[1]))
    )


def _checked(name: str, value: Value) -> Value:
    for end in value if isinstance(value, Range) else (value,):
        if end.value == 0 and VARIABLES[name].default != 0:
            raise SizeError("it is 0; a quantity of a run is above 0")
        if end.value and not 1 / _LARGEST < end.value < _LARGEST:
            raise SizeError(f"{end} is beyond what a run can have")
        if name in WHOLE and end.value != int(end.value):
            raise SizeError(f"{end} is no whole number")
        if name in ("mfu", "hfu"):
            checked_utilisation(float(end), name)
    return value
