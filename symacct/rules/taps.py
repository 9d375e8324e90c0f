"""How many taps a sliding window has, and how many of them fall on elements and not on padding, along one axis.

Window o has its tap j at place ``o*stride + j*dilation``; the n elements lie at the places from `padding` on. Taps in
front of them are as many as ``sum over j of ceil((padding - j*dilation) / stride)``; those behind are counted the same
way from the other end. Two taps share a place where the window moves on by ``dilation/g`` and the tap back by
``stride/g`` (g their common divisor), so that places are taps less such pairs. An element without a tap is not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import NamedTuple

from symacct.conventions import Key, Work
from symacct.expr import Expr, Poly, Size, add, at_most, ceildiv, multiply, product
from symacct.graph import Condition, Graph
from symacct.rules.rule import Read, whole


class Slide(NamedTuple):
    """A window of `kernel` taps put down `windows` times along `n` elements with as much padding at both ends.

    `hangs` says that a last window may reach behind the padding.
    """

    n: Size
    kernel: Size
    windows: Size
    stride: Size
    padding: Size
    dilation: Size
    hangs: bool = False

    @property
    def taps(self) -> Expr:
        """All taps, on elements or on padding."""
        return multiply(self.kernel, self.windows)

    @property
    def behind(self) -> Expr:
        """How many places behind the last element the last window reaches; less than none where it stops before."""
        end = (multiply(self.windows - 1, self.stride), multiply(self.kernel - 1, self.dilation), 1)
        return add((*end, -self.padding, -self.n))

    @property
    def shared(self) -> tuple[Size, Size] | None:
        """By how many windows and taps two taps at one place are apart; None where names leave it open."""
        if self.dilation == 1 or self.stride == 1:
            return self.dilation, self.stride
        if self.dilation == self.stride:
            return 1, 1
        if type(self.stride) is int and type(self.dilation) is int:
            g = gcd(self.stride, self.dilation)
            return self.dilation // g, self.stride // g
        return None

    @property
    def steps_in_numbers(self) -> bool:
        """Whether stride and dilation are numbers."""
        return type(self.stride) is int and type(self.dilation) is int


def real_taps(x: Slide) -> Expr | None:
    """Return the taps that fall on elements, None where there is no closed form.

    There is one where nothing is padded; for a kernel and padding in numbers; and for any at stride and dilation 1,
    ``kernel*windows - padding*(padding + 1)``.
    """
    if x.padding == 0 and not x.hangs:
        return x.taps
    if type(x.kernel) is int and type(x.padding) is int and x.steps_in_numbers:
        if type(x.behind) is int:
            return _inside(x, x.padding, x.behind)
        return add(_of_tap(x, x.kernel, x.padding, j) for j in range(x.kernel))
    if x.stride == x.dilation == 1 and x.behind == x.padding:
        return add((x.taps, -(x.padding * x.padding + x.padding)))
    return None


def _inside(x: Slide, before: int, behind: int) -> Expr:
    assert type(x.kernel) is int
    outside = (_outside(x, reach, j) for reach in (before, behind) for j in range(x.kernel))
    return add((x.taps, *(-taps for taps in outside)))


def _outside(x: Slide, reach: int, j: int) -> int:
    """Return how many windows have tap j (from that end) among the `reach` places outside the elements."""
    assert type(x.stride) is int
    assert type(x.dilation) is int
    taps = max(0, -(-(reach - j * x.dilation) // x.stride))
    return min(taps, x.windows) if type(x.windows) is int else taps


def _of_tap(x: Slide, kernel: int, padding: int, j: int, more: int = 0) -> Expr:
    """Return how many windows have tap j on an element, where `n` is a name and windows are what fits, or hang over.

    `more` windows besides: those of which a later tap falls on the places of tap j.
    """
    assert type(x.stride) is int
    assert type(x.dilation) is int
    place, last, over = j * x.dilation, (kernel - 1) * x.dilation, x.stride - 1 if x.hangs else 0
    up_to = ceildiv(x.n + min(2 * padding - last + over + more * x.stride, padding - place), x.stride)
    return add((up_to, -max(0, -(-(padding - place) // x.stride))))


def _of_all_taps(x: Slide, kernel: int, padding: int) -> Expr:
    """Return the elements that have a tap, where `n` is a name: taps that fall on the same places together."""
    assert type(x.stride) is int
    assert type(x.dilation) is int
    together: dict[int, list[int]] = {}
    for j in range(kernel):
        together.setdefault(j * x.dilation % x.stride, []).append(j)
    return add(
        _of_tap(x, kernel, padding, taps[0], (taps[-1] - taps[0]) * x.dilation // x.stride)
        for taps in together.values()
    )


def places(x: Slide) -> Expr | None:
    """Return the different places, padding too, that have a tap; None where there is no closed form."""
    if x.shared is None:
        return None
    windows, kernel = x.windows - x.shared[0], x.kernel - x.shared[1]
    return add((x.taps, -multiply(_at_least_none(windows), _at_least_none(kernel))))


def real_places(x: Slide) -> Expr | None:
    """Return the elements that have a tap, None where there is no closed form."""
    if x.padding == 0 and not x.hangs:
        return places(x)
    if x.stride == x.dilation == 1:
        return x.n
    taps = real_taps(x)
    if taps is None or x.shared is None or type(x.kernel) is not int or type(x.padding) is not int:
        return None
    step, back = x.shared
    assert type(x.stride) is type(x.dilation) is type(step) is type(back) is int
    if type(x.behind) is not int:
        reach = x.kernel if x.hangs else min(x.kernel, x.padding + 1)
        return x.n if x.dilation == 1 and x.stride <= reach else _of_all_taps(x, x.kernel, x.padding)
    rest = x._replace(windows=_at_least_none(x.windows - step), kernel=_at_least_none(x.kernel - back))
    twice = _inside(rest, x.padding - step * x.stride, x.behind - back * x.dilation)
    return add((taps, -twice))


def real_windows(x: Slide) -> Expr | None:
    """Return the windows that have a tap on an element: all, unless padding is as wide as they are.

    None where there is no closed form; where names leave open how wide they are, all, see `conditions`.
    """
    if x.padding == 0 and not x.hangs:
        return x.windows
    last = multiply(x.kernel - 1, x.dilation)
    if not at_most(x.dilation, x.n) and not isinstance(x.n, Poly):
        return _windows_one_by_one(x)
    if at_most(x.padding, last) or isinstance(add((last, -x.padding)), Poly):
        return x.windows
    if type(last) is not int or type(x.padding) is not int or type(x.behind) is not int or not x.steps_in_numbers:
        return None
    gone = [_outside(x, reach - last, 0) for reach in (x.padding, x.behind)]
    return add((x.windows, *(-g for g in gone)))


def _windows_one_by_one(x: Slide) -> int | None:
    """Count the windows that have a tap on an element, where taps are further apart than there are elements."""
    numbers = [size for size in x[:-1] if type(size) is int]
    if len(numbers) < len(x) - 1:
        return None
    n, kernel, windows, stride, padding, dilation = numbers
    starts = (o * stride - padding for o in range(windows))
    return sum(any(0 <= start + j * dilation < n for j in range(kernel)) for start in starts)


def real_kernel(x: Slide) -> Size:
    """Return the taps that fall on an element in some window: all where the sizes are names, see `conditions`."""
    if not x.steps_in_numbers:
        return x.kernel
    if type(x.kernel) is int and type(x.padding) is int and type(x.behind) is int and type(x.windows) is int:
        ends = ((_outside(x, x.padding, j), _outside(x, x.behind, x.kernel - 1 - j)) for j in range(x.kernel))
        return sum(a + b < x.windows for a, b in ends)
    return x.kernel


def work_of_windows(
    axes: Sequence[Slide],
    point_rows: Expr,
    sum_rows: Expr,
    sums: Sequence[tuple[Expr | None, Expr | None]],
    primitive: str = "contract",
) -> Work:
    """Return the work of windows: taps along all axes times rows, how many sums they make, what padding takes off.

    Parameters
    ----------
    axes
        How the window slides along each axis.
    point_rows, sum_rows
        What taps, and sums, come times: batch and channels.
    sums
        Along each axis how many sums the taps make, with and without padding; None where there is no closed form.
    primitive
        ``"contract"`` or ``"reduce"``.

    """
    points = multiply(point_rows, product(x.taps for x in axes))
    counts = [n for n, _ in sums]
    if None in counts:
        unknown: dict[Key, Expr] = {
            (f"{primitive}@contraction=exact@unknown", "sums of taps that fall on one place"): points,
            (f"{primitive}@padding=exact@unknown", "taps on padding"): points,
        }
        return {(primitive, "points"): points, **unknown}
    made = multiply(sum_rows, product(n for n in counts if n is not None))
    work: dict[Key, Expr] = {(primitive, "points"): points, (primitive, "outputs"): made}
    exact = f"{primitive}@padding=exact"
    real = [real_taps(x) for x in axes]
    left = [n for _, n in sums]
    if None in real or None in left:
        return {**work, (f"{exact}@unknown", "taps on padding"): points}
    off = {
        (exact, "points"): add((multiply(point_rows, product(n for n in real if n is not None)), -points)),
        (exact, "outputs"): add((multiply(sum_rows, product(n for n in left if n is not None)), -made)),
    }
    return {**work, **{key: amount for key, amount in off.items() if amount != 0}}


def slid_over(tensor: int, graph: Graph, axes: Sequence[Slide]) -> Read:
    """Return what windows see of a tensor whose last axes they slide over: the elements that have a tap.

    All where there is no closed form, see `conditions_of_sight`; and what is behind the elements, zeros put there.
    """
    return _seen(tensor, graph, axes, [(x.n, real_places(x)) for x in axes])


def windows_on(tensor: int, graph: Graph, axes: Sequence[Slide]) -> Read:
    """Return the windows, whose axes are the last of a tensor, that have a tap on an element; all as of `slid_over`."""
    return _seen(tensor, graph, axes, [(x.windows, real_windows(x)) for x in axes])


def _seen(tensor: int, graph: Graph, axes: Sequence[Slide], sizes: Sequence[tuple[Size, Expr | None]]) -> Read:
    everything, rank = whole(graph, tensor), len(axes)
    unseen = [0 if seen is None else add((size, -seen)) for size, seen in sizes]
    if all(gone == 0 for gone in unseen):
        return everything
    shape, stored = graph.tensors[tensor].shape, everything.shape
    kept = zip(shape[-rank:], stored[-rank:], unseen, strict=True)
    last = tuple(add((size, -gone)) if size == there else there for size, there, gone in kept)
    return Read(tensor, (*stored[:-rank], *last), everything.row, tuple(axes))  # type: ignore[arg-type]


def conditions_of_sight(x: Slide) -> list[Condition]:
    """Return that every element has a tap, and every window one on an element, where there is no closed form."""
    out = [] if real_places(x) is not None else [f"each of {x.n} elements lies under a window"]
    out += [] if real_windows(x) is not None else [f"each of {x.windows} windows lies over an element"]
    return [Condition("stated", text) for text in out]


def conditions(x: Slide) -> list[Condition]:
    """Return what has to hold for these counts to be true: elements are as many as a window reaches over them."""
    out = [] if x.shared is None else [_least(x.windows, x.shared[0]), _least(x.kernel, x.shared[1])]
    if x.padding != 0:
        out += [_least(x.n, x.dilation * (x.kernel - 1) - x.padding), _least(x.n, x.dilation if x.kernel != 1 else 1)]
        if isinstance(x.kernel, Poly) or isinstance(x.padding, Poly):
            out += [_least(multiply(x.dilation, x.kernel - 1), x.padding), _least(x.windows, x.padding)]
    return [c for c in out if c]


def conditions_of_kernel(x: Slide) -> list[Condition]:
    """Return what has to hold for every tap to fall on an element in some window."""
    reach = add((x.dilation * (x.kernel - 1), -x.padding, x.stride))
    out = [_least(x.n, x.stride), _least(x.n, reach)] if x.padding != 0 else []
    return [*conditions(x), *(c for c in out if c)]


def _least(size: Expr, least: Expr) -> Condition | None:
    undecided = isinstance(add((size, -least)), Poly) and not at_most(least, size)
    return Condition("at_least", size, least) if undecided else None


def _at_least_none(size: Expr) -> Size:
    return size if isinstance(size, Poly) else max(0, size)  # type: ignore[return-value]
