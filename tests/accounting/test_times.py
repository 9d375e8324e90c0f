"""The two envelope times of the lecture, and what is refused."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import MixedUnitsError, SizeError, UndefinedSizeError

RELU = sa.account(sa.relu, x="n")


@pytest.mark.claim("S39", "S40", "S41")
def test_relu_waits_for_memory() -> None:
    t = sa.times(RELU, peak=989.5e12, bandwidth=3.35e12, n=1024 * 1024)
    assert float(t.memory) == pytest.approx(4 * 1024 * 1024 / 3.35e12)
    assert float(t.memory) == pytest.approx(1.252e-6, rel=1e-3)
    assert float(t.compute) == pytest.approx(1.060e-9, rel=1e-3)
    assert (t.bound, t.overlapped) == ("memory", t.memory)
    assert float(t.serial) == pytest.approx(1.252e-6 + 1.060e-9, rel=1e-3)


@pytest.mark.claim("S41")
@pytest.mark.parametrize(("n", "bound"), [(886, "memory"), (887, "compute")])
def test_the_pair_swaps_at_the_accelerators_intensity(n: int, bound: str) -> None:
    square = sa.account("i j, j k -> i k", i="n", j="n", k="n", convention="exact")
    t = sa.times(square, peak=295.37, bandwidth=1, n=n)
    assert t.bound == bound
    assert float(t.overlapped) == max(n * n * (2 * n - 1) / 295.37, 6 * n * n)
    assert float(t.overlapped) <= float(t.serial) <= 2 * float(t.overlapped)


def test_refusals() -> None:
    with pytest.raises(SizeError, match="positive"):
        sa.times(RELU, peak=0, bandwidth=1, n=3)
    with pytest.raises(MixedUnitsError, match="MAC"):
        sa.times(sa.account("b d, d k -> b k", convention="mac"), peak=1, bandwidth=1, b=1, d=2, k=3)
    with pytest.raises(UndefinedSizeError, match="n"):
        sa.times(RELU, peak=1, bandwidth=1)
