"""The devices that symacct knows, and a person's own from a file."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from symacct.errors import HardwareError, nearest, one_of
from symacct.hardware.load import Entries, load_devices, read_entries
from symacct.hardware.types import Device, Engine, Link
from symacct.units import Quantity

_FILES = ("links", "nvidia", "amd", "google", "others")


@lru_cache(maxsize=1)
def _known() -> Entries:
    devices: dict[str, Device] = {}
    links: dict[str, Link] = {}
    for name in _FILES:
        text = files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
        found = read_entries(text, f"{name}.toml", links)
        devices |= found.devices
        links |= found.links
    return Entries(devices, links)


def devices() -> tuple[Device, ...]:
    """Return every device of the catalogue, once each.

    Examples
    --------
    >>> import symacct as sa
    >>> [d.name for d in sa.devices() if d.name.startswith("h100")]
    ['h100', 'h100-pcie', 'h100-nvl']

    """
    return tuple(dict.fromkeys(_known().devices.values()))


def device(name: str | Path | Device) -> Device:
    """Return a device by name, or the one that a TOML file holds.

    Parameters
    ----------
    name
        Such as ``"h100"`` (SXM5), ``"h100-pcie"``, ``"tpu-v5e"``; a path that ends in ``.toml``, with ``#name``
        behind it where the file holds several devices; or a `Device`, which comes back as it is.

    Returns
    -------
    The `Device`, each figure with its source.

    Raises
    ------
    HardwareError
        For an unknown name, lists what is known; or as `load_devices`.

    Examples
    --------
    >>> import symacct as sa
    >>> print(sa.device("h100").memory)
    80.000 GB (74.506 GiB)

    """
    if isinstance(name, Device):
        return name
    if isinstance(name, Path) or ".toml" in name:
        return _from_file(str(name))
    plain = name.strip().lower().replace(" ", "-").replace("_", "-")
    known = _known().devices
    if plain not in known:
        listed = ", ".join(d.name for d in devices())
        raise HardwareError(
            f"unknown device {name[:60]!r}.{nearest(plain, known)} Known: {listed}; or give your own as a .toml file"
        )
    return known[plain]


def _from_file(text: str) -> Device:
    path, _, wanted = text.partition("#")
    found = load_devices(path)
    distinct = list(dict.fromkeys(found.values()))
    if wanted and wanted.lower() in found:
        return found[wanted.lower()]
    if not wanted and len(distinct) == 1:
        return distinct[0]
    held = one_of(d.name for d in distinct)
    raise HardwareError(
        f"no device {wanted!r} in {path}; it has {held}"
        if wanted
        else f"{path} holds {len(distinct)} devices; say which: {path}#NAME, of {held}"
    )


def peak(
    name: str | Path | Device, dtype: str, *, engine: Engine | None = None, accumulation: str | None = None
) -> Quantity:
    """Return the dense peak of a device in FLOP/s for a dtype, never a bare one.

    Parameters
    ----------
    name
        As in `device`.
    dtype, engine, accumulation
        As in `Device.peak`.

    Returns
    -------
    FLOP/s as a quantity; `Device.peak` also has its source and the headline with sparsity.

    Raises
    ------
    HardwareError
        For an unknown device, or a dtype that it has no peak of.

    Examples
    --------
    >>> import symacct as sa
    >>> print(sa.peak("h100", "bf16"))
    989.500 TFLOP/s

    """
    return device(name).peak(dtype, engine=engine, accumulation=accumulation).speed


def link(name: str) -> Link:
    """Return an interconnect by name: bytes/s one way over one link.

    Raises
    ------
    HardwareError
        For an unknown name, lists what is known.

    Examples
    --------
    >>> import symacct as sa
    >>> print(sa.link("nvlink4").bandwidth)
    25.000 GB/s

    """
    known = _known().links
    if name not in known:
        raise HardwareError(f"unknown link {name[:60]!r}.{nearest(name, known)} Known: {', '.join(known)}")
    return known[name]
