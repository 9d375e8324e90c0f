"""Windows that slide over elements, tap by tap on numbers that count: convolutions, pooling and their gradients."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from symacct.testing.counting import Counted, call

Place = tuple[int, ...]
POOLS = ("max_pool", "avg_pool", "max_pool_backward", "avg_pool_backward")


class Case(NamedTuple):
    """One axis a tuple: elements that are slid over or windows of a transposed one, taps, and how they slide."""

    kind: str
    batch: int
    groups: int
    channels: tuple[int, int]
    n: Place
    kernel: Place
    stride: Place
    padding: Place
    dilation: Place
    forms: tuple[str, ...] = ()
    """In which modes of naming sizes there is a closed form under every convention; in others there may be one."""
    bias: bool = False
    ceil: bool = False

    @property
    def geometry(self) -> dict[str, Any]:
        ceil = {"ceil": True} if self.ceil else {}
        return {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, **ceil}

    def windows(self) -> Place:
        """How many start where they fit; with `ceil` where a tap in front of their end falls on an element."""
        axes = zip(self.n, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple(self._windows(*axis) for axis in axes)

    def _windows(self, n: int, k: int, s: int, p: int, d: int) -> int:
        fitting = (n + 2 * p - d * (k - 1) - 1) // s + 1
        if not self.ceil:
            return fitting
        more = fitting * s <= n + 2 * p - d * (k - 1) - 1 + s - 1
        return fitting + 1 if more and fitting * s < n + p else fitting

    def taps(self) -> Iterator[tuple[Place, Place, Place]]:
        """Every window and tap, and the place where it falls, outside the elements where that is padding."""
        for window in itertools.product(*map(range, self.windows())):
            for tap in itertools.product(*map(range, self.kernel)):
                axes = zip(window, tap, self.stride, self.padding, self.dilation, strict=True)
                yield window, tap, tuple(o * s + j * d - p for o, j, s, p, d in axes)

    def divisor(self, window: Place) -> int:
        """What a mean divides by: the taps of a window that fall on elements or padding, and not behind that."""
        axes = zip(window, self.n, self.kernel, self.stride, self.padding, strict=True)
        return prod(min(k, n + 2 * p - o * s) for o, n, k, s, p in axes)

    def inside(self, place: Place) -> bool:
        return all(0 <= at < n for at, n in zip(place, self.n, strict=True))


class Sums:
    """Terms by output; summed from the first term or from zero, those on padding left out or not."""

    def __init__(self, way: str, *, real: bool) -> None:
        self.way, self.real = way, real
        self.calls: Counter[str] = Counter()
        self.terms: defaultdict[tuple[int, ...], list[Counted]] = defaultdict(list)

    def number(self, x: float) -> Counted:
        return Counted(x, self.calls)

    def join(self, output: tuple[int, ...], largest: bool = False) -> float:  # noqa: FBT001, FBT002
        terms = list(self.terms[output])
        out = terms.pop(0) if self.way == "exact" else self.number(-np.inf if largest else 0.0)
        for term in terms:
            out = call("max", out, term) if largest else out + term
        return out.value


def conv_run(case: Case, m: Sums, arrays: list[np.ndarray]) -> np.ndarray:
    """Products of every window and tap, collected by what they are summed to."""
    first, second = arrays[:2]
    per, out_per = case.channels
    for b, g, i, o in itertools.product(range(case.batch), range(case.groups), range(per), range(out_per)):
        c_in, c_out = g * per + i, g * out_per + o
        for window, tap, place in case.taps():
            real = case.inside(place)
            if m.real and not real:
                continue
            if case.kind == "conv":
                factor = first[(b, c_in, *place)] if real else 0.0
                key, other = (b, c_out, *window), second[(c_out, i, *tap)]
            elif case.kind == "conv_transpose":
                # windows slide over the output; what falls outside is computed and dropped
                factor, key, other = first[(b, c_out, *window)], (b, c_in, *place), second[(c_out, i, *tap)]
            else:
                factor = first[(b, c_in, *place)] if real else 0.0
                key, other = (c_out, i, *tap), second[(b, c_out, *window)]
            m.terms[key].append(m.number(factor) * other)
    shape = result_shape(case)
    out = np.zeros(shape)
    for key in list(m.terms):
        value = m.join(key)
        if all(0 <= at < size for at, size in zip(key, shape, strict=True)):
            out[key] = value
    if case.bias:
        for key in np.ndindex(*shape):
            out[key] = (m.number(out[key]) + arrays[2][key[1]]).value
    return out


def pool_run(case: Case, m: Sums, arrays: list[np.ndarray]) -> np.ndarray:
    """Channel by channel; the gradient of a largest goes where it was found."""
    first, windows = arrays[0], case.windows()
    forward = not case.kind.endswith("backward")
    mean = case.kind.startswith("avg")
    out = np.full((case.batch, 1, *(windows if forward else case.n)), -np.inf if case.kind == "max_pool" else 0.0)
    for b in range(case.batch):
        if case.kind == "max_pool_backward":
            _scatter(case, m, arrays, b, out)
            continue
        for window, _, place in case.taps():
            real = case.inside(place)
            if m.real and not real:
                continue
            if forward:
                x = first[(b, 0, *place)] if real else (0.0 if mean else -np.inf)
                m.terms[b, 0, *window].append(m.number(x))
            else:
                m.terms[b, 0, *place].append(m.number(first[(b, 0, *window)] / case.divisor(window)))
    for key in list(m.terms):
        value = m.join(key, largest=case.kind == "max_pool")
        if forward or case.inside(key[2:]):
            out[key] = (m.number(value) / case.divisor(key[2:])).value if case.kind == "avg_pool" else value
    if case.kind == "avg_pool_backward":
        m.calls["div"] += first.size  # once a window, not once a tap
    return out


def _scatter(case: Case, m: Sums, arrays: list[np.ndarray], b: int, out: np.ndarray) -> None:
    grad, x = arrays
    found: dict[Place, Place] = {}
    for window, _, place in case.taps():
        if case.inside(place) and (window not in found or x[(b, 0, *place)] > x[(b, 0, *found[window])]):
            found[window] = place
    for window, place in found.items():
        key = (b, 0, *place)
        out[key] = (m.number(out[key]) + grad[(b, 0, *window)]).value


def result_shape(case: Case) -> Place:
    per, out_per = case.channels
    if case.kind in POOLS:
        return case.batch, 1, *(case.n if case.kind.endswith("backward") else case.windows())
    if case.kind == "conv":
        return case.batch, case.groups * out_per, *case.windows()
    if case.kind == "conv_transpose":
        return case.batch, case.groups * per, *case.n
    return case.groups * out_per, per, *case.kernel
