"""Figures of the catalogue in a second way: from parts of the chip, from headlines, from what others print."""

from __future__ import annotations

import pytest

import symacct as sa

PEAKS = [(device, peak) for device in sa.devices() for peak in device.peaks]
IDS = [f"{device.name} {peak.label}" for device, peak in PEAKS]
TERA = 10**12


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
