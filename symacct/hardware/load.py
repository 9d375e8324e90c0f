"""TOML -> devices, checked: what is missing, unknown or in the wrong unit is named with its place."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from symacct.errors import HardwareError, one_of
from symacct.hardware.checks import check_keys, shown, table, tables, text, texts
from symacct.hardware.entries import Reader
from symacct.hardware.figures import EVIDENCE, Link, Source
from symacct.hardware.types import Device


class Entries(NamedTuple):
    """What a file holds, by name and by alias."""

    devices: dict[str, Device]
    links: dict[str, Link]


def read_entries(toml: str, title: str, links: Mapping[str, Link]) -> Entries:
    """Return the devices and links of a TOML text, called `title`; `links` are known besides those in it.

    Raises
    ------
    HardwareError
        Names what is missing, unknown or in another unit, and its place.

    """
    try:
        data = tomllib.loads(toml)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise HardwareError(f"{title} is no TOML: {error}") from None
    check_keys(data, title, optional=("sources", "link", "device"))
    reader = Reader(title, _sources(data.get("sources", {}), title), dict(links))
    for i, entry in enumerate(tables(data.get("link", []), f"{title}, link")):
        made = reader.link(entry, f"{title}, link {shown(entry.get('name', i + 1))}")
        reader.links[made.name] = made
    found: dict[str, Device] = {}
    for i, entry in enumerate(tables(data.get("device", []), f"{title}, device")):
        place = f"{title}, device {shown(entry.get('name', i + 1))}"
        made_device = reader.device(entry, place)
        for name in (made_device.name, *texts(entry.get("aliases", []), f"{place}, aliases")):
            if found.setdefault(name.lower(), made_device) is not made_device:
                raise HardwareError(f"{place}: {name!r} is another device already")
    return Entries(found, reader.links)


def _sources(data: Any, title: str) -> dict[str, Source]:
    found = {}
    for name, entry in table(data, f"{title}, sources").items():
        place = f"{title}, source {name!r}"
        check_keys(table(entry, place), place, required=("title", "date", "evidence"))
        evidence = text(entry, "evidence", place)
        if evidence not in EVIDENCE:
            raise HardwareError(f"{place}: unknown evidence {evidence!r}; known: {one_of(EVIDENCE)}")
        found[name] = Source(text(entry, "title", place), text(entry, "date", place), evidence)
    return found
