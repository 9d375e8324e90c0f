"""The questions one asks of an account about its time on a device; `Account` has them as its methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symacct.accounting.numbers import together

if TYPE_CHECKING:
    from symacct.accounting.core import Account
    from symacct.accounting.roofline import Roofline
    from symacct.accounting.roofline.losses import Waterfall


class OnDevices:
    """Methods alone, in a file of their own since their explanations are long."""

    __slots__ = ()

    def roofline(
        self: Any,
        device: Any,
        *,
        compute: str | None = None,
        engines: str = "apart",
        launch: Any = 0,
        tile: Any = None,
        units: int | None = None,
    ) -> Roofline:
        """Return what bounds each operation on a device: ``max(flops / peak, bytes / bandwidth)`` seconds at best.

        Parameters
        ----------
        device
            A name such as ``"h100"``, a TOML file, or a `Device`, such as `symacct.calibrate` measures.
        compute
            The format of products; by default the widest of each product's operands.
        engines
            ``"apart"``: products on the matrix engine, all else on the vector engine in fp32 or wider; ``"matrix"``:
            everything on the one roof, as in the lecture.
        launch
            How long it takes to launch a kernel: seconds, or text such as ``"5 us"``.
        tile, units
            Products are computed in tiles such as ``(128, 256)``, `units` at once: sizes are rounded up, of
            convolutions as the products that they are computed as. Attention in one kernel and experts have tiles of
            their own: they are said not to be.

        Returns
        -------
        `Roofline`: closed forms with `ridge`, `attainable`, `bound`, `turns`; in numbers with ``at(n=1024)``.

        Raises
        ------
        HardwareError
            For an unknown device, or one without the peak that is needed; lists those that it has.
        DtypeError
            Where `compute` is narrower than operands are stored.
        MixedUnitsError
            For an account in MACs.
        ConventionError
            Under compulsory traffic, which is of no operation; it is what the row `ideal` moves.

        Examples
        --------
        >>> import symacct as sa
        >>> def layer(x: "b d", w: "d k"):
        ...     return sa.relu(x @ w)
        >>> print(sa.account(layer).roofline("h100").at(b=4096, d=4096, k=4096))
         kernel            FLOP/B   bound     of peak   time       share
         b d, d k -> b k   1365     compute   100.0%    138.9 us   87.4%
         relu              0.25     memory    1.2%      20.03 us   12.6%
        <BLANKLINE>
         run      overlapped   one after the other
         per op   158.9 us     189.2 us
         fused    158.9 us     189.2 us
         ideal    138.9 us     169.2 us
        <BLANKLINE>
         NVIDIA H100 SXM5; products in bf16; b = 4096, d = 4096, k = 4096

        """
        from symacct.accounting.roofline import roofline

        return roofline(self, device, compute=compute, engines=engines, launch=launch, tile=tile, units=units)

    def mfu_bound(
        self: Any,
        device: Any,
        *,
        overlap: str = "perfect",
        communication: Any = 0,
        recompute: Account | None = None,
        compute: str | None = None,
        engines: str = "apart",
        launch: Any = 0,
        tile: Any = None,
        units: int | None = None,
        sizes: Mapping[str, Any] | None = None,
        **axes: Any,
    ) -> Waterfall:
        """Return why not more: the products at the peak, what each loss adds, and the MFU that is left.

        Parameters
        ----------
        device, compute, engines, launch, tile, units
            As in `roofline`.
        overlap
            ``"perfect"``: a kernel takes as long as its longest part; ``"none"``: its parts follow one another.
        communication
            How long communication takes that nothing hides: seconds, or text.
        recompute
            An account of what runs again besides: with everything checkpointed, the forward pass of a step.
        sizes, **axes
            A number for every size.

        Returns
        -------
        `Waterfall`: `base`, `losses`, `seconds` and `mfu`. The MFU is of products alone, recompute left out.

        Raises
        ------
        UndefinedSizeError
            Names the sizes that are missing; and as `roofline`.

        Notes
        -----
        A kernel with products takes ``max(products / peak, other work / vector peak, bytes / bandwidth)``. Its share
        of the base is its products at the roof's peak; the rest of its time is one of the losses, each measured from
        where the one before ended, so that base and losses are the time exactly. Of a step of training:
        ``step = account.training()``, then ``step.total.mfu_bound(..., recompute=step.forward)``.

        Examples
        --------
        >>> import symacct as sa
        >>> def layer(x: "b d", w: "d k"):
        ...     return sa.relu(x @ w)
        >>> print(sa.account(layer).mfu_bound("h100", b=4096, d=4096, k=4096))
        layer
         part                     time       MFU      left
         products at the peak     138.9 us            100.0%
         no products: pointwise   20.03 us   -12.6%   87.4%
         predicted                158.9 us            87.4%
        <BLANKLINE>
         NVIDIA H100 SXM5; peak of bf16, 989.500 TFLOP/s; b = 4096, d = 4096, k = 4096;
         with perfect overlap, so a bound

        """
        from symacct.accounting.roofline import roofline
        from symacct.accounting.roofline.losses import waterfall

        options = {"compute": compute, "engines": engines, "launch": launch, "tile": tile, "units": units}
        again = None if recompute is None else roofline(recompute, device, **options)
        return waterfall(roofline(self, device, **options), overlap, communication, together(sizes, axes), again)
