"""A device as a value: its peaks by dtype, accumulation, engine and sparsity, its memory and its links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from symacct.dtypes import as_format, as_plain_format
from symacct.errors import HardwareError, nearest, one_of
from symacct.units import Quantity

Engine: TypeAlias = Literal["matrix", "vector"]
Evidence: TypeAlias = Literal["seen", "recalled", "measured", "stated"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
_WIDTHS = ("fp8", "fp6", "fp4")
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)


@dataclass(frozen=True, slots=True)
class Source:
    """Where figures are from: a document and its date; ``seen`` in it, ``recalled``, ``measured`` or ``stated``."""

    title: str
    date: str
    evidence: Evidence

    def __str__(self) -> str:
        """Print as a note."""
        return f"{self.title}, {self.date} ({self.evidence})"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, where it is from, and its relative spread where it was measured."""

    quantity: Quantity
    source: Source
    note: str = ""
    spread: float | None = None

    def __str__(self) -> str:
        """Print the number and its source."""
        spread = "" if self.spread is None else f" ± {self.spread:.1%}"
        return f"{self.quantity}{spread}: {self.source}" + (f"; {self.note}" if self.note else "")


@dataclass(frozen=True, slots=True)
class Clocked:
    """A peak from the parts of a chip: ``units * operations * clock`` in FLOP/s."""

    units: int
    operations: int
    clock: Quantity

    @property
    def speed(self) -> Quantity:
        """The product, in FLOP/s."""
        return Quantity(self.units * self.operations * self.clock.value, "FLOP/s")

    def __str__(self) -> str:
        """Print the factors."""
        return f"{self.units} units * {self.operations} operations * {float(self.clock) / 10**9:g} GHz"


@dataclass(frozen=True, slots=True)
class Peak:
    """The most operations a second of one dtype on one engine; the first figure counts, others disagree with it.

    Attributes
    ----------
    dtype, accumulation
        Formats of what is multiplied and of the sum, as `symacct dtypes` spells them.
    engine
        ``"matrix"`` (tensor cores, MXU) or ``"vector"``.
    dense
        FLOP/s without use of zeros.
    sparse
        FLOP/s of the headline for 2:4 sparse weights, where there is one.
    clocked
        The dense peak from units, operations a clock and the clock, where these are known.
    """

    dtype: str
    accumulation: str
    engine: Engine
    dense: tuple[Figure, ...]
    sparse: tuple[Figure, ...] = ()
    clocked: Clocked | None = None

    @property
    def speed(self) -> Quantity:
        """The dense peak in FLOP/s."""
        return self.dense[0].quantity

    @property
    def headline(self) -> Quantity | None:
        """The peak that counts 2:4 sparsity in FLOP/s, where there is one: twice the dense peak."""
        return self.sparse[0].quantity if self.sparse else None

    @property
    def label(self) -> str:
        """What the peak is of: ``bf16, fp32 sums, matrix``."""
        return f"{self.dtype}, {self.accumulation} sums, {self.engine}"


@dataclass(frozen=True, slots=True)
class Link:
    """An interconnect: bytes/s one way over one link, and how many links a device has."""

    name: str
    one_way: tuple[Figure, ...]
    count: int = 1

    @property
    def bandwidth(self) -> Quantity:
        """Bytes/s one way over all the links together."""
        return self.one_way[0].quantity * self.count


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

        """
        found = self.select(dtype, engine=engine, accumulation=accumulation)
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
            hint = nearest(wanted or "", [p.dtype for p in self.peaks])
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
