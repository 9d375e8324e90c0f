"""Clocks: how one call is timed on a device, how its caches are emptied, and what the device says of its frequency."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from symacct.errors import ConventionError, MissingPackageError

Call: TypeAlias = Callable[[], object]

DEVICES = ("cpu", "cuda")
USUAL_CACHE = 32 * 2**20
"""Bytes of the last cache where the machine does not tell."""


class Clock(NamedTuple):
    """How one device is timed.

    `seconds` runs a call and returns how long it took, with everything before it finished and everything that it
    started finished too; `flush` empties the caches; `complaints` says whether the device reports that it throttles.
    """

    device: str
    cache: int
    seconds: Callable[[Call], float]
    flush: Call
    complaints: Callable[[], tuple[str, ...]]


def clock_of(device: str) -> Clock:
    """Return the clock of a device.

    Raises
    ------
    ConventionError
        For a device that cannot be timed.
    MissingPackageError
        For CUDA where there is none.

    """
    if device == "cpu":
        return _cpu()
    if device != "cuda" and not str(device).startswith("cuda:"):
        msg = f"no clock for the device {device!r}; known: {', '.join(DEVICES)}"
        raise ConventionError(msg)
    return _cuda(device)


def _cpu() -> Clock:
    cache = last_cache()
    scratch = b"\1" * (2 * cache)  # not zeros: pages that nobody wrote to are all the same one

    def seconds(call: Call) -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    def flush() -> None:
        # by reading: what is written would have to be written back during the call that is timed
        scratch.find(b"\0")

    return Clock("cpu", cache, seconds, flush, tuple)


def last_cache() -> int:
    """Return the bytes of the last cache of this CPU, as its system tells; else a usual size."""
    told = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    sizes = [int(t[:-1]) * units[t[-1]] for t in (path.read_text().strip() for path in told) if t[-1:] in units]
    known = os.sysconf("SC_LEVEL3_CACHE_SIZE") if "SC_LEVEL3_CACHE_SIZE" in getattr(os, "sysconf_names", {}) else 0
    return max([*sizes, known]) or USUAL_CACHE


def _cuda(device: str) -> Clock:
    torch = import_torch()
    if not torch.cuda.is_available():
        msg = "there is no CUDA device here; measure on device='cpu', or where a GPU is"
        raise MissingPackageError(msg)
    cache = torch.cuda.get_device_properties(device).L2_cache_size
    scratch = torch.empty(4 * cache, dtype=torch.uint8, device=device)

    def seconds(call: Call) -> float:
        with torch.cuda.device(device):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            call()
            end.record()
            torch.cuda.synchronize(device)
            return float(start.elapsed_time(end)) / 1e3

    def flush() -> None:
        # waits for what ran before; what follows is enqueued while this still runs, so launching it costs no time
        torch.cuda.synchronize(device)
        scratch.zero_()

    return Clock("cuda", cache, seconds, flush, lambda: _complaints(torch, device))


REASONS = {0x4: "a power cap", 0x8: "a hardware slowdown", 0x20: "its temperature", 0x40: "its temperature"}
"""Bits by which an NVIDIA GPU tells why its clock is low, of those that spoil a measurement."""


def _complaints(torch: Any, device: str) -> tuple[str, ...]:
    """Return why the GPU says that it runs below its clock."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return ()
    number = f"GPU-{torch.cuda.get_device_properties(device).uuid}"
    query = "--query-gpu=clocks_throttle_reasons.active"
    asked = [command, query, "--format=csv,noheader", "-i", number]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603
    try:
        bits = int(ran.stdout.strip(), 16)
    except ValueError:
        return ()
    reasons = dict.fromkeys(reason for bit, reason in REASONS.items() if bits & bit)
    return tuple(f"THROTTLED: the GPU reports that {reason} holds its clock down" for reason in reasons)


def import_torch() -> Any:
    """Return torch.

    Raises
    ------
    MissingPackageError
        Without torch.

    """
    try:
        import torch
    except ImportError:
        msg = "tensors to measure with need torch: pip install 'symacct[torch]'"
        raise MissingPackageError(msg) from None
    return torch
