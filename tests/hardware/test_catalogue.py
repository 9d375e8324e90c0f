"""Devices by name: each figure with its source, against the parts of the chips and against what others print."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from itertools import combinations

import pytest

import symacct as sa
from symacct.errors import DtypeError, HardwareError
from symacct.hardware import Figure
from symacct.hardware.types import EVIDENCE

PEAKS = [(device, peak) for device in sa.devices() for peak in device.peaks]
IDS = [f"{device.name} {peak.label}" for device, peak in PEAKS]
TERA = 10**12


@pytest.mark.claim("S5", "S30", "D5")
def test_the_dense_peak_is_half_of_the_headline_with_sparsity():
    found = sa.device("h100").peak("bf16")
    assert found.headline == found.sparse[0].quantity == 1979 * TERA
    assert sa.device("tpu-v5e").peak("bf16").headline is None
    assert found.speed == 989.5e12
    assert sa.peak("h100", "bf16") == 989.5e12
    with pytest.raises(TypeError):
        sa.peak("h100")


@pytest.mark.claim("S39", "S42")
def test_the_lectures_ridges():
    h100 = sa.device("h100")
    assert float(h100.ridge("bf16")) == pytest.approx(295.37, abs=0.005)
    lectures = next(f for f in h100.peak("fp32").dense if "CS336" in f.source.title)
    assert float(lectures.quantity / h100.bandwidth) == pytest.approx(20.15, abs=0.005)
    assert float(h100.ridge("fp32")) == pytest.approx(20.15, rel=0.01)


@pytest.mark.parametrize(("device", "peak"), PEAKS, ids=IDS)
def test_a_headline_with_sparsity_is_twice_the_dense_peak(device, peak):
    """Sheets round, and L40S's prints the dense peak of another card beside its own headline."""
    if peak.sparse:
        ratio = float(peak.sparse[0].quantity / peak.speed)
        assert ratio == pytest.approx(2, rel=0.013 if device.name == "l40s" else 1e-3)


@pytest.mark.parametrize(("device", "peak"), PEAKS, ids=IDS)
def test_a_peak_is_units_times_operations_times_clock(device, peak):
    """Sheets print two or three digits."""
    if peak.clocked is not None:
        assert float(peak.clocked.speed) == pytest.approx(float(peak.speed), rel=0.021), device.name
        parts = peak.clocked
        assert parts.speed == parts.units * parts.operations * parts.clock.value


def test_most_devices_have_a_peak_in_a_second_way():
    assert sum(any(p.clocked for p in device.peaks) for device in sa.devices()) >= 25


PUBLISHED = {
    # rows 130 to 152: device, dtype, TFLOP/s, memory in GB, bandwidth in TB/s
    "v100": ("fp16", 125, 32, 0.9),
    "a100": ("bf16", 312, 80, 2.039),
    "a100-40gb": ("bf16", 312, 40, 1.555),
    "h100": ("bf16", 989.4, 80, 3.35),
    "h100-pcie": ("bf16", 756, 80, 2.0),
    "h100-nvl": ("bf16", 835, 94, 3.9),
    "h800": ("bf16", 990, 80, 3.35),
    "h20": ("bf16", 148, 96, 4.0),
    "h200": ("bf16", 989, 141, 4.8),
    "gh200-96gb": ("bf16", 989, 96, 4.0),
    "b200": ("bf16", 2250, 180, 8.0),
    "gb200": ("bf16", 2500, 186, 8.0),
    "b300": ("bf16", 2250, 288, 8.0),
    "l40s": ("bf16", 362, 48, 0.864),
    "mi250x": ("bf16", 383, 128, 3.28),
    "mi300x": ("bf16", 1307, 192, 5.3),
    "mi325x": ("bf16", 1307, 256, 6.0),
    "mi355x": ("bf16", 2500, 288, 8.0),
    "tpu-v4": ("bf16", 275, 34.36, 1.2),
    "tpu-v5e": ("bf16", 197, 16, 0.82),
    "tpu-v5p": ("bf16", 459, 95, 2.765),
    "tpu-v6e": ("bf16", 918, 32, 1.64),
    "tpu-v7": ("bf16", 2307, 206.16, 7.4),
    "gaudi3": ("bf16", 1677, 128, 3.7),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_the_planners_tables_say(name):
    dtype, tera, memory, bandwidth = PUBLISHED[name]
    device = sa.device(name)
    assert float(device.peak(dtype).speed) / TERA == pytest.approx(tera, rel=0.01)
    assert float(device.memory) / 10**9 == pytest.approx(memory, rel=1e-3)
    assert float(device.bandwidth) / TERA == pytest.approx(bandwidth, rel=0.01)


@pytest.mark.parametrize(
    ("name", "dtype", "tera"),
    [
        ("h100", "fp8", 1979),
        ("h100", "int8", 1979),
        ("a100", "int8", 624),
        ("b200", "fp8", 4500),
        ("b200", "nvfp4", 9000),
        ("gb200", "fp4", 10_000),
        ("mi355x", "mxfp4", 10_066),
        ("mi300x", "fp8_e4m3fnuz", 2615),
        ("tpu-v5e", "int8", 394),
        ("tpu-v7", "fp8", 4614),
        ("v100", "int8", 62),
    ],
)
def test_narrow_formats(name, dtype, tera):
    assert float(sa.peak(name, dtype)) / TERA == pytest.approx(tera, rel=0.003)


def test_every_figure_has_a_source_a_date_and_its_evidence():
    every: list[Figure] = []
    for device in sa.devices():
        every += [*device.capacities, *device.bandwidths]
        every += [f for peak in device.peaks for f in (*peak.dense, *peak.sparse)]
        every += [f for link in device.links for f in link.one_way]
    assert len(every) > 400
    for figure in every:
        assert figure.source.evidence in EVIDENCE
        assert figure.source.title
        assert re.fullmatch(r"20\d\d(-\d\d(-\d\d)?)?", figure.source.date)
    assert {f.source.evidence for f in every} == {"seen", "recalled", "stated"}


def test_conflicting_sources_are_kept_with_the_one_that_counts_first():
    h100 = sa.device("h100")
    assert [float(f.quantity) / 10**9 for f in h100.bandwidths] == [3350, 3072, 3400]
    assert [float(f.quantity) / TERA for f in h100.peak("bf16").dense] == [989.5, 989.4, 989, 1000]
    assert [float(f.quantity) / 10**9 for f in sa.device("b200").capacities] == [180, 192]


def test_sums_in_fp16_are_a_peak_of_their_own():
    card = sa.device("rtx4090")
    assert card.peak("fp16", accumulation="fp16").speed == 2 * card.peak("fp16").speed
    assert card.peak("fp16").accumulation == "fp32"


def test_a_width_alone_is_the_format_that_the_device_has():
    assert sa.device("mi300x").peak("fp8").dtype == "fp8_e4m3fnuz"
    assert sa.device("h100").peak("fp8").dtype == "fp8_e4m3fn"
    with pytest.raises(HardwareError, match="Did you mean 'fp8_e4m3fnuz'"):
        sa.peak("mi300x", "fp8_e4m3fn")


# bits of the memory bus, and Gbit/s of each
BUSES = {
    "v100": (4096, 2 * 0.876),
    "t4": (256, 10),
    "a100": (5120, 2 * 1.593),
    "a100-40gb": (5120, 2 * 1.215),
    "a100-pcie-40gb": (5120, 2 * 1.215),
    "h100": (5120, 5.24),
    "h200": (6144, 6.25),
    "b200": (8192, 8),
    "l4": (192, 12.5),
    "l40s": (384, 18),
    "rtx4090": (384, 21),
    "rtx5090": (512, 28),
    "mi250x": (8192, 3.2),
    "mi250x-die": (4096, 3.2),
    "mi300x": (8192, 5.2),
    "mi325x": (8192, 6),
    "mi355x": (8192, 8),
    "gaudi2": (6 * 1024, 3.2),
    "gaudi3": (8 * 1024, 3.6),
    "m1": (128, 4.266),
    "m1-max": (512, 6.4),
    "m2-ultra": (1024, 6.4),
    "m4-max": (512, 8.533),
    "cpu": (8 * 64, 4.8),
}


@pytest.mark.parametrize("name", BUSES)
def test_a_bandwidth_is_the_bus_times_the_rate_of_a_pin(name):
    """Makers round by up to 3 %."""
    bits, rate = BUSES[name]
    assert float(sa.device(name).bandwidth) == pytest.approx(bits * rate * 10**9 / 8, rel=0.025)


def test_peaks_are_selected():
    h100 = sa.device("h100")
    assert {p.engine for p in h100.select("bf16")} == {"matrix", "vector"}
    assert {p.dtype for p in h100.select(accumulation="fp16")} == {"fp16"}
    assert h100.select() == h100.peaks
    with pytest.raises(HardwareError, match="tpu-v3 has no peak of vector"):
        sa.device("tpu-v3").select(engine="vector")


def test_a_device_is_shown():
    h100 = sa.device("h100")
    assert repr(h100) == "<Device h100: NVIDIA H100 SXM5>"
    assert str(h100).startswith("h100: NVIDIA H100 SXM5\n Matrix peaks are at 1.83 GHz")
    assert h100.to_json()["memory"][0]["value"] == 80e9


def test_the_engines_are_apart():
    h100 = sa.device("h100")
    assert h100.peak("fp32").engine == "vector"
    assert h100.peak("bf16").engine == "matrix"
    assert float(h100.peak("bf16", engine="vector").speed) == pytest.approx(133.8e12)
    assert float(h100.peak("fp64").speed / h100.peak("fp64", engine="vector").speed) == pytest.approx(2, rel=1e-3)


def test_an_unknown_device_and_a_missing_dtype_list_what_is_known():
    with pytest.raises(HardwareError, match=r"unknown device 'h1000'. Did you mean 'h100'\? Known: .*h100-pcie"):
        sa.device("h1000")
    with pytest.raises(HardwareError, match=r"h100 has no peak of nvfp4.* It has bf16, fp32 sums, matrix; "):
        sa.peak("h100", "nvfp4")
    with pytest.raises(HardwareError, match="tpu-v3 has no peak of bf16, vector"):
        sa.peak("tpu-v3", "bf16", engine="vector")
    with pytest.raises(HardwareError, match="unknown engine 'tensor'; known: matrix, vector"):
        sa.peak("h100", "bf16", engine="tensor")
    with pytest.raises(DtypeError, match="bf17"):
        sa.peak("h100", "bf17")
    with pytest.raises(HardwareError, match="None is no device"):
        sa.device(None)
    with pytest.raises(HardwareError, match="unknown link 'nvlink9'"):
        sa.link("nvlink9")


REPORTED = {
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H100 NVL": "h100-nvl",
    "NVIDIA H200": "h200",
    "NVIDIA B200": "b200",
    "NVIDIA A100-SXM4-40GB": "a100-40gb",
    "NVIDIA A100-SXM4-80GB": "a100",
    "NVIDIA A100 80GB PCIe": "a100-pcie",
    "NVIDIA A100-PCIE-40GB": "a100-pcie-40gb",
    "Tesla V100-SXM2-16GB": "v100-16gb",
    "Tesla T4": "t4",
    "NVIDIA L4": "l4",
    "NVIDIA L40S": "l40s",
    "NVIDIA GeForce RTX 4090": "rtx4090",
    "AMD Instinct MI300X": "mi300x",
}


@pytest.mark.parametrize("name", REPORTED)
def test_names_as_torch_reports_them(name):
    assert sa.device(name).name == REPORTED[name]


@pytest.mark.parametrize("name", ["H100", "h100-sxm5", "a100 80gb", "tpu_v5e", "v5e", "TPU7x", "RTX-4090"])
def test_other_spellings(name):
    assert sa.device(name) in sa.devices()


def test_a_device_is_a_value():
    h100 = sa.device("h100")
    assert sa.device(h100) is h100
    assert h100 == sa.device("h100-sxm")
    assert len({*sa.devices()}) == len(sa.devices())
    assert all(a.name != b.name for a, b in combinations(sa.devices(), 2))


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


def test_the_file_names_no_source_in_vain():
    data = tomllib.loads(files("symacct.hardware").joinpath("catalogue.toml").read_text(encoding="utf-8"))
    used = set(re.findall(r"'source': '([\w-]+)'", str(data)))
    assert used == set(data["sources"])
