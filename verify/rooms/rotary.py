"""Rotary embedding: a program on numbers that count; values by complex numbers."""

from __future__ import annotations

import numpy as np

from verify.counted_arrays import Array, Machine
from verify.programs import Kind, Variant, checks


def rotated(m: Machine, x: Array, cos: Array, sin: Array, *, interleaved: bool, back: bool) -> Array:
    del m
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else np.split(x, 2, -1)
    if back:
        turned = (first * cos + second * sin, second * cos - first * sin)
    else:
        turned = (first * cos - second * sin, second * cos + first * sin)
    return np.stack(turned, -1).reshape(x.shape) if interleaved else np.concatenate(turned, -1)


def turned(arrays: list[Array], *, interleaved: bool, back: bool) -> list[Array]:
    """By complex numbers."""
    x, cos, sin = arrays
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else np.split(x, 2, -1)
    z = (first + 1j * second) * (cos + (-1j if back else 1j) * sin)
    parts = (z.real, z.imag)
    return [np.stack(parts, -1).reshape(x.shape) if interleaved else np.concatenate(parts, -1)]


ROTARY = Kind(
    rotated,
    turned,
    tuple(
        Variant((("b", "s", 6), axes, axes), {"interleaved": interleaved, "back": back})
        for axes, interleaved, back in ((("s", 3), False, False), (("b", "s", 3), True, True), ((3,), True, False))
    ),
    elements=lambda _variant, arrays: 3 * arrays[0].size,
)

CHECKS = checks({"rotary": ROTARY})
