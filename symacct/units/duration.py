"""Seconds to read: `1.252 us`, `143.93 days`."""

from __future__ import annotations

_LONG = ((86_400, "days"), (3600, "h"), (1, "s"))
_SHORT = ((1e3, "ms"), (1e6, "us"), (1e9, "ns"))


def duration(seconds: float) -> str:
    """Write seconds in four digits, days in two decimals, and a unit that keeps them short.

    Examples
    --------
    >>> duration(1.252e-6), duration(0.0321), duration(90.0), duration(12_435_552.0)
    ('1.252 us', '32.1 ms', '90 s', '143.93 days')

    """
    for scale, unit in _LONG:
        if seconds >= scale:
            number = f"{seconds / scale:,.2f}".rstrip("0").rstrip(".") if unit == "days" else f"{seconds / scale:.4g}"
            return f"{number} {unit}"
    for factor, unit in _SHORT:
        if seconds * factor >= 1:
            return f"{seconds * factor:.4g} {unit}"
    return "0 s" if seconds == 0 else f"{seconds * 1e9:.4g} ns"
