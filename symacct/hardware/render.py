"""Devices and their peaks as tables and JSON with stable keys."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Sequence
from typing import Any

from symacct.hardware.figures import Figure, Link, Peak
from symacct.hardware.types import Device
from symacct.show import WIDTH, table
from symacct.units import Quantity


def devices_text(devices: Sequence[Device]) -> str:
    """Return devices as a table: memory, bandwidth, and the dense peak of the format they are built for."""
    rows = []
    for device in devices:
        peak = _main(device)
        ridge = float(peak.speed / device.bandwidth)
        size = f"{_round(float(device.memory) / 10**9)} GB"
        rows.append([device.name, size, str(device.bandwidth), f"{peak.speed}", peak.dtype, _round(ridge)])
    return table(["device", "memory", "bandwidth", "dense peak", "of", "FLOP/B"], rows)


def _round(number: float) -> str:
    """Write a whole number, a small one in three digits."""
    return f"{number:.0f}" if number >= 10 else f"{number:.3g}"


def _main(device: Device) -> Peak:
    """The peak that a device is compared by: of bf16, else of fp16, else of fp32."""
    by_dtype = {dtype: [p for p in device.peaks if p.dtype == dtype] for dtype in ("bf16", "fp16", "fp32")}
    named = next((peaks for peaks in by_dtype.values() if peaks), list(device.peaks))
    return device.peak(named[0].dtype)


def device_text(device: Device) -> str:
    """Return everything that is known of a device, each figure with its source."""
    lines = [f"{device.name}: {device.title}"]
    lines += [f" {device.note}"] if device.note else []
    lines += _figures("memory", device.capacities) + _figures("bandwidth", device.bandwidths)
    for link in device.links:
        lines += _figures(f"{link.name} x {link.count}", link.one_way, " one way, each")
    return "\n".join([*lines, peaks_text(device, device.peaks)])


def peaks_text(device: Device, peaks: Sequence[Peak]) -> str:
    """Return peaks with their sources, their second way from the parts of the chip, and their ridge."""
    lines = []
    for _, group in itertools.groupby(peaks, lambda p: (p.accumulation, p.engine, p.dense, p.sparse)):
        alike = list(group)
        peak = alike[0]
        what = f"{device.name}: {' '.join(p.dtype for p in alike)}, {peak.accumulation} sums, {peak.engine}"
        lines += textwrap.wrap(what, WIDTH, subsequent_indent=" ")
        lines += [*_figures("dense", peak.dense), *_figures("sparse 2:4", peak.sparse)]
        if peak.clocked:
            lines.append(f" {'from parts':<12} {_plain(peak.clocked.speed)} = {peak.clocked}")
        lines.append(f" {'ridge':<12} {peak.speed / device.bandwidth} at {_plain(device.bandwidth)}")
    return "\n".join(lines)


def _figures(what: str, figures: Sequence[Figure], unit: str = "") -> list[str]:
    """Return each figure and its source; the first is the one that counts."""
    lines = []
    for i, figure in enumerate(figures):
        lines.append(f" {what if i == 0 else '  or':<12} {_plain(figure.quantity)}{unit}")
        source = f"{figure.source}; {figure.note}" if figure.note else str(figure.source)
        lines += textwrap.wrap(source, WIDTH, initial_indent=" " * 14, subsequent_indent=" " * 14)
    return lines


def _plain(quantity: Quantity) -> str:
    """Print with all digits that sources differ in."""
    scale, unit = {"FLOP/s": (10**12, "TFLOP/s"), "B/s": (10**9, "GB/s")}.get(quantity.unit, (0, ""))
    return f"{float(quantity / scale):,.8g} {unit}" if scale else str(quantity)


def device_json(device: Device) -> dict[str, Any]:
    """Return a device with every figure in base units, its source and evidence; the first of a list counts."""
    return {
        "name": device.name,
        "title": device.title,
        "note": device.note,
        "memory": _json(device.capacities),
        "bandwidth": _json(device.bandwidths),
        "links": [_link_json(link) for link in device.links],
        "peaks": peaks_json(device, device.peaks),
    }


def peaks_json(device: Device, peaks: Sequence[Peak]) -> list[dict[str, Any]]:
    """Return peaks in FLOP/s with their sources, and their ridge in FLOP/B."""
    return [
        {
            "device": device.name,
            "dtype": peak.dtype,
            "accumulation": peak.accumulation,
            "engine": peak.engine,
            "dense": _json(peak.dense),
            "sparse": _json(peak.sparse),
            "parts": None if peak.clocked is None else float(peak.clocked.speed),
            "ridge": float(peak.speed / device.bandwidth),
        }
        for peak in peaks
    ]


def _link_json(link: Link) -> dict[str, Any]:
    return {"name": link.name, "count": link.count, "one_way": _json(link.one_way)}


def _json(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    return [
        {
            "value": float(f.quantity),
            "unit": f.quantity.unit,
            "source": f.source.title,
            "date": f.source.date,
            "evidence": f.source.evidence,
            "note": f.note,
            "spread": f.spread,
        }
        for f in figures
    ]
