"""What moves elements and what makes them from nothing, as loops that touch every place."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from symacct.expr import name
from verify.memories import Case, Kind, Memory, Place, checks

B, S, D, E = (name(n) for n in "bsde")
BSD = ("b", "s", "d")


def mover(source: Callable[..., Place | None]) -> Callable[..., None]:
    """Make a program that writes every place of the output: what `source` says, or a constant."""

    def program(x: Memory, out: Memory, *, calls: Any, value: float = 0.0, **attrs: Any) -> None:
        del calls
        for place in out.places():
            come_from = source(place, x.shape, **attrs)
            out[place] = value if come_from is None else x[come_from]

    return program


def padded(place: Place, shape: Place, *, widths: Any) -> Place | None:
    inner = tuple(p - before for p, (before, _) in zip(place, widths, strict=True))
    return inner if all(0 <= p < n for p, n in zip(inner, shape, strict=True)) else None


def flipped(place: Place, shape: Place, *, axes: Any) -> Place:
    at = [a % len(shape) for a in axes]
    return tuple(n - 1 - p if i in at else p for i, (p, n) in enumerate(zip(place, shape, strict=True)))


def rolled(place: Place, shape: Place, *, axes: Any, shifts: Any) -> Place:
    by = {a % len(shape): s for a, s in zip(axes, shifts, strict=True)}
    return tuple((p - by.get(i, 0)) % n for i, (p, n) in enumerate(zip(place, shape, strict=True)))


def lower(place: Place, _shape: Place, *, diagonal: int) -> Place | None:
    return place if place[-1] - place[-2] <= diagonal else None


def upper(place: Place, _shape: Place, *, diagonal: int) -> Place | None:
    return place if place[-1] - place[-2] >= diagonal else None


def same(place: Place, _shape: Place, **_attrs: Any) -> Place:
    return place


def sent(x: Memory, out: Memory, *, calls: Any, device: str) -> None:
    """The memory that is read is another device's."""
    del calls, device
    for place in out.places():
        out[place] = x.values[place]


def put_back(x: Memory, out: Memory, *, calls: Any, ranges: Any, shape: Any) -> None:
    del calls, shape
    for place in out.places():
        out[place] = 0
    spots = itertools.product(*(range(*r) for r in ranges))
    for place, spot in zip(x.places(), spots, strict=True):
        out[spot] = x[place]


def detached(x: Memory, out: Memory, *, calls: Any) -> None:
    del calls
    out.values = x.values


def everything(x: Memory, y: Memory, out: Memory, other: Memory, *, calls: Any, **_attrs: Any) -> None:
    """Read all, write all: what is assumed of an operation that is not known."""
    del calls
    total = sum(m[p].value for m in (x, y) for p in m.places())
    for made in (out, other):
        for place in made.places():
            made[place] = total


def constant(out: Memory, *, calls: Any, value: float, **_attrs: Any) -> None:
    del calls
    for place in out.places():
        out[place] = value


def positions(out: Memory, *, calls: Any, n: int) -> None:
    del calls
    for i in range(n):
        out[i,] = i


def seen(out: Memory, *, calls: Any, s: int, t: int, align: str, window: int | None) -> None:
    del calls
    shift = t - s if align == "bottom-right" else 0
    for i, j in out.places():
        out[i, j] = 0 <= i + shift - j < (window or s + t)


def triangles(*, s: int, t: int, align: str, window: int | None) -> list[Any]:
    shift = t - s if align == "bottom-right" else 0
    mask = np.tri(s, t, shift)
    return [mask if window is None else mask - np.tri(s, t, shift - window)]


def sliced(x: Any, *, ranges: Any, shape: Any) -> list[Any]:
    out = np.zeros(shape)
    out[tuple(slice(*r) for r in ranges)] = x
    return [out]


def triangle(kept: Callable[..., Place | None]) -> Callable[..., None]:
    """Make a program that reads all of x, also what it does not keep."""

    def program(x: Memory, out: Memory, *, calls: Any, diagonal: int) -> None:
        del calls
        for place in out.places():
            value = x[place]
            out[place] = 0.0 if kept(place, x.shape, diagonal=diagonal) is None else value

    return program


MASK = {"s": S, "t": E, "align": "top-left", "window": None}

KINDS = {
    "pad": Kind(
        mover(padded),
        lambda x, widths, value: [np.pad(x, widths, constant_values=value)],
        (Case((("s", "d"),), {"widths": ((1, B), (0, 3)), "value": 9.0}),),
    ),
    "flip": Kind(mover(flipped), lambda x, axes: [np.flip(x, axes)], (Case((BSD,), {"axes": (0, -1)}),)),
    "roll": Kind(
        mover(rolled),
        lambda x, axes, shifts: [np.roll(x, shifts, axes)],
        (Case((BSD,), {"axes": (1, -1), "shifts": (2, -1)}),),
    ),
    "tril": Kind(triangle(lower), lambda x, diagonal: [np.tril(x, diagonal)], (Case((BSD,), {"diagonal": 0}),)),
    "triu": Kind(triangle(upper), lambda x, diagonal: [np.triu(x, diagonal)], (Case((BSD,), {"diagonal": 1}),)),
    "copy": Kind(mover(same), lambda x: [x], (Case((BSD,)), Case(((),)))),
    "cast": Kind(mover(same), lambda x, **_: [x], (Case((BSD,), {"dtype": "fp8_e4m3fn"}),)),
    "transfer": Kind(sent, lambda x, **_: [x], (Case((BSD,), {"device": "cuda"}),)),
    "slice_backward": Kind(
        put_back, sliced, (Case((("s", "d"),), {"ranges": ((1, 7, 2), (0, D, 1)), "shape": (E, D)}),)
    ),
    "detach": Kind(detached, lambda x: [x], (Case((BSD,)),)),
    "opaque": Kind(
        everything,
        lambda x, y, shapes, **_: [np.full(s, x.sum() + y.sum()) for s in shapes],
        (Case((BSD, ("e",)), {"name": "kernel", "shapes": ((B, E), (S,)), "dtype": None}),),
    ),
    "full": Kind(
        constant,
        lambda shape, value, **_: [np.full(shape, value)],
        (Case((), {"shape": (B, S), "value": 3.0, "dtype": None}),),
    ),
    "arange": Kind(positions, lambda n: [np.arange(n)], (Case((), {"n": E}),)),
    "mask": Kind(
        seen,
        triangles,
        tuple(
            Case((), {**MASK, **change}) for change in ({}, {"align": "bottom-right"}, {"window": 2}, {"s": E, "t": S})
        ),
    ),
}


CHECKS = checks(KINDS, {"transfer": ("S20",)})
