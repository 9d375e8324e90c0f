"""Devices by name: figures against the lecture's, and against the parts of the chips."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import HardwareError


@pytest.mark.claim("S5", "D5")
def test_the_dense_peak_is_half_of_the_headline_with_sparsity():
    found = sa.device("h100").peak("bf16")
    assert found.sparse[0].quantity == 1979 * 10**12
    assert found.speed == 989.5e12
    assert sa.peak("h100", "bf16") == 989.5e12
    with pytest.raises(TypeError):
        sa.peak("h100")


@pytest.mark.claim("S39")
def test_the_lectures_ridge():
    assert float(sa.device("h100").ridge("bf16")) == pytest.approx(295.37, abs=0.005)


def test_an_unknown_device_and_a_missing_dtype_list_what_is_known():
    with pytest.raises(HardwareError, match=r"unknown device 'h1000'. Did you mean 'h100'\? Known: .*h100-pcie"):
        sa.device("h1000")
    with pytest.raises(HardwareError, match=r"h100 has no peak of nvfp4. .*bf16, fp32 sums, matrix"):
        sa.peak("h100", "nvfp4")
