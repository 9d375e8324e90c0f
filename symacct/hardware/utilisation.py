"""Utilisation is at most 1; where it is not, something was counted or measured otherwise than the peak."""

from __future__ import annotations

from symacct.errors import UtilisationError

_CAUSES = (
    "the time was taken without waiting for the device (synchronise before and after)",
    "the peak is of another dtype, or of the vector units, or the work used 2:4 sparsity and the peak is dense",
    "pairs that a causal mask skips were counted (attention_factor 6 instead of 12)",
    "work or throughput is of all devices and the peak of fewer",
    "operations of another factor were counted, such as 8 a parameter with recompute",
)


def checked_utilisation(value: float, name: str = "mfu") -> float:
    """Return a utilisation, if it is above 0 and at most 1.

    Raises
    ------
    UtilisationError
        Above 1, lists what may be wrong; or at 0 and below.

    Examples
    --------
    >>> checked_utilisation(0.46)
    0.46

    """
    if value > 1:
        written = f"{float(value):g}%"
        percents = [f"a percentage was meant, which is written '{written}'"] if 2 <= value <= 100 else []
        causes = "\n".join(f"- {cause}" for cause in (*percents, *_CAUSES))
        raise UtilisationError(f"{name} = {float(value):.4g}, but no device does more than its peak. Perhaps\n{causes}")
    if value <= 0:
        raise UtilisationError(f"{name} = {float(value):.4g}; a utilisation is above 0 and at most 1")
    return value
