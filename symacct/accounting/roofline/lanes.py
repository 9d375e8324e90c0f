"""What keeps each kernel busy, as closed forms in seconds: products, element-wise work, memory, and its launch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.accounting.roofline.machine import VECTOR, Machine
from symacct.accounting.steps import Step, counts_of, one_unit
from symacct.accounting.walk import Visit
from symacct.conventions import MATMUL, Work, matmul_work
from symacct.dtypes import AnyFormat
from symacct.errors import MixedUnitsError
from symacct.expr import Expr, add, ceildiv, multiply, product

if TYPE_CHECKING:
    from symacct.accounting.core import Account

LANES = ("matrix", "vector", "memory", "launch")


@dataclass(frozen=True, slots=True)
class Kernel:
    """One operation, or several that are fused, all its runs together; times are in seconds.

    Attributes
    ----------
    label, family, phase
        What it is, for tables: phase is ``"fwd"``, ``"bwd"`` or ``"recompute"``.
    dtype
        The format of its products, None where it has none.
    flops, matmul_flops, bytes
        What it computes and moves.
    matrix, vector, memory, launch
        How long the matrix engine, the vector engine, the memory and the launches are busy.
    rounded
        As `matrix`, with sizes rounded up to tiles, and tiles to waves; equal to it where no tile is given.
    """

    label: str
    family: str
    phase: str
    dtype: AnyFormat | None
    flops: Expr
    matmul_flops: Expr
    bytes: Expr
    matrix: Expr
    vector: Expr
    memory: Expr
    launch: Expr
    rounded: Expr

    @property
    def lanes(self) -> tuple[Expr, Expr, Expr, Expr]:
        """What can go on at the same time."""
        return self.rounded, self.vector, self.memory, self.launch

    @property
    def is_free(self) -> bool:
        """Whether it computes and moves nothing, as views do; then nothing is launched either."""
        return self.flops == 0 and self.bytes == 0


def kernels_of(account: Account, machine: Machine) -> tuple[Kernel, ...]:
    """Return the kernels of an account, in order, those that are free left out.

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
    found = (_kernel(step, account, machine) for step in account.steps)
    return tuple(k for k in found if not k.is_free)


def _kernel(step: Step, account: Account, machine: Machine) -> Kernel:
    products = matmul_work(step.work)
    matmul_flops = _flops(products, account)
    rest = _flops({key: n for key, n in step.work.items() if key not in products}, account)
    formats = _formats(step.parts, account)
    dtype = machine.product_format(formats) if products else None
    matrix = _seconds(matmul_flops, machine.matrix_peak(dtype)) if dtype is not None else 0
    if machine.engines == "matrix":
        roof = dtype or machine.product_format(formats or (account.dtypes.usual,))
        vector, matrix = 0, add((matrix, _seconds(rest, machine.matrix_peak(roof))))
    else:
        vector = _seconds(rest, machine.vector_peak(_widest(formats))) if rest != 0 else 0
    rounded = multiply(matrix, _rounding(step, machine)) if matmul_flops != 0 else matrix
    moved = add([step.bytes])
    launches = step.times if moved != 0 or step.work else 0
    return Kernel(
        step.label,
        step.family,
        _phase(step.parts),
        dtype,
        add((matmul_flops, rest)),
        matmul_flops,
        moved,
        matrix,
        vector,
        _seconds(moved, machine.bandwidth),
        multiply(machine.launch, launches),
        rounded,
    )


def _flops(work: Work, account: Account) -> Expr:
    return one_unit(counts_of([work], account.convention), account.convention)


def _seconds(amount: Expr, rate: Fraction) -> Expr:
    return multiply(1 / rate, amount)


def _formats(parts: Iterable[Visit], account: Account) -> tuple[AnyFormat, ...]:
    """Return the formats of what the operations take."""
    return tuple(account.dtypes.of(v.graph.tensors[i]) for v in parts for i in v.op.inputs)


def _widest(formats: tuple[AnyFormat, ...]) -> AnyFormat:
    floats = [f for f in formats if getattr(f, "is_float", True)]
    return max(floats, key=lambda f: Fraction(f.itemsize), default=VECTOR)


def _phase(parts: Iterable[Visit]) -> str:
    """Return the phase of operations that run as one: the first that is not forward, if any."""
    return next((v.op.phase for v in parts if v.op.phase != "fwd"), "fwd")


def _rounding(step: Step, machine: Machine) -> Expr:
    """Return by what factor rounding to tiles and waves makes the products of a step longer."""
    from symacct.expr import divide

    if machine.tile is None:
        return 1
    exact, rounded = [], []
    for count, m, n, k in (shape for visit in step.parts for shape in products_of(visit)):
        rows, columns = (ceildiv(size, side) for size, side in zip((m, n), machine.tile, strict=True))
        tiles = product((count, rows, columns))
        if machine.units is not None:
            tiles = multiply(machine.units, ceildiv(tiles, machine.units))
        exact.append(product((count, m, n, k)))
        rounded.append(product((tiles, *machine.tile, k)))
    return divide(add(rounded), add(exact)) if exact else 1


def products_of(visit: Visit) -> Iterator[tuple[Expr, Expr, Expr, Expr]]:
    """Yield the matrix products of an operation: how many, and m, n and k of each.

    Of an einsum of two operands: m are the axes of the first alone, n of the second alone, k those that are summed,
    and the axes of all three count the products. Other kinds of operations have none that are known here.
    """
    e = visit.op.einsum
    if e is None or len(e.operands) != 2 or e.nest:
        return
    first, second, out = set(e.operands[0]), set(e.operands[1]), set(e.output)
    if first & second - out:
        yield e.size(first & second & out), e.size(first & out - second), e.size(second & out - first), e.size(
            first & second - out
        )


__all__ = ["LANES", "MATMUL", "Kernel", "kernels_of", "products_of"]
