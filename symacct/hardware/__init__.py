"""Hardware as data: peaks, memories and links of devices, each figure with its source and date."""

from __future__ import annotations

from symacct.hardware.catalogue import device, devices, link, load_devices, peak
from symacct.hardware.figures import Clocked, Engine, Figure, Link, Peak, Source
from symacct.hardware.types import Device

__all__ = [
    "Clocked",
    "Device",
    "Engine",
    "Figure",
    "Link",
    "Peak",
    "Source",
    "device",
    "devices",
    "link",
    "load_devices",
    "peak",
]
