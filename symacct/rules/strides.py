"""Where elements lie in memory: which reshapes are views, as torch decides it, for sizes that are still names."""

from __future__ import annotations

import itertools

from symacct.expr import Expr, Size, product
from symacct.rules.rule import contiguous

Strides = tuple[Expr, ...]


def view_strides(old: tuple[Size, ...], strides: Strides, new: tuple[Size, ...]) -> Strides | None:
    """Return the strides of a reshape without copying, or None where it needs a copy.

    Axes fall into groups at which the products of old and of new sizes meet; a group is a view where its old axes
    follow each other in memory, ``stride_i = size_(i+1) * stride_(i+1)``. Sizes are equal only as they are written:
    where two products of different names happen to agree at some sizes, torch may find a view that this does not.

    Parameters
    ----------
    old, strides
        The sizes of a tensor and its strides in elements.
    new
        The sizes it is to have; their product is the same.

    Examples
    --------
    >>> from symacct.expr import name
    >>> b, s, d = name("b"), name("s"), name("d")
    >>> view_strides((b, s, d), (s * d, d, 1), (b * s, d))
    (d, 1)
    >>> view_strides((s, b, d), (d, s * d, 1), (s * b, d)) is None
    True

    """
    old_axes = [(s, t) for s, t in zip(old, strides, strict=True) if s != 1]
    out: list[Expr] = []
    at = 0
    for count, sizes in _groups([s for s, _ in old_axes], new):
        block = old_axes[at : at + count]
        at += count
        if any(a[1] != b[0] * b[1] for a, b in itertools.pairwise(block)):
            return None
        step: Expr = block[-1][1] if block else 1
        own: list[Expr] = []
        for size in reversed(sizes):
            own.append(step)
            step = step * size
        out += reversed(own)
    return tuple(out)


def _groups(old: list[Size], new: tuple[Size, ...]) -> list[tuple[int, list[Size]]]:
    """Return, group by group, how many old axes and which new sizes have the same product."""
    meet: dict[Expr, int] = {}
    for i in range(len(old) + 1):
        meet[product(old[:i])] = i
    out: list[tuple[int, list[Size]]] = []
    done, sizes, running = 0, [], 1
    for size in new:
        sizes.append(size)
        running = running * size  # type: ignore[assignment]
        if running in meet and (size != 1 or meet[running] > done):
            out.append((meet[running] - done, sizes))
            done, sizes = meet[running], []
    if sizes or done < len(old):
        out.append((len(old) - done, sizes))
    return out


def plain(shape: tuple[Size, ...], strides: Strides) -> Strides | None:
    """Return None for strides that are those of a contiguous tensor; strides of axes of size 1 do not matter."""
    same = all(size == 1 or a == b for size, a, b in zip(shape, strides, contiguous(shape), strict=True))
    return None if same else strides
