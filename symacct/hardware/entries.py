"""The tables of one file as devices, peaks and links."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from symacct.errors import HardwareError, nearest, one_of
from symacct.hardware.checks import amount, check_keys, format_name, shown, tables, text, texts, whole_number
from symacct.hardware.figures import ENGINES, Clocked, Figure, Link, Peak, Source
from symacct.hardware.types import Device


class Reader:
    """The tables of one file, with the sources and links that they name."""

    def __init__(self, title: str, sources: Mapping[str, Source], links: dict[str, Link]) -> None:
        self.own = Source(title, "no date", "stated")
        self.sources = sources
        self.links = links

    def device(self, entry: Mapping[str, Any], place: str) -> Device:
        """Make a device of its table."""
        optional = ("title", "aliases", "note", "links", "source")
        check_keys(entry, place, required=("name", "memory", "bandwidth", "peaks"), optional=optional)
        name, source = text(entry, "name", place), self._source(entry, place, self.own)
        peaks = [
            peak
            for i, p in enumerate(tables(entry["peaks"], f"{place}, peaks"))
            for peak in self._peaks(p, f"{place}, peak {i + 1}", source)
        ]
        if not peaks:
            raise HardwareError(f"{place} has no peaks")
        seen: set[tuple[str, str, str]] = set()
        for p in peaks:
            key = (p.dtype, p.accumulation, p.engine)
            if key in seen:
                raise HardwareError(f"{place} has two peaks of {p.label}; conflicting figures are a list in one peak")
            seen.add(key)
        return Device(
            name=name,
            title=text(entry, "title", place, name),
            peaks=tuple(peaks),
            capacities=self._figures(entry["memory"], "B", f"{place}, memory", source),
            bandwidths=self._figures(entry["bandwidth"], "B/s", f"{place}, bandwidth", source),
            links=tuple(self._counted_link(x, f"{place}, links") for x in tables(entry.get("links", []), place)),
            note=text(entry, "note", place, ""),
        )

    def _peaks(self, entry: Mapping[str, Any], place: str, source: Source) -> Iterable[Peak]:
        """Make a peak for each of the dtypes that share one line."""
        optional = ("accumulation", "engine", "dense", "sparse", "units", "operations", "clock", "source")
        check_keys(entry, place, required=("dtypes",), optional=optional)
        source = self._source(entry, place, source)
        engine = entry.get("engine", "matrix")
        if engine not in ENGINES:
            raise HardwareError(f"{place}: unknown engine {shown(engine)}; known: {one_of(ENGINES)}")
        sparse = self._figures(entry["sparse"], "FLOP/s", f"{place}, sparse", source) if "sparse" in entry else ()
        if "dense" in entry:
            dense = self._figures(entry["dense"], "FLOP/s", f"{place}, dense", source)
        elif sparse:
            note = "half of the headline, which counts 2:4 sparsity"
            dense = tuple(Figure(f.quantity / 2, f.source, note) for f in sparse)
        else:
            raise HardwareError(f"{place} has neither dense nor sparse; give one of them in FLOP/s")
        for dtype in texts(entry["dtypes"], f"{place}, dtypes"):
            name = format_name(dtype, place)
            sums = format_name(entry.get("accumulation", _sums_of(name)), place)
            yield Peak(name, sums, engine, dense, sparse, self._clocked(entry, place))

    def _clocked(self, entry: Mapping[str, Any], place: str) -> Clocked | None:
        given = [k for k in ("units", "operations", "clock") if k in entry]
        if not given:
            return None
        if len(given) < 3:
            raise HardwareError(f"{place} has {one_of(given)}; units, operations and clock go together")
        units, operations = (whole_number(entry[k], f"{place}, {k}") for k in ("units", "operations"))
        return Clocked(units, operations, amount(entry["clock"], "1/s", f"{place}, clock"))

    def link(self, entry: Mapping[str, Any], place: str) -> Link:
        """Make a link of its table."""
        check_keys(entry, place, required=("name", "one_way"), optional=("source",))
        source = self._source(entry, place, self.own)
        return Link(text(entry, "name", place), self._figures(entry["one_way"], "B/s", f"{place}, one_way", source))

    def _counted_link(self, entry: Mapping[str, Any], place: str) -> Link:
        check_keys(entry, place, required=("name",), optional=("count",))
        name = text(entry, "name", place)
        if name not in self.links:
            known = one_of(self.links)
            raise HardwareError(f"{place}: unknown link {shown(name)}.{nearest(name, self.links)} Known: {known}")
        return Link(name, self.links[name].one_way, whole_number(entry.get("count", 1), f"{place}, count"))

    def _figures(self, given: Any, unit: str, place: str, source: Source) -> tuple[Figure, ...]:
        """Read one figure, or a list of them that disagree; each is text, or a table with its own source."""
        entries = given if isinstance(given, list) else [given]
        if not entries:
            raise HardwareError(f"{place} is an empty list")
        return tuple(self._figure(entry, unit, place, source) for entry in entries)

    def _figure(self, given: Any, unit: str, place: str, source: Source) -> Figure:
        if not isinstance(given, Mapping):
            return Figure(amount(given, unit, place), source)
        check_keys(given, place, required=("value",), optional=("source", "note", "spread"))
        spread = given.get("spread")
        share = isinstance(spread, int | float) and not isinstance(spread, bool) and 0 <= spread < math.inf
        if spread is not None and not share:
            raise HardwareError(f"{place}: the spread {shown(spread)} is no share of the value, such as 0.02")
        value = amount(given["value"], unit, place)
        return Figure(value, self._source(given, place, source), text(given, "note", place, ""), spread)

    def _source(self, entry: Mapping[str, Any], place: str, default: Source) -> Source:
        if "source" not in entry:
            return default
        name = text(entry, "source", place)
        if name not in self.sources:
            raise HardwareError(f"{place}: no source {shown(name)} in [sources]; it has {one_of(self.sources)}")
        return self.sources[name]


def _sums_of(dtype: str) -> str:
    return "int32" if "int" in dtype else "fp64" if dtype == "fp64" else "fp32"
