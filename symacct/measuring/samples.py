"""What a measurement is: samples, their median and spread, and what casts doubt on them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from symacct.units import duration

WIDE = 0.10
"""The spread above which a figure is marked: its quartiles lie further apart than a tenth of the median."""

DRIFT = 0.05
"""By how much the last third of the samples may be slower than the first before throttling is suspected."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Seconds a call, sample by sample, and how they were taken.

    Attributes
    ----------
    samples
        Seconds a call, in the order in which they were taken.
    device
        ``"cpu"`` or ``"cuda"``.
    cold
        Whether caches were emptied before each sample.
    notes
        What casts doubt on the figure, such as constant inputs or a GPU that reports a power cap.

    Examples
    --------
    >>> steady = Measurement((1.0e-3, 1.01e-3, 1.02e-3, 1.03e-3, 1.04e-3), "cpu", cold=True)
    >>> print(steady)
    1.02 ms (5 samples on cpu, cold caches, spread 2.0 %)
    >>> print(Measurement((1.0e-3, 1.0e-3, 2.0e-3, 4.0e-3, 9.0e-3), "cpu", cold=True))
    2 ms (5 samples on cpu, cold caches, spread 150.0 %)
      TOO WIDE: half of the samples lie between 1 ms and 4 ms

    """

    samples: tuple[float, ...]
    device: str
    cold: bool
    notes: tuple[str, ...] = ()

    @property
    def median(self) -> float:
        """The middle of the samples, in seconds."""
        return median(self.samples)

    @property
    def best(self) -> float:
        """The shortest sample, in seconds."""
        return min(self.samples)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The bounds of the middle half of the samples, in seconds."""
        if len(self.samples) < 2:
            return self.samples[0], self.samples[0]
        low, _, high = quantiles(self.samples, n=4, method="inclusive")
        return low, high

    @property
    def spread(self) -> float:
        """How far the quartiles lie apart, as a share of the median."""
        low, high = self.quartiles
        return (high - low) / self.median

    @property
    def drift(self) -> float:
        """By what share the last third of the samples is slower than the first; 0 for fewer than nine samples."""
        third = len(self.samples) // 3
        return median(self.samples[-third:]) / median(self.samples[:third]) - 1 if third >= 3 else 0.0

    @property
    def _parted(self) -> bool:
        """Whether three quarters of the last third are slower than three quarters of the first."""
        third = len(self.samples) // 3
        return quantiles(self.samples[-third:], n=4)[0] > quantiles(self.samples[:third], n=4)[2]

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why not to rely on the figure, a sentence each; none for a good one."""
        out = []
        if self.spread > WIDE:
            low, high = self.quartiles
            out.append(f"TOO WIDE: half of the samples lie between {duration(low)} and {duration(high)}")
        if self.drift > DRIFT and self._parted:
            out.append(f"SLOWED DOWN by {self.drift:.0%} from the first third to the last: the machine throttles?")
        return (*out, *self.notes)

    def __float__(self) -> float:
        """Return the median in seconds."""
        return self.median

    def __str__(self) -> str:
        """Print the median with the spread; what casts doubt on it stands below."""
        caches = "cold" if self.cold else "warm"
        count = len(self.samples)
        told = f"{count} sample{'s' * (count > 1)} on {self.device}, {caches} caches, spread {self.spread:.1%}"
        head = f"{duration(self.median)} ({told.replace('%', ' %')})"
        return "\n  ".join([head, *self.doubts])

    def to_json(self) -> dict[str, Any]:
        """Return the statistics and the samples as JSON-able data."""
        return {
            "seconds": self.median,
            "best": self.best,
            "quartiles": list(self.quartiles),
            "spread": self.spread,
            "drift": self.drift,
            "device": self.device,
            "cold": self.cold,
            "doubts": list(self.doubts),
            "samples": list(self.samples),
        }
