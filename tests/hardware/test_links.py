"""Interconnects: one way over one link, against headlines and against lanes and rates."""

from __future__ import annotations

import pytest

import symacct as sa


@pytest.mark.parametrize(
    ("device", "link", "duplex"),
    [
        ("v100", "nvlink2", 300),
        ("a100", "nvlink3", 600),
        ("h100", "nvlink4", 900),
        ("b200", "nvlink5", 1800),
        ("h800", "nvlink4", 400),
        ("gaudi3", "ethernet-200g", 1200),
        ("gaudi2", "ethernet-100g", 600),
        ("tpu-v7", "ici-v7", 1200),
        ("mi300x", "xgmi-mi300", 896),
    ],
)
def test_headlines_count_all_links_both_ways(device, link, duplex):
    (found,) = (x for x in sa.device(device).links if x.name == link)
    assert 2 * found.bandwidth == duplex * 10**9


@pytest.mark.parametrize(("generation", "transfers"), [("pcie3-x16", 8), ("pcie4-x16", 16), ("pcie5-x16", 32)])
def test_pcie_is_16_lanes_of_128_in_130_bits(generation, transfers):
    assert float(sa.link(generation).bandwidth) == pytest.approx(16 * transfers * 10**9 * 128 / 130 / 8, rel=1e-3)


@pytest.mark.parametrize(("name", "gigabytes"), [("v3", 100), ("v4", 45), ("v5p", 90), ("v5e", 45), ("v6e", 90)])
def test_links_between_tpus_one_way(name, gigabytes):
    assert sa.link(f"ici-{name}").bandwidth == gigabytes * 10**9


def test_infiniband_doubles_with_each_generation():
    speeds = [sa.link(f"infiniband-{g}").bandwidth for g in ("edr", "hdr", "ndr", "xdr")]
    assert [float(s) / 10**9 for s in speeds] == [12.5, 25, 50, 100]
