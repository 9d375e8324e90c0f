"""The devices that symacct knows, and a person's own from a file."""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from symacct.errors import HardwareError, nearest, one_of
from symacct.hardware.figures import Link
from symacct.hardware.load import Entries, read_entries
from symacct.hardware.types import Device
from symacct.units import Quantity

_LARGEST = 1_000_000
_MAKERS = re.compile(r"^(nvidia|amd|google|intel|aws|tesla|geforce|instinct|-)+")
"""What names begin with in full, as in those that torch reports: ``NVIDIA A100-SXM4-80GB``."""


@lru_cache(maxsize=1)
def _known() -> Entries:
    name = "catalogue.toml"
    return read_entries(files(__package__).joinpath(name).read_text(encoding="utf-8"), name, {})


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
        Such as ``"h100"`` (SXM5), ``"h100-pcie"``, ``"tpu-v5e"``, or as torch reports it (``"NVIDIA H200"``); a path
        that ends in ``.toml``, with ``#name`` behind it where the file holds several devices; or a `Device`, which
        comes back as it is.

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
    if not isinstance(name, str | Path):
        raise HardwareError(f"{repr(name)[:60]} is no device; give a name such as 'h100', a .toml file or a Device")
    if isinstance(name, Path) or ".toml" in name:
        return _from_file(str(name))
    plain = _MAKERS.sub("", name.strip().lower().replace(" ", "-").replace("_", "-"))
    known = _known().devices
    if plain not in known:
        listed = ", ".join(d.name for d in devices())
        raise HardwareError(
            f"unknown device {name[:60]!r}.{nearest(plain, known)} Known: {listed}; or give your own as a .toml file"
        )
    return known[plain]


def load_devices(path: str | Path) -> dict[str, Device]:
    """Return the devices of a TOML file, by name and by alias.

    Parameters
    ----------
    path
        A file of ``[[device]]`` tables:

        - `name`, `memory`, `bandwidth`, `peaks`; `title`, `aliases`, `note`, `source`, and `links`, each the `name` of
          a ``[[link]]`` or of one that `link` knows, and a `count`;
        - a peak has `dtypes` and `dense` or `sparse` (dense is half of it); `accumulation` (fp32), `engine` (matrix),
          `source`, and `units`, `operations`, `clock`, whose product is the peak in a second way;
        - numbers are text with their units, or tables of `value`, `source`, `note` and `spread`, or lists of what
          sources say, of which the first counts;
        - a source is the name of a table of ``[sources]`` with `title`, `date` and `evidence`.

    Returns
    -------
    A mapping of names to devices.

    Raises
    ------
    HardwareError
        For a file that cannot be read or is no TOML, a key that is missing or unknown, a number in another unit.

    Examples
    --------
    >>> import pathlib, symacct as sa, tempfile
    >>> toml = '''
    ... [[device]]
    ... name = "mine"
    ... memory = "16 GB"
    ... bandwidth = "500 GB/s"
    ... peaks = [{ dtypes = ["bf16", "fp16"], dense = "100 TFLOP/s" }]
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "mine.toml")
    ...     _ = file.write_text(toml)
    ...     sa.load_devices(file)["mine"].ridge("bf16")
    Quantity(200, 'FLOP/B')

    """
    place = Path(path)
    try:
        if place.stat().st_size > _LARGEST:
            raise HardwareError(f"{place} has more than {_LARGEST:,} bytes, too many for a list of devices")
        toml = place.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise HardwareError(f"cannot read {place}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise HardwareError(f"{place} is no UTF-8 text: {error}") from None
    return read_entries(toml, place.name, _known().links).devices


def _from_file(text: str) -> Device:
    path, _, wanted = text.partition("#")
    found = load_devices(path)
    distinct = list(dict.fromkeys(found.values()))
    if wanted and wanted.lower() in found:
        return found[wanted.lower()]
    if not wanted and len(distinct) == 1:
        return distinct[0]
    if not distinct:
        raise HardwareError(f"{path} has no [[device]]")
    held = one_of(d.name for d in distinct)
    raise HardwareError(
        f"no device {wanted!r} in {path}; it has {held}"
        if wanted
        else f"{path} holds {len(distinct)} devices; say which: {path}#NAME, of {held}"
    )


def peak(
    name: str | Path | Device, dtype: object, *, engine: str | None = None, accumulation: str | None = None
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
        raise HardwareError(f"unknown link {str(name)[:60]!r}.{nearest(str(name), known)} Known: {', '.join(known)}")
    return known[name]
