"""TOML -> devices, checked: what is missing, unknown or in the wrong unit is named with its place."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from symacct.dtypes import as_format
from symacct.errors import HardwareError, SymacctError, nearest, one_of
from symacct.hardware.types import ENGINES, EVIDENCE, Clocked, Device, Figure, Link, Peak, Source
from symacct.units import quantity

_LARGEST = 1_000_000


class Entries(NamedTuple):
    """What a file holds, by name and by alias."""

    devices: dict[str, Device]
    links: dict[str, Link]


def load_devices(path: str | Path) -> dict[str, Device]:
    """Return the devices of a TOML file, by name and by alias.

    Parameters
    ----------
    path
        A file of ``[[device]]`` tables with `name`, `memory`, `bandwidth` and `peaks`, numbers as text with their
        units; `source` names a table of ``[sources]`` (title, date, evidence).

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
    >>> text = '''
    ... [[device]]
    ... name = "mine"
    ... memory = "16 GB"
    ... bandwidth = "500 GB/s"
    ... peaks = [{ dtypes = ["bf16", "fp16"], dense = "100 TFLOP/s" }]
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "mine.toml")
    ...     _ = file.write_text(text)
    ...     sa.load_devices(file)["mine"].ridge("bf16")
    Quantity(200, 'FLOP/B')

    """
    place = Path(path)
    try:
        if place.stat().st_size > _LARGEST:
            raise HardwareError(f"{place} has more than {_LARGEST:,} bytes, too many for a list of devices")
        text = place.read_text(encoding="utf-8")
    except OSError as error:
        raise HardwareError(f"cannot read {place}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise HardwareError(f"{place} is no UTF-8 text: {error}") from None
    return read_entries(text, place.name).devices


def read_entries(text: str, title: str, links: Mapping[str, Link] | None = None) -> Entries:
    """Return the devices and links of a TOML text; `links` are known besides those in it."""
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise HardwareError(f"{title} is no TOML: {error}") from None
    _keys(data, title, optional=("sources", "link", "device"))
    reader = _Reader(title, _sources(data.get("sources", {}), title), dict(links or {}))
    for i, entry in enumerate(_tables(data.get("link", []), f"{title}, link")):
        made = reader.link(entry, f"{title}, link {entry.get('name', i + 1)!r}")
        reader.links[made.name] = made
    found: dict[str, Device] = {}
    for i, entry in enumerate(_tables(data.get("device", []), f"{title}, device")):
        place = f"{title}, device {entry.get('name', i + 1)!r}"
        made_device = reader.device(entry, place)
        for name in (made_device.name, *_texts(entry.get("aliases", []), f"{place}, aliases")):
            if found.setdefault(name.lower(), made_device) is not made_device:
                raise HardwareError(f"{place}: {name!r} is another device already")
    return Entries(found, reader.links)


class _Reader:
    """The tables of one file, with the sources and links that they name."""

    def __init__(self, title: str, sources: Mapping[str, Source], links: dict[str, Link]) -> None:
        self.own = Source(title, "no date", "stated")
        self.sources = sources
        self.links = links

    def device(self, entry: Mapping[str, Any], place: str) -> Device:
        optional = ("title", "aliases", "note", "links", "source")
        _keys(entry, place, required=("name", "memory", "bandwidth", "peaks"), optional=optional)
        name, source = _text(entry, "name", place), self.source(entry, place, self.own)
        peaks = [
            peak
            for i, p in enumerate(_tables(entry["peaks"], f"{place}, peaks"))
            for peak in self.peaks(p, f"{place}, peak {i + 1}", source)
        ]
        seen: set[tuple[str, str, str]] = set()
        for p in peaks:
            key = (p.dtype, p.accumulation, p.engine)
            if key in seen:
                raise HardwareError(f"{place} has two peaks of {p.label}; conflicting figures are a list in one peak")
            seen.add(key)
        return Device(
            name=name,
            title=_text(entry, "title", place, name),
            peaks=tuple(peaks),
            capacities=self.figures(entry["memory"], "B", f"{place}, memory", source),
            bandwidths=self.figures(entry["bandwidth"], "B/s", f"{place}, bandwidth", source),
            links=tuple(self.counted_link(x, f"{place}, links") for x in _tables(entry.get("links", []), place)),
            note=_text(entry, "note", place, ""),
        )

    def peaks(self, entry: Mapping[str, Any], place: str, source: Source) -> Iterable[Peak]:
        """Make a peak for each of the dtypes that share one line."""
        optional = ("accumulation", "engine", "dense", "sparse", "units", "operations", "clock", "source")
        _keys(entry, place, required=("dtypes",), optional=optional)
        source = self.source(entry, place, source)
        engine = entry.get("engine", "matrix")
        if engine not in ENGINES:
            raise HardwareError(f"{place}: unknown engine {engine!r}; known: {one_of(ENGINES)}")
        sparse = self.figures(entry["sparse"], "FLOP/s", f"{place}, sparse", source) if "sparse" in entry else ()
        if "dense" in entry:
            dense = self.figures(entry["dense"], "FLOP/s", f"{place}, dense", source)
        elif sparse:
            note = "half of the headline, which counts 2:4 sparsity"
            dense = tuple(Figure(f.quantity / 2, f.source, note) for f in sparse)
        else:
            raise HardwareError(f"{place} has neither dense nor sparse; give one of them in FLOP/s")
        for dtype in _texts(entry["dtypes"], f"{place}, dtypes"):
            name = _format(dtype, place)
            sums = _format(entry.get("accumulation", _sums_of(name)), place)
            yield Peak(name, sums, engine, dense, sparse, self.clocked(entry, place))

    def clocked(self, entry: Mapping[str, Any], place: str) -> Clocked | None:
        given = [k for k in ("units", "operations", "clock") if k in entry]
        if not given:
            return None
        if len(given) < 3:
            raise HardwareError(f"{place} has {one_of(given)}; units, operations and clock go together")
        units, operations = (_whole(entry[k], f"{place}, {k}") for k in ("units", "operations"))
        return Clocked(units, operations, _quantity(entry["clock"], "1/s", f"{place}, clock"))

    def link(self, entry: Mapping[str, Any], place: str) -> Link:
        _keys(entry, place, required=("name", "one_way"), optional=("source",))
        source = self.source(entry, place, self.own)
        return Link(_text(entry, "name", place), self.figures(entry["one_way"], "B/s", f"{place}, one_way", source))

    def counted_link(self, entry: Mapping[str, Any], place: str) -> Link:
        _keys(entry, place, required=("name",), optional=("count",))
        name = _text(entry, "name", place)
        if name not in self.links:
            known = one_of(self.links)
            raise HardwareError(f"{place}: unknown link {name!r}.{nearest(name, self.links)} Known: {known}")
        return Link(name, self.links[name].one_way, _whole(entry.get("count", 1), f"{place}, count"))

    def figures(self, given: Any, unit: str, place: str, source: Source) -> tuple[Figure, ...]:
        """Read one figure, or a list of them that disagree; each is text, or a table with its own source."""
        entries = given if isinstance(given, list) else [given]
        if not entries:
            raise HardwareError(f"{place} is an empty list")
        return tuple(self.figure(entry, unit, place, source) for entry in entries)

    def figure(self, given: Any, unit: str, place: str, source: Source) -> Figure:
        if not isinstance(given, Mapping):
            return Figure(_quantity(given, unit, place), source)
        _keys(given, place, required=("value",), optional=("source", "note", "spread"))
        spread = given.get("spread")
        if spread is not None and (isinstance(spread, bool) or not isinstance(spread, int | float) or spread < 0):
            raise HardwareError(f"{place}: the spread {spread!r} is no share of the value, such as 0.02")
        amount = _quantity(given["value"], unit, place)
        return Figure(amount, self.source(given, place, source), _text(given, "note", place, ""), spread)

    def source(self, entry: Mapping[str, Any], place: str, default: Source) -> Source:
        name = entry.get("source")
        if name is None:
            return default
        if name not in self.sources:
            raise HardwareError(f"{place}: no source {name!r} in [sources]; it has {one_of(self.sources)}")
        return self.sources[name]


def _sources(data: Any, title: str) -> dict[str, Source]:
    found = {}
    for name, entry in _table(data, f"{title}, sources").items():
        place = f"{title}, source {name!r}"
        _keys(_table(entry, place), place, required=("title", "date", "evidence"))
        evidence = _text(entry, "evidence", place)
        if evidence not in EVIDENCE:
            raise HardwareError(f"{place}: unknown evidence {evidence!r}; known: {one_of(EVIDENCE)}")
        found[name] = Source(_text(entry, "title", place), _text(entry, "date", place), evidence)
    return found


def _sums_of(dtype: str) -> str:
    """The format that products of a dtype are summed in where nothing is said: int32, fp64 or fp32."""
    return "int32" if "int" in dtype else "fp64" if dtype == "fp64" else "fp32"


def _format(name: Any, place: str) -> str:
    try:
        return as_format(name).name
    except SymacctError as error:
        raise HardwareError(f"{place}: {error}") from None


def _quantity(given: Any, unit: str, place: str) -> Any:
    if not isinstance(given, str):
        raise HardwareError(f"{place} is {given!r}; write text with its unit, as in '80 GB' or '989.5 TFLOP/s'")
    try:
        found = quantity(given, unit)
    except SymacctError as error:
        raise HardwareError(f"{place}: {error}") from None
    if found.value == 0:
        raise HardwareError(f"{place} is 0; leave out what a device does not have")
    return found


def _keys(
    data: Mapping[str, Any], place: str, *, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
) -> None:
    known = (*required, *optional)
    if unknown := [k for k in data if k not in known]:
        hint = nearest(unknown[0], known)
        raise HardwareError(f"{place}: unknown key {unknown[0]!r}.{hint} Known: {one_of(known)}")
    if missing := [k for k in required if k not in data]:
        raise HardwareError(f"{place} has no {one_of(missing)}")


def _table(data: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise HardwareError(f"{place} is {data!r}, not a table")
    return data


def _tables(data: Any, place: str) -> list[Mapping[str, Any]]:
    if not isinstance(data, list):
        raise HardwareError(f"{place} is {data!r}, not a list of tables")
    return [_table(entry, place) for entry in data]


def _text(entry: Mapping[str, Any], key: str, place: str, default: str | None = None) -> str:
    found = entry.get(key, default)
    if not isinstance(found, str) or not (found or default == ""):
        raise HardwareError(f"{place}: {key} is {found!r}, not text")
    return found


def _texts(data: Any, place: str) -> list[str]:
    if not isinstance(data, list) or not all(isinstance(x, str) and x for x in data):
        raise HardwareError(f"{place} is {data!r}, not a list of texts")
    return data


def _whole(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise HardwareError(f"{place} is {value!r}, not a whole number from 1 on")
    return value
