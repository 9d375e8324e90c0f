"""A device as exact rates: what each format multiplies and computes a second, what moves, and what a kernel costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from symacct.dtypes import AnyFormat, BlockFormat, Format, as_format
from symacct.errors import ConventionError, DtypeError, HardwareError, SizeError, one_of
from symacct.hardware import Device, device
from symacct.units import quantity

Engines: TypeAlias = Literal["apart", "matrix"]
ENGINES: tuple[Engines, ...] = ("apart", "matrix")

VECTOR = as_format("fp32")
"""The format in which element-wise work is computed, whatever narrower one it is stored in."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A device and how its time is modelled.

    Attributes
    ----------
    device
        Its peaks and bandwidth.
    compute
        The format of products; None for the widest of each product's operands.
    engines
        ``"apart"``: products on the matrix engine, all else on the vector engine; ``"matrix"``: all on one roof.
    launch
        Seconds to start a kernel.
    tile
        Rows and columns of the output that a product computes at once; sizes are rounded up to it. None: exact sizes.
    units
        How many tiles run at once; their number is rounded up to whole waves. None: no waves.
    """

    device: Device
    compute: str | None = None
    engines: Engines = "apart"
    launch: Fraction = Fraction(0)
    tile: tuple[int, int] | None = None
    units: int | None = None

    @property
    def bandwidth(self) -> Fraction:
        """Bytes a second."""
        return Fraction(self.device.bandwidth.value)

    def product_format(self, operands: tuple[AnyFormat, ...]) -> AnyFormat:
        """Return the format in which operands are multiplied: the one asked for, else the widest of them.

        Raises
        ------
        DtypeError
            If operands are stored wider than the format asked for: nothing says that they are rounded.

        """
        floats = [f for f in operands if is_floating(f)] or list(operands)
        widest = max(floats, key=bits_of)
        if self.compute is None:
            return widest
        chosen = as_format(self.compute)
        if bits_of(chosen) < bits_of(widest):
            msg = (
                f"the peak asked for is of {chosen.name}, but operands are stored in {widest.name}; account for them "
                f"with dtype={chosen.name!r}, or cast them in the function"
            )
            raise DtypeError(msg)
        return chosen

    def matrix_peak(self, dtype: AnyFormat) -> Fraction:
        """Return FLOP/s of products of a format."""
        return Fraction(self.device.peak(dtype.name).speed.value)

    def vector_peak(self, dtype: AnyFormat = VECTOR) -> Fraction:
        """Return FLOP/s of element-wise work; formats narrower than fp32 are computed in fp32."""
        wide = dtype if is_floating(dtype) and bits_of(dtype) > bits_of(VECTOR) else VECTOR
        try:
            return Fraction(self.device.peak(wide.name, engine="vector").speed.value)
        except HardwareError as error:
            msg = f"{error}; engines='matrix' puts all work on the roof of products"
            raise HardwareError(msg) from None


def _plain(dtype: AnyFormat) -> Format:
    """Return the format of an element; blocks share scales besides."""
    return dtype.element if isinstance(dtype, BlockFormat) else dtype


def is_floating(dtype: AnyFormat) -> bool:
    """Whether an element has an exponent."""
    return _plain(dtype).is_float


def bits_of(dtype: AnyFormat) -> int:
    """Return how many bits an element takes in memory, scales left out."""
    return _plain(dtype).stored_bits


def machine_of(
    chosen: str | Device,
    *,
    compute: str | None = None,
    engines: str = "apart",
    launch: Any = 0,
    tile: Any = None,
    units: int | None = None,
) -> Machine:
    """Check and return a machine.

    Raises
    ------
    HardwareError
        For an unknown device.
    ConventionError
        For unknown engines.
    SizeError
        For a launch time below zero, tiles or units that are no positive integers, or units without a tile.
    UnitError, MixedUnitsError
        For a launch time that is no time.

    """
    found = device(chosen) if isinstance(chosen, str) else chosen
    if not isinstance(found, Device):
        msg = f"{chosen!r} is no device; give a name such as 'h100', or what symacct.device or calibrate returned"  # type: ignore[unreachable]
        raise ConventionError(msg)
    if engines not in ENGINES:
        msg = f"unknown engines {engines!r}; known: {one_of(ENGINES)}"
        raise ConventionError(msg)
    sides = (tile, tile) if isinstance(tile, int) else tile
    whole: Callable[[Any], bool] = lambda n: type(n) is int and n > 0  # noqa: E731
    if sides is not None and not (isinstance(sides, tuple | list) and len(sides) == 2 and all(map(whole, sides))):
        msg = f"a tile of {tile!r}; it is two positive integers such as (128, 256), or one for a square"
        raise SizeError(msg)
    if units is not None and (sides is None or not whole(units)):
        msg = f"{units!r} units; it is how many tiles run at once, a positive integer beside tile=(128, 128)"
        raise SizeError(msg)
    seconds = Fraction(quantity(launch, "s").value)
    return Machine(found, compute, engines, seconds, None if sides is None else (sides[0], sides[1]), units)
