"""What an entry of a file must be; each check names the place of what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symacct.dtypes import as_format
from symacct.errors import HardwareError, SymacctError, nearest, one_of
from symacct.units import Quantity, quantity


def shown(data: Any) -> str:
    """Return what a file holds, in few characters."""
    return repr(data)[:60]


def format_name(name: Any, place: str) -> str:
    """Return the name of a storage format as it is spelled here."""
    try:
        return as_format(name).name
    except SymacctError as error:
        raise HardwareError(f"{place}: {error}") from None


def amount(given: Any, unit: str, place: str) -> Quantity:
    """Read a number with its unit, above 0."""
    if not isinstance(given, str):
        raise HardwareError(f"{place} is {shown(given)}; write text with its unit, as in '80 GB' or '989.5 TFLOP/s'")
    try:
        found = quantity(given, unit)
    except SymacctError as error:
        raise HardwareError(f"{place}: {error}") from None
    if found.value == 0:
        raise HardwareError(f"{place} is 0; leave out what a device does not have")
    if not 1 <= found.value < 10**30:
        raise HardwareError(f"{place}: {found} is beyond what a device can have")
    return found


def check_keys(
    data: Mapping[str, Any], place: str, *, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
) -> None:
    """Refuse a table with a key that is not known, or without one that is required."""
    known = (*required, *optional)
    if unknown := [k for k in data if k not in known]:
        hint = nearest(unknown[0], known)
        raise HardwareError(f"{place}: unknown key {shown(unknown[0])}.{hint} Known: {one_of(known)}")
    if missing := [k for k in required if k not in data]:
        raise HardwareError(f"{place} has no {one_of(missing)}")


def table(data: Any, place: str) -> Mapping[str, Any]:
    """Return what is a table."""
    if not isinstance(data, Mapping):
        raise HardwareError(f"{place} is {shown(data)}, not a table")
    return data


def tables(data: Any, place: str) -> list[Mapping[str, Any]]:
    """Return what is a list of tables."""
    if not isinstance(data, list):
        raise HardwareError(f"{place} is {shown(data)}, not a list of tables")
    return [table(entry, place) for entry in data]


def text(entry: Mapping[str, Any], key: str, place: str, default: str | None = None) -> str:
    """Return the text under a key; it may be empty only where that is the default."""
    found = entry.get(key, default)
    if not isinstance(found, str) or not (found or default == "") or not found.isprintable():
        raise HardwareError(f"{place}: {key} is {shown(found)}, not text of one line")
    return found


def texts(data: Any, place: str) -> list[str]:
    """Return what is a list of texts."""
    if not isinstance(data, list) or not all(isinstance(x, str) and x and x.isprintable() for x in data):
        raise HardwareError(f"{place} is {shown(data)}, not a list of texts")
    return data


def whole_number(value: Any, place: str) -> int:
    """Return what is a whole number from 1 on."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**9:
        raise HardwareError(f"{place} is {shown(value)}, not a whole number from 1 to 10**9")
    return value
