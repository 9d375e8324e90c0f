"""What keeps each kernel busy, as closed forms: the matrix engine, the vector engine, the memory, and its launch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.accounting.roofline.machine import VECTOR, Machine, bits_of, is_floating
from symacct.accounting.roofline.tiles import rounding
from symacct.accounting.steps import Step, counts_of, one_unit
from symacct.accounting.walk import Visit
from symacct.conventions import Work, matmul_work
from symacct.dtypes import AnyFormat
from symacct.errors import MixedUnitsError
from symacct.expr import Expr, add, multiply
from symacct.rules import rule_of

if TYPE_CHECKING:
    from symacct.accounting.core import Account


@dataclass(frozen=True, slots=True)
class Lane:
    """Work for one engine and its peak: ``flops / peak`` seconds."""

    flops: Expr
    peak: Fraction

    @property
    def seconds(self) -> Expr:
        """How long the engine is busy."""
        return multiply(1 / self.peak, self.flops) if self.flops != 0 else 0


IDLE = Lane(0, Fraction(1))


@dataclass(frozen=True, slots=True)
class Kernel:
    """One operation, or several that are fused, all its runs together.

    Attributes
    ----------
    label, family, phase
        What it is, for tables; the phase is ``"fwd"``, ``"bwd"`` or ``"recompute"``.
    dtype
        The format of its products, None where it has none.
    matmul_flops, bytes
        Its products, which are what MFU speaks of, and what it moves.
    matrix, vector
        The work of the two engines.
    memory, launch
        Seconds of moving and of launching.
    rounding
        By what factor products take longer since sizes are rounded up to tiles, and tiles to waves; None where a tile
        is given and the kernel has tiles of its own (see `symacct.accounting.roofline.tiles`).
    """

    label: str
    family: str
    phase: str
    dtype: AnyFormat | None
    matmul_flops: Expr
    bytes: Expr
    matrix: Lane
    vector: Lane
    memory: Expr
    launch: Expr
    rounding: Expr | None = 1

    @property
    def flops(self) -> Expr:
        """Everything that is computed."""
        return add((self.matrix.flops, self.vector.flops))

    @property
    def rounded(self) -> Expr:
        """Seconds of products, sizes rounded up."""
        products = multiply(1 / self.matrix.peak, self.matmul_flops)
        return multiply(1 if self.rounding is None else self.rounding, products)

    @property
    def lanes(self) -> tuple[Expr, Expr, Expr, Expr]:
        """Seconds of what can go on at the same time: matrix, vector, memory, launch."""
        others = multiply(1 / self.matrix.peak, add((self.matrix.flops, -self.matmul_flops)))
        return add((self.rounded, others)), self.vector.seconds, self.memory, self.launch


def kernels_of(account: Account, machine: Machine) -> tuple[Kernel, ...]:
    """Return the kernels of an account, in order; what computes and moves nothing, as views do, is none.

    Raises
    ------
    MixedUnitsError
        For an account in MACs.
    HardwareError
        Where the device has no peak of a format that is multiplied or computed.

    """
    if account.convention.contraction == "mac":
        msg = "peaks are in FLOP/s, the account counts MACs; account under a convention that counts operations"
        raise MixedUnitsError(msg)
    return tuple(_kernel(step, account, machine) for step in account.steps if step.work or step.bytes != 0)


def _kernel(step: Step, account: Account, machine: Machine) -> Kernel:
    products = matmul_work(step.work)
    matmul_flops = _flops(products, account)
    rest = _flops({key: n for key, n in step.work.items() if key not in products}, account)
    formats = _formats(step.parts, account)
    dtype = machine.product_format(formats) if matmul_flops != 0 else None
    matrix = Lane(matmul_flops, machine.matrix_peak(dtype)) if dtype is not None else IDLE
    vector = IDLE
    if rest != 0 and machine.engines == "matrix":
        roof = dtype or machine.product_format(formats or (account.dtypes.usual,))
        matrix = Lane(add((matmul_flops, rest)), machine.matrix_peak(roof))
    elif rest != 0:
        vector = Lane(rest, machine.vector_peak(_widest(formats)))
    moved = add([step.bytes])
    return Kernel(
        step.label,
        step.family,
        step.phase,
        dtype,
        matmul_flops,
        moved,
        matrix,
        vector,
        multiply(1 / machine.bandwidth, moved),
        multiply(machine.launch, multiply(_launches(step, account), step.times)),
        rounding(step, machine, flash="flash" in account.fuse),
    )


def _flops(work: Work, account: Account) -> Expr:
    return one_unit(counts_of([work], account.convention), account.convention)


def _formats(parts: Iterable[Visit], account: Account) -> tuple[AnyFormat, ...]:
    """Return the formats of what the operations take."""
    return tuple(account.dtypes.of(v.graph.tensors[i], v.graph) for v in parts for i in v.op.inputs)


def _widest(formats: Iterable[AnyFormat]) -> AnyFormat:
    return max((f for f in formats if is_floating(f)), key=bits_of, default=VECTOR)


def _launches(step: Step, account: Account) -> int:
    """Return how many kernels a step is: an attention that is not one writes its scores between its kernels."""
    if "flash" in account.fuse:
        return 1
    return 1 + sum(s.writes != 0 for v in step.parts for s in rule_of(v.op).spills(v.op, v.graph))
