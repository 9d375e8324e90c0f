"""Figures with their sources, and what they are of: peaks by dtype, sums, engine and sparsity, and links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from symacct.units import Quantity

Engine: TypeAlias = Literal["matrix", "vector"]
Evidence: TypeAlias = Literal["seen", "recalled", "measured", "stated"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
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
