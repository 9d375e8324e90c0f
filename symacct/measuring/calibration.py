"""The verb `calibrate`: the peaks and bandwidth of this machine, measured, as a device like those of the catalogue."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from symacct.errors import HardwareError
from symacct.hardware import Device, Figure, Peak, Source
from symacct.measuring.clock import Clock, clock_of, import_torch
from symacct.measuring.rates import Rate, function_rates, launch_rate, matmul_rates, memory_rates, vector_rates
from symacct.show import table
from symacct.units import Quantity


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was measured, and the device that it makes.

    Attributes
    ----------
    device
        An entry like those of the catalogue: matrix peaks by dtype, the vector peak, memory and bandwidth.
    rates
        Every rate that was measured, with its samples.
    """

    device: Device
    rates: tuple[Rate, ...]

    @property
    def launch(self) -> float:
        """Seconds to start the smallest kernel when many are started one after the other."""
        return next(1 / r.value for r in self.rates if r.meter == "launch")

    @property
    def weights(self) -> dict[str, int]:
        """What a call of each function costs here, in operations at the vector peak: weights of a `Convention`.

        ``sa.Convention("2n", weights=calibration.weights)`` counts so that dividing by the peak gives the time.
        """
        peak = float(self.device.peak("fp32", engine="vector").speed)
        return {r.name: max(1, round(peak / r.value)) for r in self.rates if r.meter == "function"}

    @property
    def spread(self) -> float:
        """The widest spread of the rates that the device is made of, as a share."""
        return max(f.spread or 0.0 for f in _figures(self.device))

    def save(self, path: str | Path) -> Path:
        """Write the device as TOML, which ``symacct.device(path)`` and ``--device path`` read.

        Raises
        ------
        HardwareError
            For a path that does not end in ``.toml`` or cannot be written.

        """
        place = Path(path)
        if place.suffix != ".toml":
            msg = f"a device is saved as a .toml file, not {place.name!r}"
            raise HardwareError(msg)
        try:
            place.write_text(to_toml(self.device), encoding="utf-8")
        except OSError as error:
            msg = f"cannot write {place}: {error.strerror}"
            raise HardwareError(msg) from None
        return place

    def __str__(self) -> str:
        """Print the rates with their spread; what casts doubt on one stands below."""
        rows = [[r.meter, r.name, str(Quantity(r.value, r.unit)), f"{r.spread:.1%}"] for r in self.rates]
        out = table(["of", "what", "rate", "spread"], rows, self.device.title)
        doubts = [f" {r.meter} {r.name}: {doubt}" for r in self.rates for doubt in r.measurement.doubts]
        return "\n".join([out, *doubts])

    def to_json(self) -> dict[str, Any]:
        """Return the rates as JSON-able data."""
        rates = [
            {"of": r.meter, "what": r.name, "rate": r.value, "unit": r.unit, **r.measurement.to_json()}
            for r in self.rates
        ]
        return {"device": self.device.title, "spread": self.spread, "rates": rates}


def calibrate(device: str | None = None, *, seconds: float = 1.0, tell: Callable[[str], object] = str) -> Calibration:
    """Measure matrix peaks by dtype, the vector rate and the bandwidth of this machine.

    Parameters
    ----------
    device
        ``"cpu"`` or ``"cuda"``; by default CUDA where there is one.
    seconds
        About how long each rate is measured; there are about a dozen.
    tell
        Is called with the name of each rate when it has been measured.

    Returns
    -------
    `Calibration`, whose `device` goes wherever one of the catalogue does and can be saved as TOML.

    Raises
    ------
    MissingPackageError
        Without torch, or for CUDA where there is none.

    Notes
    -----
    A matrix peak is the rate of square products, made larger until they take long enough. The vector peak is the
    highest rate of element-wise arithmetic on data in the caches: on CUDA of a chain of multiply-adds in registers, on
    a CPU also of products in fp32, which run on the same units. Functions are measured in calls: see `weights`. The
    bandwidth is the highest of a copy, reading, writing and adding on arrays four times the last cache. Each is of the
    fastest of several runs, since a bound divides by what the machine does at best, with the distance of the quartiles
    as its spread.

    Examples
    --------
    >>> import symacct as sa
    >>> here = sa.calibrate("cpu", seconds=0.01)  # doctest: +SKIP
    >>> sa.account("m k, k n -> m n", dtype="fp32").roofline(here.device)  # doctest: +SKIP

    """
    torch = import_torch()
    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    clock = clock_of(place)
    rates = []
    for found in _all_rates(clock, place, seconds):
        rates.append(found)
        tell(f"{found.meter} {found.name}")
    return Calibration(_device(clock, place, rates), tuple(rates))


def _all_rates(clock: Clock, place: str, seconds: float) -> Iterator[Rate]:
    yield from matmul_rates(clock, place, seconds)
    yield from vector_rates(clock, place, seconds)
    yield from function_rates(clock, place, seconds / 2)
    yield from memory_rates(clock, place, seconds)
    yield launch_rate(place, seconds)


def _device(clock: Clock, place: str, rates: Iterable[Rate]) -> Device:
    """Return the device that rates make: the best of those that measure one thing counts."""
    name, memory, driver = _machine(clock, place)
    source = Source(f"symacct.calibrate, {driver}", datetime.now(UTC).date().isoformat(), "measured")
    best = sorted(rates, key=lambda r: -r.value)

    def figure(r: Rate) -> Figure:
        return Figure(Quantity(round(r.value), r.unit), source, r.name, round(r.spread, 4))

    peaks = [Peak(r.name, _sums(r.name), "matrix", (figure(r),)) for r in best if r.meter == "matmul"]
    # a CPU multiplies and computes on the same units
    shared = [r for r in best if clock.device == "cpu" and (r.meter, r.name) == ("matmul", "fp32")]
    vector = tuple(figure(r) for r in sorted(shared + [r for r in best if r.meter == "vector"], key=lambda r: -r.value))
    return Device(
        name=place.replace(":", "-"),
        title=f"{name}, measured",
        peaks=(*peaks, Peak("fp32", "fp32", "vector", vector)),
        capacities=(Figure(Quantity(memory, "B"), source),),
        bandwidths=tuple(figure(r) for r in best if r.meter == "memory"),
    )


def _sums(dtype: str) -> str:
    return "fp64" if dtype == "fp64" else "fp32"


def _machine(clock: Clock, place: str) -> tuple[str, int, str]:
    """Return the name of the processor, its bytes of memory, and what runs on it."""
    torch = import_torch()
    if clock.device == "cuda":
        properties = torch.cuda.get_device_properties(place)
        return properties.name, properties.total_memory, f"torch {torch.__version__}, CUDA {torch.version.cuda}"
    if not hasattr(os, "sysconf"):
        msg = "this system does not tell how much memory it has; write the device by hand (help(symacct.load_devices))"
        raise HardwareError(msg)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{_cpu_name()}, {torch.get_num_threads()} threads", memory, f"torch {torch.__version__}"


def _cpu_name() -> str:
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.is_file() else []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


def _figures(device: Device) -> list[Figure]:
    """Return the figures that count."""
    return [*(p.dense[0] for p in device.peaks), device.bandwidths[0]]


def to_toml(device: Device) -> str:
    """Return a device whose figures share one source as TOML.

    Raises
    ------
    HardwareError
        For a device whose figures have several sources: a measured one has one.

    """
    sources = {f.source for p in device.peaks for f in p.dense} | {f.source for f in device.bandwidths}
    if len(sources) != 1:
        msg = f"{device.name} has figures of {len(sources)} sources; what was measured has one"
        raise HardwareError(msg)
    source = sources.pop()
    text = partial(json.dumps, ensure_ascii=False)

    def figure(f: Figure) -> str:
        value = f"{f.quantity.value} {f.quantity.unit}"
        return f"{{ value = {text(value)}, note = {text(f.note)}, spread = {f.spread or 0.0} }}"

    def figures(several: tuple[Figure, ...]) -> str:
        return f"[{', '.join(map(figure, several))}]"

    def peak(p: Peak) -> str:
        words = f'dtypes = ["{p.dtype}"], accumulation = "{p.accumulation}", engine = "{p.engine}"'
        return f"    {{ {words}, dense = {figures(p.dense)} }},"

    lines = [
        "[sources]",
        f"here = {{ title = {text(source.title)}, date = {text(source.date)}, evidence = {text(source.evidence)} }}",
        "",
        "[[device]]",
        f"name = {text(device.name)}",
        f"title = {text(device.title)}",
        'source = "here"',
        f"memory = {text(f'{device.memory.value} B')}",
        f"bandwidth = {figures(device.bandwidths)}",
        "peaks = [",
        *map(peak, device.peaks),
        "]",
    ]
    return "\n".join(lines) + "\n"
