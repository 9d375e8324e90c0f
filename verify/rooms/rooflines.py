"""Rooflines and waterfalls against plain arithmetic on what torch counts and moves, and against trying sizes.

The rates are drawn at random, so that nothing holds by the numbers of one device alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.hardware import Device, Figure, Peak, Source
from symacct.units import Quantity
from verify.check import Check, agree

SOURCE = Source("drawn at random", "2026-11-30", "stated")
OVERLAPS = ("perfect", "none")


class Case(NamedTuple):
    """Sizes of `relu(x @ w)`, and the rates of a device."""

    b: int
    d: int
    k: int
    matrix: int
    vector: int
    bandwidth: int
    launch: int


def device(case: Case) -> Device:
    """A device with these rates."""

    def figure(value: int, unit: str) -> tuple[Figure, ...]:
        return (Figure(Quantity(value, unit), SOURCE),)

    peaks = (
        Peak("bf16", "fp32", "matrix", figure(case.matrix, "FLOP/s")),
        Peak("fp32", "fp32", "vector", figure(case.vector, "FLOP/s")),
    )
    return Device("drawn", "drawn", peaks, figure(10**9, "B"), figure(case.bandwidth, "B/s"))


def layer(x: "b d", w: "d k"):
    return sa.relu(x @ w)


def busy(case: Case) -> list[tuple[Fraction, Fraction]]:
    """Seconds of computing and of moving of the two kernels, from torch's counter and the bytes of its tensors."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    x, w = torch.ones(case.b, case.d, dtype=torch.bfloat16), torch.ones(case.d, case.k, dtype=torch.bfloat16)
    with FlopCounterMode(display=False) as counter:
        y = x @ w
    z = torch.relu(y)
    product = Fraction(counter.get_total_flops(), case.matrix), Fraction(x.nbytes + w.nbytes + y.nbytes, case.bandwidth)
    return [product, (Fraction(z.numel(), case.vector), Fraction(y.nbytes + z.nbytes, case.bandwidth))]


def times_agree(case: Case) -> None:
    at = sa.account(layer).roofline(device(case), launch=case.launch).at(b=case.b, d=case.d, k=case.k)
    kernels = busy(case)
    agree(at.overlapped.value, sum(max(*both, case.launch) for both in kernels), f"overlapped at {case}")
    agree(at.serial.value, sum(sum(both) + case.launch for both in kernels), f"one after the other at {case}")
    for k, both in zip(at.kernels, kernels, strict=True):
        longest = max((*both, Fraction(case.launch)))
        agree(
            k.times.bound, ("compute", "memory", "launch")[[*both, case.launch].index(longest)], f"{k.label} at {case}"
        )


def turns_agree(case: Case) -> None:
    """The first row count at which the product is compute bound, by trying them all."""
    ridge = Fraction(case.matrix, case.bandwidth)
    sizes = range(1, 400)
    tried = [2 * b * case.d * case.k >= ridge * 2 * (b * case.d + case.d * case.k + b * case.k) for b in sizes]
    first = next((b for b, bound in zip(sizes, tried, strict=True) if bound), None)
    sized = sa.account("b d, d k -> b k", d=case.d, k=case.k)
    solution = sized.roofline(device(case)).turns("b")[0].solution
    smallest = solution.smallest if solution.smallest is not None and solution.smallest < sizes.stop else None
    agree(smallest, first, f"where b d, d k -> b k turns compute bound at {case}")


def waterfalls_agree(case: Case) -> None:
    """Base and losses, from the same plain seconds."""
    kernels = busy(case)
    for overlap in OVERLAPS:
        bound = sa.account(layer).mfu_bound(
            device(case), launch=case.launch, communication=1, overlap=overlap, b=case.b, d=case.d, k=case.k
        )
        join: Any = max if overlap == "perfect" else lambda parts: sum(parts)  # noqa: PLW0108 # one name for both
        (work, moved), other = kernels
        expected = {
            "products that wait for memory": join([work, moved]) - work,
            "no products: pointwise": join(list(other)),
            "launches": sum(join([*both, Fraction(case.launch)]) - join(list(both)) for both in kernels),
            "communication": Fraction(1),
        }
        agree({x.cause: x.seconds for x in bound.losses}, {n: s for n, s in expected.items() if s}, f"losses at {case}")
        agree(bound.base, work, f"products at the peak at {case}")
        agree(bound.mfu, work / (work + sum(expected.values())), f"MFU at {case}")
        agree(sum(bound.points), 1 - bound.mfu, f"the sum of the losses at {case}")


def conv(x: "n c t", kernel: "o c 3"):
    return sa.conv1d(x, kernel, padding=1)


def attend(q: "h s k", k: "h t k", v: "h t k"):
    return sa.scaled_dot_product_attention(q, k, v)


def factors(case: Case) -> dict[Any, tuple[dict[str, int], list[tuple[Any, Any]]]]:
    """Sizes of three operations, and the matrices that torch multiplies for each: of a convolution its windows."""
    import torch

    b, d, k = case.b, case.d, case.k
    x, w, heads = torch.ones(2, d, 1, b), torch.ones(k, 3 * d), torch.ones(3, b, d)
    windows = torch.nn.functional.unfold(x, (1, 3), padding=(0, 1)).mT.reshape(-1, 3 * d)
    keys = torch.ones(3, k, d)
    scores = heads @ keys.mT
    return {
        layer: ({"b": b, "d": d, "k": k}, [(torch.ones(b, d), torch.ones(d, k))]),
        conv: ({"n": 2, "c": d, "t": b, "o": k}, [(windows, w.T)]),
        attend: ({"h": 3, "s": b, "t": k, "k": d}, [(heads, keys.mT), (scores, keys)]),
    }


def tiles_agree(case: Case) -> None:
    """Tiles and waves, one by one."""
    rows, columns, units = 1 + case.matrix % 40, 1 + case.vector % 40, 1 + case.bandwidth % 7
    for operation, (sizes, products) in factors(case).items():
        roof = sa.account(operation).roofline(device(case), tile=(rows, columns), units=units)
        seconds = Fraction(0)
        for left, right in products:
            (*many, m, k), n = left.shape, right.shape[-1]
            tiles = sum(1 for _ in range(math.prod(many)) for _ in range(0, m, rows) for _ in range(0, n, columns))
            waves = math.ceil(tiles / units)
            seconds += Fraction(2 * waves * units * rows * columns * k, case.matrix)
        matrix = roof.at(sizes=sizes).kernels[0].times.matrix
        agree(matrix, seconds, f"tiles of {rows} by {columns} of {operation.__name__} at {case}")


RATES = st.integers(10, 10**5)
SIZES = st.integers(1, 60)
CASES = st.builds(Case, SIZES, SIZES, SIZES, RATES, RATES, RATES, st.integers(0, 50))
FIXED = (Case(8, 16, 32, 1000, 300, 100, 1), Case(3, 5, 7, 10, 10, 9000, 0), Case(40, 50, 60, 5000, 20, 30, 40))


COMMON: Mapping[str, Any] = {"cases": CASES, "fixed": FIXED, "share": 0.2}
COUNTED = "torch's counter and the bytes of its tensors, in plain fractions"

CHECKS = (
    Check(
        "times of a layer",
        "sum of max(flops/peak, bytes/bandwidth, launch); sum of everything",
        COUNTED,
        times_agree,
        claims=("S39", "S41", "S43"),
        needs=("torch",),
        **COMMON,
    ),
    Check(
        "where a product turns compute bound",
        "the root of intensity = ridge",
        "trying all sizes below 400",
        turns_agree,
        claims=("S43", "S48"),
        **COMMON,
    ),
    Check(
        "what a run loses",
        "base and losses sum to the time",
        COUNTED,
        waterfalls_agree,
        claims=("S2",),
        needs=("torch",),
        **COMMON,
    ),
    Check(
        "tiles and waves",
        "ceil(m/tile)*tile, ceil(tiles/units)*units",
        "counting the tiles of the matrices that torch multiplies",
        tiles_agree,
        needs=("torch",),
        **COMMON,
    ),
)
