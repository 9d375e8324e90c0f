"""Units: what a spelling such as `TFLOP/s` or `Gb/s` stands for, and the unit of a product or ratio."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from functools import lru_cache

from symacct.errors import MixedUnitsError, UnitError, nearest

COUNTS = ("", "param", "token")
"""Units of mere counts, of which 70B is 70 billion and not 70 bytes."""

DECIMAL = {p: 10 ** (3 * i) for i, p in enumerate(("k", "M", "G", "T", "P", "E", "Z", "Y"), 1)}
BINARY = {p: 2 ** (10 * i) for i, p in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)}
_SMALL = {"m": Fraction(1, 10**3), "u": Fraction(1, 10**6), "µ": Fraction(1, 10**6), "n": Fraction(1, 10**9)}

MINUTE, HOUR, DAY, WEEK, YEAR = 60, 3600, 86_400, 7 * 86_400, 31_557_600
"""Seconds; a year has 365.25 days, as where leap years count."""

# spelling -> (how many, of what unit)
_PREFIXED: dict[str, tuple[Fraction | int, str]] = {
    **dict.fromkeys(("FLOP", "FLOPs", "flop", "flops", "OP", "OPs", "op", "ops"), (1, "FLOP")),
    **dict.fromkeys(("MAC", "MACs", "mac", "macs"), (1, "MAC")),
    **dict.fromkeys(("B", "byte", "bytes"), (1, "B")),
    **dict.fromkeys(("b", "bit", "bits"), (Fraction(1, 8), "B")),
    "Bps": (1, "B/s"),
    "bps": (Fraction(1, 8), "B/s"),
    "Hz": (1, "1/s"),
}
_PLAIN: dict[str, tuple[Fraction | int, str]] = {
    **dict.fromkeys(("s", "sec", "second", "seconds"), (1, "s")),
    **dict.fromkeys(("min", "minute", "minutes"), (MINUTE, "s")),
    **dict.fromkeys(("h", "hr", "hour", "hours"), (HOUR, "s")),
    **dict.fromkeys((f"{d}-{h}" for d in ("GPU", "gpu", "device") for h in ("h", "hour", "hours")), (HOUR, "s")),
    **dict.fromkeys(("PF-day", "PF-days"), (10**15 * DAY, "FLOP")),
    **dict.fromkeys(("d", "day", "days"), (DAY, "s")),
    **dict.fromkeys(("week", "weeks"), (WEEK, "s")),
    **dict.fromkeys(("year", "years"), (YEAR, "s")),
    **dict.fromkeys(("token", "tokens", "tok"), (1, "token")),
    **dict.fromkeys(("param", "params", "parameter", "parameters"), (1, "param")),
    **dict.fromkeys(("$", "USD", "dollar", "dollars"), (1, "$")),
    "1": (1, ""),
    "%": (Fraction(1, 100), ""),
}
_KNOWN = {
    **_PLAIN,
    **{p + s: (n * of, unit) for s, (of, unit) in _PREFIXED.items() for p, n in {"": 1, **DECIMAL}.items()},
    **{p + s: (n * of, unit) for s, (of, unit) in _PREFIXED.items() if "B" in unit for p, n in BINARY.items()},
    **{p + "s": (n, "s") for p, n in _SMALL.items()},
}
_EXAMPLES = "FLOP, MAC, B, GB, GiB, Gbit, s, h, days, token, param, $, and ratios such as TFLOP/s or $/h"


@lru_cache(maxsize=1024)
def read_unit(text: str) -> tuple[Fraction, str]:
    """Return what one of a unit is, and in which base unit: ``TFLOP/s`` is ``(10**12, "FLOP/s")``.

    Raises
    ------
    UnitError
        For a spelling that is not known, or stands for two things.

    Examples
    --------
    >>> read_unit("GiB"), read_unit("Gbit/s"), read_unit("PFLOP/s*day")
    ((Fraction(1073741824, 1), 'B'), (Fraction(125000000, 1), 'B/s'), (Fraction(86400000000000000000, 1), 'FLOP'))

    """
    scale, powers = Fraction(1), Counter[str]()
    for operator, word in re.findall(r"([*/]|^)\s*([^*/\s]+)\s*", text):
        of, unit = _one(word, text)
        sign = -1 if operator == "/" else 1
        scale *= Fraction(of) ** sign
        for base, power in _powers(unit).items():
            powers[base] += sign * power
    if not re.fullmatch(r"\s*[^*/\s]+(\s*[*/]\s*[^*/\s]+)*\s*", text):
        raise UnitError(f"{text[:60]!r} is no unit; known: {_EXAMPLES}")
    return scale, _spell(powers)


def _one(word: str, text: str) -> tuple[Fraction | int, str]:
    bits_for_bytes = re.fullmatch(r"[kMGTP]?b", word) and "/" not in text
    if word in _KNOWN and not bits_for_bytes:
        return _KNOWN[word]
    if re.fullmatch(r"[kMGTPEZY]?(FLOPS|OPS|MACS)", word):
        each = word[:-1]
        raise UnitError(f"{word} reads as work or as speed; write {each} for work and {each}/s for speed")
    if bits_for_bytes or re.fullmatch(r"[kKmgtp]i?[bB](ps)?", word):
        kind = "kB (1000 bytes) and KiB (1024 bytes)" if word[0] in "kK" else "GB (10**9 bytes), GiB (2**30 bytes)"
        raise UnitError(f"{word!r} in {text[:60]!r} can be misread; write {kind} or Gbit")
    raise UnitError(f"unknown unit {word[:60]!r}.{nearest(word, _KNOWN)} Known: {_EXAMPLES}")


def combine(a: str, b: str, sign: int = 1) -> str:
    """Return the unit of a product of two quantities, or of their ratio with `sign` -1.

    Examples
    --------
    >>> combine("FLOP/s", "s"), combine("FLOP", "B", -1), combine("B", "B", -1)
    ('FLOP', 'FLOP/B', '')

    """
    powers = Counter(_powers(a))
    for base, power in _powers(b).items():
        powers[base] += sign * power
    return _spell(powers)


@lru_cache(maxsize=1024)
def _powers(unit: str) -> dict[str, int]:
    """Read a base unit as it is spelled here: `FLOP/param/token`, `1/s`."""
    powers = Counter[str]()
    for operator, base in re.findall(r"([*/]?)([^*/]+)", unit):
        if base != "1":
            powers[base] += -1 if operator == "/" else 1
    return powers


def _spell(powers: dict[str, int]) -> str:
    above = "*".join(base for base, power in sorted(powers.items()) for _ in range(power))
    below = "".join(f"/{base}" for base, power in sorted(powers.items()) for _ in range(-power))
    return (above or "1") + below if below else above


def check_unit(wanted: str, found: str, shown: str) -> None:
    """Refuse a quantity in another unit than the one that is wanted.

    Raises
    ------
    MixedUnitsError
        Names both units in words.

    """
    if found != wanted:
        raise MixedUnitsError(f"{shown} is {_words(found)}; {_words(wanted)} is wanted here")


_WORDS = {
    "": "a plain number",
    "B": "a size in bytes (B)",
    "B/s": "a bandwidth (B/s)",
    "FLOP": "work (FLOP)",
    "FLOP/s": "a speed (FLOP/s)",
    "FLOP/B": "an intensity (FLOP/B)",
    "s": "a time (s)",
    "$": "money ($)",
    "$/s": "a price of time ($/h)",
    "param": "a number of parameters",
    "token": "a number of tokens",
}


def _words(unit: str) -> str:
    return _WORDS.get(unit, f"a quantity in {unit}")
