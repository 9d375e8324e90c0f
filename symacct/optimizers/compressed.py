"""Optimizers that keep less than a number an element: sums of rows and columns, and codes of 8 bits."""

from __future__ import annotations

from symacct.conventions import Work
from symacct.expr import Size, ceildiv, divide
from symacct.optimizers.elementwise import adam, adamw
from symacct.optimizers.value import STEP, Buffer, Optimizer, Shape, each, like, numel, together


def _rows(shape: Shape) -> Shape | None:
    return (*shape[:-1], 1) if len(shape) > 1 else None


def _columns(shape: Shape) -> Shape | None:
    return (*shape[:-2], 1, shape[-1]) if len(shape) > 1 else None


def _vector(shape: Shape) -> Shape | None:
    return shape if len(shape) < 2 else None


def adafactor() -> Optimizer:
    """Row and column means of g*g stand for their matrix: ``u = g / sqrt(clamp(R @ C / mean(R)))``.

    On the last two axes, r by c (n elements in all; n/c rows, n/r columns, n/(r*c) matrices), torch's algorithm:
    ``R += t*(mean of g*g over columns - R)``: a square and a sum of n, a division and a lerp of n/c; C likewise over
    n/r; ``R @ C``: a product with one summand, n multiplies; the mean of R and its clamp: a sum of n/c, a division and
    a comparison of n/(r*c); the quotient n; clamp, rsqrt and ``*g``: 3n; the norms of p and of u: a square and a sum of
    n each; ``p += a*u``: 2n. A tensor of one axis keeps ``v += t*(g*g - v)`` instead, 4n; the rest is the same.
    State: r + c numbers for a matrix of r*c.
    """

    def steps(shape: Shape) -> Work:
        n = numel(shape)
        norms = {**each(n, mul=2), ("reduce", "points"): 2 * n, ("reduce", "outputs"): 2, ("sqrt", "points"): 2}
        common = together(norms, each(n, max=1, rsqrt=1, mul=2, add=1))
        if len(shape) < 2:
            return together(common, each(n, mul=2, sub=1, add=1))
        rows, columns = divide(n, shape[-1]), divide(n, shape[-2])
        matrices = divide(rows, shape[-2])
        means = {("reduce", "points"): 2 * n + rows, ("reduce", "outputs"): rows + columns + matrices}
        sides = each(rows + columns, div=1, sub=1, mul=1, add=1)
        return together(common, each(n, mul=3, div=1), means, sides, each(matrices, div=1, max=1))

    state = (Buffer("row_var", _rows), Buffer("col_var", _columns), Buffer("variance", _vector), STEP)
    made = Buffer("temporary", like, "param")
    return Optimizer("adafactor", state, steps, {"foreach": ((made,),), "forloop": ((made, made),)})


BLOCK = 256
"""How many values share a scale, as in bitsandbytes."""


def adam8bit(*, decoupled: bool = False, block: int = BLOCK) -> Optimizer:
    """Adam (or AdamW) whose two moments are codes of 8 bits with an fp32 scale a `block` of values.

    Besides Adam's operations, for each moment: a code is looked up and multiplied with its scale, 1; the new value's
    magnitude, 1, goes into the largest of its block, a comparison a value; it is divided by that, 1; and the nearest of
    256 codes is found among 255 midpoints by halving, 8 comparisons. State: 2 + 8/block bytes an element.
    """
    plain = adamw() if decoupled else adam()

    def blocks(shape: Shape) -> tuple[Size]:
        return (ceildiv(numel(shape), block),)  # type: ignore[return-value] # of a size and a number

    def steps(shape: Shape) -> Work:
        n = numel(shape)
        largest = {("reduce", "points"): 2 * n, ("reduce", "outputs"): 2 * blocks(shape)[0]}
        return together(plain.work(shape), each(n, mul=2, abs=2, div=2, compare=16), largest)

    moments = [Buffer(name, like, "uint8") for name in ("exp_avg", "exp_avg_sq")]
    scales = [Buffer(f"scales of {m.name}", blocks, "fp32") for m in moments]
    note = "all tensors in 8 bits; bitsandbytes keeps those below 4096 values, and its table of codes, in fp32"
    return Optimizer(f"{plain.name}8bit", (*moments, *scales), steps, {"fused": ((),)}, note)
