"""A device as a value: its peaks, its memory and its links, and how one is picked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from symacct.dtypes import as_format, as_plain_format
from symacct.errors import HardwareError, nearest_format, one_of
from symacct.hardware.figures import ENGINES, Figure, Link, Peak
from symacct.units import Quantity

_WIDTHS = ("fp8", "fp6", "fp4")


@dataclass(frozen=True, slots=True, repr=False)
class Device:
    """What a device can do at most, as its makers state it or as it was measured.

    Attributes
    ----------
    name, title
        How it is called here, and in full.
    peaks
        Every known peak; `peak` picks one.
    capacities, bandwidths
        Bytes of memory, and bytes/s from and to it; the first figure counts, others disagree with it.
    links
        Its interconnects.
    note
        What must be known besides.

    Examples
    --------
    >>> import symacct as sa
    >>> h100 = sa.device("h100")
    >>> print(h100.peak("bf16").speed, h100.bandwidth, h100.ridge("bf16"), sep=" | ")
    989.500 TFLOP/s | 3.350 TB/s | 295.373 FLOP/B

    """

    name: str
    title: str
    peaks: tuple[Peak, ...]
    capacities: tuple[Figure, ...]
    bandwidths: tuple[Figure, ...]
    links: tuple[Link, ...] = ()
    note: str = ""

    @property
    def memory(self) -> Quantity:
        """Bytes of memory."""
        return self.capacities[0].quantity

    @property
    def bandwidth(self) -> Quantity:
        """Bytes/s from and to the memory."""
        return self.bandwidths[0].quantity

    def peak(self, dtype: object, *, engine: str | None = None, accumulation: str | None = None) -> Peak:
        """Return the peak of a dtype.

        Parameters
        ----------
        dtype
            What is multiplied, as in `symacct dtypes`, or torch's: ``"bf16"``. ``"fp8"`` is e4m3fn, or the format of
            8 bits that the device has.
        engine
            ``"matrix"`` or ``"vector"``; by default matrix where the dtype has one.
        accumulation
            The format of the sum; by default the widest there is, as torch sums.

        Raises
        ------
        HardwareError
            Where there is none; lists what there is.
        DtypeError
            For what is no dtype, None too: `select` takes any.

        """
        found = self.select(dtype if dtype is not None else as_format(dtype), engine=engine, accumulation=accumulation)
        return min(found, key=lambda p: (ENGINES.index(p.engine), -as_plain_format(p.accumulation).bits))

    def select(
        self, dtype: object | None = None, *, engine: str | None = None, accumulation: str | None = None
    ) -> tuple[Peak, ...]:
        """Return all peaks of a dtype, an engine and a format of sums, each where it is given; as `peak` otherwise."""
        if engine not in (None, *ENGINES):
            raise HardwareError(f"unknown engine {engine!r}; known: {one_of(ENGINES)}")
        wanted, sums = (name if name is None else as_format(name).name for name in (dtype, accumulation))
        able = [p for p in self.peaks if engine in (None, p.engine) and sums in (None, p.accumulation)]
        found = [p for p in able if wanted in (None, p.dtype)]
        if not found and dtype in _WIDTHS:  # a width alone; the peak says which format of it
            found = [p for p in able if p.dtype.startswith(f"{dtype}_")]
        if not found:
            asked = ", ".join(filter(None, (wanted, sums and f"{sums} sums", engine)))
            known = "; ".join(p.label for p in self.peaks)
            hint = nearest_format(wanted or "", [p.dtype for p in self.peaks])
            raise HardwareError(f"{self.name} has no peak of {asked}.{hint} It has {known}")
        return tuple(found)

    def ridge(self, dtype: object, *, engine: str | None = None, accumulation: str | None = None) -> Quantity:
        """Return the intensity at which computing takes as long as moving: ``peak / bandwidth``, in FLOP/B.

        Parameters are those of `peak`.
        """
        return self.peak(dtype, engine=engine, accumulation=accumulation).speed / self.bandwidth

    def __str__(self) -> str:
        """Print every figure with its source."""
        from symacct.hardware.render import device_text

        return device_text(self)

    def __repr__(self) -> str:
        """Show the name."""
        return f"<Device {self.name}: {self.title}>"

    def to_json(self) -> dict[str, Any]:
        """Return every figure in base units with its source and evidence; of a list the first counts."""
        from symacct.hardware.render import device_json

        return device_json(self)
