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
from symacct.hardware.figures import EVIDENCE

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


def test_peaks_are_selected():
    h100 = sa.device("h100")
    assert {p.engine for p in h100.select("bf16")} == {"matrix", "vector"}
    assert {p.dtype for p in h100.select(accumulation="fp16")} == {"fp16"}
    assert h100.select() == h100.peaks
    with pytest.raises(HardwareError, match="tpu-v6e has no peak of vector"):
        sa.device("tpu-v6e").select(engine="vector")


def test_where_no_source_was_found_there_is_no_figure():
    without = {d.name for d in sa.devices() if not any((p.dtype, p.engine) == ("fp32", "vector") for p in d.peaks)}
    assert without == {"tpu-v6e", "tpu-v7", "gaudi2"}
    assert all("No source was found" in sa.device(name).note for name in without)


@pytest.mark.parametrize(
    ("name", "dtype", "engine", "tera"),
    [
        ("tpu-v3", "fp32", "vector", 3.8),  # Griffin, table 3; beside 2 cores * 8 * 128 lanes * 2 * 0.94 GHz = 3.85
        ("tpu-v4", "fp32", "vector", 4.3008),  # 2 * 128 * 16 * 1.05 GHz
        ("trainium2", "fp32", "vector", 8),
        ("gb300", "bf16", "matrix", 2500),  # 180 PFLOP/s / 72
        ("gb300", "int8", "matrix", 165),
        ("mi355x", "fp4", "matrix", 10066.4),  # 256 units * 16384 * 2.4 GHz
    ],
)
def test_figures_that_were_looked_up(name: str, dtype: str, engine: str, tera: float):
    found = sa.device(name).peak(dtype, engine=engine)
    assert float(found.speed) == pytest.approx(tera * TERA)
    assert found.dense[0].source.evidence == "seen"


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


def test_the_file_names_no_source_in_vain():
    data = tomllib.loads(files("symacct.hardware").joinpath("catalogue.toml").read_text(encoding="utf-8"))
    used = set(re.findall(r"'source': '([\w-]+)'", str(data)))
    assert used == set(data["sources"])
