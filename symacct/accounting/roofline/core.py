"""The roofline of an account on a device: what bounds each kernel and the whole, as closed forms and in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from symacct.accounting.numbers import concrete
from symacct.accounting.regimes import Regimes
from symacct.accounting.roofline import render
from symacct.accounting.roofline.figures import RooflineFigures, exactly, figures
from symacct.accounting.roofline.lanes import Kernel, kernels_of
from symacct.accounting.roofline.machine import VECTOR, Machine, machine_of
from symacct.accounting.roofline.planes import bounds_of
from symacct.accounting.roofline.turning import Turn, turns
from symacct.accounting.totals import check_parted
from symacct.dtypes import AnyFormat
from symacct.expr import Expr, Sympy, add, collect_sizes, divide, maximum, minimum, multiply, sign, to_sympy
from symacct.hardware.utilisation import checked_utilisation
from symacct.units import Quantity, quantity

if TYPE_CHECKING:
    from symacct.accounting.core import Account


@dataclass(frozen=True, repr=False)
class Roofline:
    """What an account costs on a device: made by `Account.roofline`.

    Attributes
    ----------
    account
        What is computed.
    machine
        The device, and how its time is modelled.
    kernels
        The operations, each with the seconds of each engine as closed forms.

    Examples
    --------
    >>> import symacct as sa
    >>> square = sa.account("i j, j k -> i k", i="n", j="n", k="n", convention="exact")
    >>> roof = square.roofline("h100")
    >>> print(roof.ridge, roof.turns("n")[0], sep="; ")
    295.373 FLOP/B; i j, j k -> i k: intensity >= 295.373 for n >= 887

    """

    account: Account
    machine: Machine
    kernels: tuple[Kernel, ...]

    @property
    def title(self) -> str:
        """What the account is of: a pattern as it is, a function without what it takes."""
        title = self.account.title
        return title if self.account.order else title.partition("(")[0] or "graph"

    @cached_property
    def dtype(self) -> AnyFormat:
        """The format whose peak is the roof: of the products, the account's usual one where it multiplies in it."""
        multiplied = [k.dtype for k in self.kernels if k.dtype is not None]
        usual = self.machine.product_format((self.account.dtypes.usual,))
        if not multiplied and usual.name not in {p.dtype for p in self.machine.device.peaks}:
            return VECTOR  # nothing is multiplied, and in this format nothing could be
        return usual if not multiplied or usual in multiplied else multiplied[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """What the figures leave out."""
        counted = self.account.uncounted
        out = [f"{', '.join(counted)} not counted, so partial"] if counted else []
        exact = dict.fromkeys(k.label for k in self.kernels if k.rounding is None)
        return (*out, *([f"not rounded up to tiles: {', '.join(exact)}"] if exact else []))

    @property
    def peak(self) -> Quantity:
        """FLOP/s of the roof."""
        return self.machine.device.peak(self.dtype.name).speed

    @property
    def ridge(self) -> Quantity:
        """The intensity from which on the roof is flat: peak / bandwidth."""
        return self.peak / self.machine.device.bandwidth

    @property
    def attainable(self) -> Sympy:
        """The share of the peak that the memory lets through, ``min(1, intensity / ridge)``: the bound of MFU.

        Examples
        --------
        >>> import symacct as sa
        >>> sa.account(lambda x: sa.relu(x), x="n").roofline("h100").attainable
        67/79160

        """
        return minimum(1, divide(self.account.total("intensity"), Fraction(self.ridge.value)))

    @cached_property
    def busy(self) -> tuple[Expr, Expr, Expr, Expr]:
        """Seconds of the matrix engine, the vector engine, the memory and of launches, all kernels together."""
        lanes = [k.lanes for k in self.kernels]
        matrix, vector, memory, launch = (add([each[i] for each in lanes]) for i in range(4))
        return matrix, vector, memory, launch

    @property
    def bound(self) -> str | None:
        """What all takes longest for: ``"compute"``, ``"memory"`` or ``"launch"``; None where it depends on sizes."""
        return bound_of(self.busy)

    @property
    def overlapped(self) -> Sympy:
        """Seconds where every kernel hides all but its longest part behind that: the sum of the maxima."""
        return to_sympy(0) + sum(maximum(*k.lanes) for k in self.kernels)

    @property
    def serial(self) -> Sympy:
        """Seconds where nothing overlaps: the sum of everything."""
        return to_sympy(add(self.busy))

    def turns(self, axis: Any) -> tuple[Turn, ...]:
        """Return from which size on each kernel is bound by computing.

        Parameters
        ----------
        axis
            The size that varies.

        Raises
        ------
        UnknownAxisError
            For a size that is no name of the account.
        InconclusiveError
            Where there is no closed form.

        Examples
        --------
        >>> import symacct as sa
        >>> for turn in sa.account("b d, d k -> b k", d=4096, k=4096).roofline("h100").turns("b"):
        ...     print(turn)
        b d, d k -> b k: intensity >= 295.373 for b >= 346

        """
        return turns(self, axis)

    def at(self, *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> RooflineFigures:
        """Return times, bounds and intensities in numbers.

        Raises
        ------
        UndefinedSizeError
            Names the sizes that are missing.

        Examples
        --------
        >>> import symacct as sa
        >>> at = sa.account("i j, j k -> i k", i="n", j="n", k="n").roofline("h100").at(n=1024)
        >>> at.bound, float(at.overlapped), float(at.serial)
        ('compute', 2.1702714987367357e-06, 4.048318065900915e-06)

        """
        return figures(self, sizes, axes)

    def mfu(self, seconds: Any, *, sizes: Mapping[str, Any] | None = None, **axes: Any) -> float:
        """Return ``sum(products / peak of their format) / seconds``: the MFU of a measured time, formats mixed too.

        Parameters
        ----------
        seconds
            What was measured: seconds, text such as ``"3 ms"``, or what `symacct.measure` returned.
        sizes, **axes
            A number for every size.

        Raises
        ------
        UtilisationError
            Above 1, with what may be the cause.
        UndefinedSizeError
            Names the sizes that are missing.

        Examples
        --------
        >>> import symacct as sa
        >>> roof = sa.account("i j, j k -> i k", i="n", j="n", k="n").roofline("h100")
        >>> round(roof.mfu("1.4 ms", n=8192), 4)
        0.7937

        """
        taken = quantity(float(seconds) if hasattr(seconds, "__float__") else seconds, "s")
        given = concrete(self.account, collect_sizes(sizes, axes, self.account.names))
        at_peak = sum(exactly(k.matmul_flops, given) / k.matrix.peak for k in self.kernels if k.phase != "recompute")
        return checked_utilisation(float(at_peak / Fraction(taken.value)))

    def fused(self) -> Roofline:
        """Return the roofline with element-wise neighbours in one kernel, and each attention in one."""
        account = replace(self.account, fuse="pointwise+flash")
        return Roofline(account, self.machine, kernels_of(account, self.machine))

    def ideal(self) -> tuple[Expr, Expr, Expr, Expr]:
        """Return seconds of each lane where all is one kernel that reads its inputs and writes its outputs once."""
        matrix, vector, _, _ = self.busy
        moved = replace(self.account, traffic="compulsory").total("bytes")
        return matrix, vector, multiply(1 / self.machine.bandwidth, moved), self.machine.launch

    def regimes(
        self,
        *axes: Any,
        span: Mapping[str, tuple[int, int]] | None = None,
        sizes: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> Regimes:
        """Return what bounds the whole along one size, or in the plane of two, with the borders as formulas.

        Parameters
        ----------
        *axes
            One size or two.
        span
            From where to where a size goes, ``{"b": (1, 4096)}``; 1 to 65536 by default.
        sizes, **given
            A number for every other size.

        Examples
        --------
        >>> import symacct as sa
        >>> roof = sa.account("b d, d k -> b k").roofline("h100")
        >>> print(*roof.regimes("b", "d", k=8192).borders)
        products = memory at d = b*k*ridge/(b*k - b*ridge - k*ridge)

        """
        return bounds_of(self, axes, span, collect_sizes(sizes, given, self.account.names))

    def to_json(self) -> dict[str, Any]:
        """Return the roofline as JSON-able data with stable keys."""
        return render.roofline_json(self)

    def __str__(self) -> str:
        """Print the roofline as a table of at most 80 columns."""
        return render.roofline_table(self)

    __repr__ = __str__


def bound_of(lanes: tuple[Expr, Expr, Expr, Expr]) -> str | None:
    """Return what takes longest at all sizes: ``"compute"`` on either engine, ``"memory"``, ``"launch"``; or None."""
    named = zip(("compute", "compute", "memory", "launch"), lanes, strict=True)
    present = [(name, seconds) for name, seconds in named if seconds != 0]
    for name, seconds in present:
        signs = [sign(add((seconds, -other))) for rival, other in present if rival != name]
        if all(s is not None and s >= 0 for s in signs):
            return name
    return None


def roofline(account: Account, device: Any, **options: Any) -> Roofline:
    """See `Account.roofline`."""
    check_parted(account)
    machine = machine_of(device, **options)
    return Roofline(account, machine, kernels_of(account, machine))
