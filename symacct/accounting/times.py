"""How long an account takes at a rate of computing and a rate of moving: the two ends of what can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from symacct.accounting.core import Account
from symacct.errors import ConventionError, MixedUnitsError, SizeError
from symacct.units import Quantity, quantity


@dataclass(frozen=True, slots=True)
class Times:
    """The seconds of computing and of moving, and both together: at best overlapped, at worst one after the other."""

    compute: Quantity
    memory: Quantity

    @property
    def overlapped(self) -> Quantity:
        """The larger of the two: moving hides behind computing, or the reverse."""
        return max(self.compute, self.memory, key=float)

    @property
    def serial(self) -> Quantity:
        """The sum of the two; at most twice `overlapped`."""
        return self.compute + self.memory

    @property
    def bound(self) -> str:
        """What takes longer: ``"memory"`` where the intensity is below peak / bandwidth, else ``"compute"``."""
        return "memory" if float(self.memory) > float(self.compute) else "compute"

    def __str__(self) -> str:
        """Print both, and the pair that bounds the time."""
        return (
            f"compute {self.compute}, memory {self.memory}: between {self.overlapped} (overlapped) "
            f"and {self.serial} (one after the other), {self.bound} bound"
        )


def times(
    account: Account,
    *,
    peak: float | str | Quantity,
    bandwidth: float | str | Quantity,
    sizes: Mapping[str, Any] | None = None,
    **axes: Any,
) -> Times:
    """Return the time of an account: ``flops / peak`` and ``bytes / bandwidth``.

    Parameters
    ----------
    account
        Under a convention that counts operations.
    peak
        FLOP/s of the engine and dtype that computes: a number, text such as ``"989.5 TFLOP/s"``, or `symacct.peak`.
    bandwidth
        Bytes/s of the memory, likewise.
    sizes, **axes
        A number for every size.

    Returns
    -------
    `Times`: seconds of computing and of moving, `overlapped`, `serial` and `bound`.

    Raises
    ------
    ConventionError
        For what is no account.
    MixedUnitsError
        For an account in MACs, or a rate in another unit.
    SizeError
        For a rate that is not positive.

    Examples
    --------
    >>> import symacct as sa
    >>> relu = sa.account(lambda x: sa.relu(x), x="n")
    >>> print(sa.times(relu, peak=989.5e12, bandwidth=3.35e12, n=1024 * 1024).memory)
    1.252 us

    """
    if not hasattr(account, "at"):
        msg = f"{account!r} is not an account; make one with symacct.account(...)"
        raise ConventionError(msg)
    rates = [quantity(peak, "FLOP/s"), quantity(bandwidth, "B/s")]
    if not all(rate.value > 0 for rate in rates):
        msg = f"a rate is a positive number: peak {rates[0]}, bandwidth {rates[1]}"
        raise SizeError(msg)
    at = account.at(sizes=sizes, **axes)
    if at.flops is None or at.flops.unit != "FLOP":
        counted = " and ".join(account.counts)
        msg = f"the account is in {counted}, the peak in FLOP/s; use a convention that counts operations"
        raise MixedUnitsError(msg)
    seconds = [Fraction(q.value) / Fraction(rate.value) for q, rate in zip((at.flops, at.bytes), rates, strict=True)]
    return Times(*(Quantity(float(s), "s") for s in seconds))
