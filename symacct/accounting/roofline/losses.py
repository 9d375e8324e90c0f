"""Why a run does not reach the peak: the time of its products at the peak, and what each loss adds to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.accounting.numbers import concrete
from symacct.accounting.roofline.figures import exactly, within_reach
from symacct.accounting.roofline.lanes import Kernel
from symacct.errors import ConventionError, one_of
from symacct.expr import Number, collect_sizes
from symacct.show import footnote, percent, table
from symacct.units import Quantity, quantity

if TYPE_CHECKING:
    from symacct.accounting.roofline.core import Roofline

BASE = "products at the peak"
OVERLAPS = ("perfect", "none")


@dataclass(frozen=True, slots=True)
class Loss:
    """What one cause adds to the time, in seconds; negative where it saves some."""

    cause: str
    seconds: Fraction


@dataclass(frozen=True, slots=True, repr=False)
class Waterfall:
    """From the time of all products at the peak to the predicted time; the parts sum to it exactly.

    Attributes
    ----------
    base
        Seconds of the products at the peak: what an MFU of 1 would take.
    losses
        What each cause adds, in the order in which they are laid on top of one another.
    overlap
        ``"perfect"``: each kernel takes as long as its longest part, so the MFU is a bound; ``"none"``: the parts of
        a kernel follow one another.
    under
        What it holds for: device, format of the peak, sizes.

    """

    title: str
    base: Fraction
    losses: tuple[Loss, ...]
    overlap: str
    under: str

    @property
    def seconds(self) -> Fraction:
        """The predicted time."""
        return self.base + _sum(x.seconds for x in self.losses)

    @property
    def mfu(self) -> Fraction | None:
        """The predicted MFU: the time of the products at the peak over the time; None where there are no products."""
        return self.base / self.seconds if self.base else None

    @property
    def points(self) -> tuple[Fraction, ...]:
        """What each loss takes off the MFU, its share of the time; the sum is ``1 - mfu``, exactly, or 1 without it."""
        return tuple(x.seconds / self.seconds for x in self.losses)

    @property
    def running(self) -> tuple[Fraction, ...]:
        """What is left of 1 after each loss, down to `mfu`, or to 0 without it."""
        left, out = Fraction(1), []
        for points in self.points:
            left -= points
            out.append(left)
        return tuple(out)

    @property
    def note(self) -> str:
        """What it holds for, and what kind of MFU it is, if any."""
        if self.mfu is None:
            return f"{self.under}; there are no products, so there is no MFU"
        return f"{self.under}; {'with perfect overlap, so a bound' if self.overlap == 'perfect' else 'without overlap'}"

    def __str__(self) -> str:
        """Print the parts with their share of the time and what is left of the MFU."""
        if self.mfu is None:
            return self._without_products()
        rows = [[BASE, _told(self.base), "", "100.0%"]]
        for loss, points, left in zip(self.losses, self.points, self.running, strict=True):
            rows.append([loss.cause, _told(loss.seconds), percent(float(-points), "+"), percent(float(left))])
        rows.append(["predicted", _told(self.seconds), "", percent(float(self.mfu))])
        return f"{table(['part', 'time', 'MFU', 'left'], rows, self.title)}\n\n{footnote(self.note)}"

    def _without_products(self) -> str:
        parts = [(x.cause, x.seconds) for x in self.losses] + [("predicted", self.seconds)]
        rows = [[cause, _told(s), percent(float(s / self.seconds)) if self.seconds else "-"] for cause, s in parts]
        return f"{table(['part', 'time', 'share'], rows, self.title)}\n\n{footnote(self.note)}"

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the parts as JSON-able data; seconds as floats."""
        return {
            "title": self.title,
            "mfu": None if self.mfu is None else float(self.mfu),
            "seconds": float(self.seconds),
            "products_at_the_peak": float(self.base),
            "losses": [
                {"cause": x.cause, "seconds": float(x.seconds), "points": float(p)}
                for x, p in zip(self.losses, self.points, strict=True)
            ],
            "overlap": self.overlap,
            "under": self.under,
        }


def _told(seconds: Fraction) -> str:
    return str(Quantity(seconds, "s")) if seconds >= 0 else f"-{Quantity(-seconds, 's')}"


@dataclass(frozen=True, slots=True)
class _Part:
    """Seconds of one kernel: products at the roof's peak, at their own, rounded up; then with all else it does."""

    kernel: Kernel
    at_roof: Fraction
    at_own: Fraction
    rounded: Fraction
    computing: Fraction
    busy: Fraction
    launched: Fraction


def waterfall(
    roof: Roofline,
    overlap: str,
    communication: Any,
    sizes: Mapping[str, Any],
    again: Roofline | None = None,
) -> Waterfall:
    """See `Account.mfu_bound`."""
    if overlap not in OVERLAPS:
        msg = f"unknown overlap {overlap!r}; known: {one_of(OVERLAPS)}"
        raise ConventionError(msg)
    waited = within_reach(Fraction(quantity(communication, "s").value))
    given = concrete(roof.account, collect_sizes(sizes, {}, roof.account.names))
    parts = [_part(roof, kernel, overlap, given) for kernel in roof.kernels]
    if again is not None:
        mine = concrete(again.account, given)
        parts += [_part(roof, replace(k, phase="recompute"), overlap, mine) for k in again.kernels]
    told = ", ".join(f"{name} = {size}" for name, size in given.items())
    under = (roof.machine.device.title, f"peak of {roof.dtype.name}, {roof.peak}", told, *roof.notes)
    return Waterfall(
        roof.title,
        _sum(p.at_roof for p in parts if not _again(p)),
        tuple(x for x in _losses(parts, waited) if x.seconds),
        overlap,
        "; ".join(text for text in under if text),
    )


def _part(roof: Roofline, kernel: Kernel, overlap: str, sizes: Mapping[str, Number]) -> _Part:
    matrix, vector, memory, launch = (exactly(x, sizes) for x in kernel.lanes)
    products = exactly(kernel.matmul_flops, sizes)
    together = max if overlap == "perfect" else _sum
    return _Part(
        kernel,
        products / Fraction(roof.peak.value),
        products / kernel.matrix.peak,
        exactly(kernel.rounded, sizes),
        together((matrix, vector)),
        together((matrix, vector, memory)),
        together((matrix, vector, memory, launch)),
    )


def _sum(seconds: Iterable[Fraction]) -> Fraction:
    return sum(seconds, Fraction(0))


def _again(part: _Part) -> bool:
    return part.kernel.phase == "recompute"


def _losses(parts: Sequence[_Part], communication: Fraction) -> list[Loss]:
    """Return the losses in order; each kernel's time is its share of the base and of exactly these."""
    once = [p for p in parts if not _again(p)]
    products = [p for p in once if p.at_own]
    families: dict[str, list[Fraction]] = {}
    for p in once:
        if not p.at_own:
            families.setdefault(p.kernel.family, []).append(p.busy)
    return [
        Loss("products in other formats", _sum(p.at_own - p.at_roof for p in products)),
        Loss("sizes rounded up to tiles", _sum(p.rounded - p.at_own for p in products)),
        Loss("other work in kernels of products", _sum(p.computing - p.rounded for p in products)),
        Loss("products that wait for memory", _sum(p.busy - p.computing for p in products)),
        *(Loss(f"no products: {family}", _sum(seconds)) for family, seconds in families.items()),
        Loss("recompute", _sum(p.busy for p in parts if _again(p))),
        Loss("launches", _sum(p.launched - p.busy for p in parts)),
        Loss("communication", communication),
    ]
