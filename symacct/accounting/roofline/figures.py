"""A roofline in numbers: seconds, intensities and bounds of every kernel, and of the whole in three ways to run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.accounting.numbers import concrete
from symacct.errors import SizeError
from symacct.expr import Expr, Number, collect_sizes, evaluate
from symacct.show import footnote, percent, table
from symacct.units import Quantity

if TYPE_CHECKING:
    from symacct.accounting.roofline.core import Roofline
    from symacct.accounting.roofline.lanes import Kernel

_BOUNDS = ("compute", "compute", "memory", "launch")
ENGINES = ("matrix", "vector", "memory", "launch")


@dataclass(frozen=True, slots=True)
class Times:
    """How long the matrix engine, the vector engine, the memory and the launches are busy, in seconds; exact."""

    matrix: Fraction
    vector: Fraction
    memory: Fraction
    launch: Fraction

    @property
    def lanes(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """The four in order."""
        return self.matrix, self.vector, self.memory, self.launch

    @property
    def overlapped(self) -> Quantity:
        """The longest: the others hide behind it."""
        return Quantity(max(self.lanes), "s")

    @property
    def serial(self) -> Quantity:
        """All, one after the other."""
        return Quantity(sum(self.lanes), "s")

    @property
    def bound(self) -> str:
        """What takes longest: ``"compute"``, ``"memory"`` or ``"launch"``; the first of those that are equal."""
        return _BOUNDS[self.lanes.index(max(self.lanes))]

    @property
    def engine(self) -> str:
        """Which engine takes longest, the memory or the launches."""
        return ENGINES[self.lanes.index(max(self.lanes))]


@dataclass(frozen=True, slots=True)
class KernelFigures:
    """One kernel in numbers, all its runs together; `useful` are the seconds of the matrix engine without padding."""

    label: str
    family: str
    phase: str
    flops: Number | float
    bytes: Number | float
    times: Times
    useful: Fraction

    @property
    def intensity(self) -> Fraction | None:
        """FLOP a byte; None where nothing is moved."""
        return Fraction(self.flops) / Fraction(self.bytes) if self.bytes else None

    @property
    def attains(self) -> Fraction:
        """The share of its engine's peak that it can reach: below its ridge, ``intensity / ridge``.

        Of sizes that are rounded up to tiles only what was asked for counts, as in an MFU.
        """
        longest, (matrix, vector) = max(self.times.lanes), (self.times.matrix, self.times.vector)
        return (self.useful if matrix >= vector else vector) / longest if longest else Fraction(1)


@dataclass(frozen=True, slots=True)
class RooflineFigures:
    """A roofline in numbers.

    Attributes
    ----------
    kernels
        Every kernel, in order.
    fused
        The same where element-wise neighbours share a kernel, and an attention is one.
    ideal
        Seconds where all is one kernel that reads its inputs and writes its outputs once.
    intensity, ridge
        Of the whole, and of the roof, in FLOP/B.
    bandwidth, roofs
        Bytes/s, and the peaks of the engines that the kernels use, by name.
    under
        What the figures hold for: device, format, sizes.
    """

    kernels: tuple[KernelFigures, ...]
    fused: tuple[KernelFigures, ...]
    ideal: Times
    intensity: Quantity | None
    ridge: Quantity
    bandwidth: Quantity
    roofs: tuple[tuple[str, Quantity], ...]
    title: str
    under: str

    @property
    def overlapped(self) -> Quantity:
        """Seconds at best, a kernel each: every kernel takes what its longest part takes."""
        return _overlapped(self.kernels)

    @property
    def serial(self) -> Quantity:
        """Seconds where nothing overlaps."""
        return _serial(self.kernels)

    @property
    def bound(self) -> str:
        """What the whole takes longest for, all kernels together."""
        return _together(self.kernels).bound

    @property
    def attainable(self) -> Fraction:
        """``min(1, intensity / ridge)``; 1 where nothing is moved."""
        if self.intensity is None:
            return Fraction(1)
        return min(Fraction(1), Fraction(self.intensity.value) / Fraction(self.ridge.value))

    def times(self) -> dict[str, tuple[Quantity, Quantity]]:
        """Return seconds with perfect overlap and with none, of three ways to run: per op, fused, ideal."""
        return {
            "per op": (self.overlapped, self.serial),
            "fused": (_overlapped(self.fused), _serial(self.fused)),
            "ideal": (self.ideal.overlapped, self.ideal.serial),
        }

    def __str__(self) -> str:
        """Print the kernels with their bounds, and the times, as tables."""
        whole = Fraction(self.overlapped.value) or 1
        rows = [
            [
                k.label,
                f"{float(k.intensity):.4g}" if k.intensity is not None else "-",
                k.times.bound,
                percent(float(k.attains)),
                str(k.times.overlapped),
                percent(float(k.times.overlapped.value / whole)),
            ]
            for k in self.kernels
        ]
        head = table(["kernel", "FLOP/B", "bound", "of peak", "time", "share"], rows)
        ways = [[way, str(best), str(worst)] for way, (best, worst) in self.times().items()]
        times = table(["run", "overlapped", "one after the other"], ways)
        return f"{head}\n\n{times}\n\n{footnote(self.under)}"

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON-able data; seconds as floats."""
        return {
            "bound": self.bound,
            "intensity": float(self.intensity) if self.intensity is not None else None,
            "ridge": float(self.ridge),
            "attainable": float(self.attainable),
            "times": {way: {"overlapped": float(a), "serial": float(b)} for way, (a, b) in self.times().items()},
            "kernels": [
                {
                    "computes": k.label,
                    "family": k.family,
                    "phase": k.phase,
                    "flops": float(k.flops),
                    "bytes": float(k.bytes),
                    "bound": k.times.bound,
                    "engine": k.times.engine,
                    "attains": float(k.attains),
                    **dict(zip(ENGINES, map(float, k.times.lanes), strict=True)),
                    "overlapped": float(k.times.overlapped),
                    "serial": float(k.times.serial),
                }
                for k in self.kernels
            ],
            "under": self.under,
        }


def figures(roof: Roofline, sizes: Mapping[str, Any] | None, axes: Mapping[str, Any]) -> RooflineFigures:
    """See `Roofline.at`."""
    account = roof.account
    given = concrete(account, collect_sizes(sizes, axes, account.names))
    told = ", ".join(f"{name} = {size}" for name, size in given.items())
    machine = roof.machine.device.title
    moved = account.total("bytes") != 0
    multiplies = any(k.dtype is not None for k in roof.kernels)
    roof_told = f"{'products in' if multiplies else 'roof of'} {roof.dtype.name}"
    return RooflineFigures(
        tuple(_kernel(k, given) for k in roof.kernels),
        tuple(_kernel(k, given) for k in roof.fused().kernels),
        _times(roof.ideal(), given),
        Quantity(exactly(account.total("intensity"), given), "FLOP/B") if moved else None,
        roof.ridge,
        roof.machine.device.bandwidth,
        _roofs(roof),
        roof.title,
        "; ".join(part for part in (machine, roof_told, told, *roof.notes) if part),
    )


def _roofs(roof: Roofline) -> tuple[tuple[str, Quantity], ...]:
    """Return the peaks that the kernels run under, the highest first."""
    found = {f"{k.dtype.name} products": k.matrix.peak for k in roof.kernels if k.dtype is not None}
    vector = {k.vector.peak for k in roof.kernels if k.vector.flops != 0}
    named = [*found.items(), *(("other work" if len(vector) == 1 else f"other work, {p}", p) for p in vector)]
    if not named:
        return ((roof.dtype.name, roof.peak),)
    return tuple((n, Quantity(p, "FLOP/s")) for n, p in sorted(named, key=lambda roof: -roof[1]))


def exactly(x: Expr, sizes: Mapping[str, Number]) -> Fraction:
    """Return the number that an expression is at some sizes; a root is as exact as a float."""
    return within_reach(Fraction(evaluate(x, sizes)))


def within_reach(seconds: Fraction) -> Fraction:
    """Return seconds that can be printed, in JSON too.

    Raises
    ------
    SizeError
        For more than 1e200.

    """
    if seconds > 10**200:
        msg = "these sizes and times come to more than 1e200 s; give smaller ones"
        raise SizeError(msg)
    return seconds


def _kernel(k: Kernel, sizes: Mapping[str, Number]) -> KernelFigures:
    flops, moved = (evaluate(x, sizes) for x in (k.flops, k.bytes))
    useful = exactly(k.matrix.seconds, sizes)
    return KernelFigures(k.label, k.family, k.phase, flops, moved, _times(k.lanes, sizes), useful)


def _times(lanes: tuple[Expr, ...], sizes: Mapping[str, Number]) -> Times:
    return Times(*(exactly(x, sizes) for x in lanes))


def _together(kernels: Sequence[KernelFigures]) -> Times:
    zero = Fraction(0)
    return Times(*(sum((k.times.lanes[i] for k in kernels), zero) for i in range(4)))


def _overlapped(kernels: Sequence[KernelFigures]) -> Quantity:
    return Quantity(sum((max(k.times.lanes) for k in kernels), Fraction(0)), "s")


def _serial(kernels: Sequence[KernelFigures]) -> Quantity:
    return Quantity(sum((sum(k.times.lanes) for k in kernels), Fraction(0)), "s")
