"""A small exact linear program: the lightest weights on arrays that cover every axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction


def cover(axes: Sequence[str], arrays: Sequence[frozenset[str]]) -> tuple[Fraction, Mapping[str, Fraction]]:
    """Return the least total weight of a fractional cover of the axes by the arrays, and the dual solution.

    The dual is solved, ``max sum(x_axis)`` with ``sum(x_axis over an array) <= 1`` for every array, since its slack
    basis is feasible from the start. Its solution is the tile: an axis of size ``M ** x``. Axes in the same arrays are
    one variable. Bland's rule, exact fractions.

    Examples
    --------
    >>> cover("ijk", [frozenset("ik"), frozenset("kj"), frozenset("ij")])[0]
    Fraction(3, 2)
    >>> cover("dk", [frozenset("dk"), frozenset("d"), frozenset("k")])[0]
    Fraction(1, 1)

    """
    groups: dict[tuple[bool, ...], str] = {}
    for axis in axes:
        groups.setdefault(tuple(axis in array for array in arrays), axis)
    rows = [
        [Fraction(inside[j]) for inside in groups] + [Fraction(i == j) for i in range(len(arrays))]
        for j in range(len(arrays))
    ]
    right = [Fraction(1)] * len(arrays)
    gains = [Fraction(1)] * len(groups) + [Fraction(0)] * len(arrays)
    basis = list(range(len(groups), len(groups) + len(arrays)))
    total = Fraction(0)
    while (entering := next((i for i, g in enumerate(gains) if g > 0), None)) is not None:
        ratios = [(right[j] / rows[j][entering], basis[j], j) for j in range(len(rows)) if rows[j][entering] > 0]
        _, _, leaving = min(ratios)
        total += _pivot(rows, right, gains, leaving, entering)
        basis[leaving] = entering
    tile = dict.fromkeys(axes, Fraction(0))
    for j, variable in enumerate(basis):
        if variable < len(groups):
            tile[list(groups.values())[variable]] = right[j]
    return total, tile


def _pivot(
    rows: list[list[Fraction]], right: list[Fraction], gains: list[Fraction], leaving: int, entering: int
) -> Fraction:
    """Bring one variable into the basis; return how much the total grows."""
    scale = rows[leaving][entering]
    rows[leaving] = [v / scale for v in rows[leaving]]
    right[leaving] /= scale
    for j, row in enumerate(rows):
        if j != leaving and (factor := row[entering]):
            rows[j] = [v - factor * w for v, w in zip(row, rows[leaving], strict=True)]
            right[j] -= factor * right[leaving]
    factor = gains[entering]
    gains[:] = [v - factor * w for v, w in zip(gains, rows[leaving], strict=True)]
    return factor * right[leaving]
