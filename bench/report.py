"""From samples to statistics, verdicts and a table of 80 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby
from statistics import median, quantiles
from typing import Any

from bench.rounds import Comparison

WIDTHS = (25, 7, 7, 6, 13, 6, 10)
HEADERS = ("", "this", "peer", "ratio", "quartiles", "best", "target")
UNITS = ((1, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns"))
BEGIN, END = "<!-- results -->", "<!-- end of results -->"


def summary(c: Comparison) -> dict[str, Any]:
    """Return the medians and minima of both, and of their ratio round by round."""
    ratios = [a / b for a, b in zip(c.ours, c.peer, strict=True)]
    low, _, high = quantiles(ratios, n=4, method="inclusive")
    ratio, ours = median(ratios), median(c.ours)
    targets = ((ratio, c.at_most), (ours, c.seconds))
    verdicts = [value <= limit for value, limit in targets if limit is not None]
    return {
        "group": c.group,
        "title": c.title,
        "unit": c.unit,
        "rounds": len(ratios),
        "this": {"median": digits(ours), "min": digits(min(c.ours))},
        "peer": {"median": digits(median(c.peer)), "min": digits(min(c.peer))},
        "ratio": {
            "median": digits(ratio),
            "quartiles": [digits(low), digits(high)],
            "best": digits(min(c.ours) / min(c.peer)),
        },
        "target": {"ratio": c.at_most, "seconds": c.seconds},
        "met": all(verdicts) if verdicts else None,
    }


def digits(x: float) -> float:
    """Round to four significant digits; what follows is noise."""
    return float(f"{x:.4g}")


def amount(x: float, unit: str) -> str:
    """Write seconds or bytes in at most seven characters."""
    if unit == "B":
        return f"{x / 2**20:.0f} MiB"
    factor, name = next(((f, n) for f, n in UNITS if x * f >= 1), UNITS[-1])
    return f"{x * factor:.2g} {name}" if x * factor < 10 else f"{x * factor:.0f} {name}"


def short(x: float) -> str:
    """Write a number of at least 0.001 in at most five characters."""
    if x < 0.001:
        return "<.001"
    return f"{x:.0f}" if x >= 100 else f"{x:.3g}" if x >= 0.1 else f"{x:.2g}"


def target(row: dict[str, Any]) -> str:
    """Write what is aimed at, and whether it was met."""
    if row["met"] is None:
        return "-"
    ratio, seconds = row["target"]["ratio"], row["target"]["seconds"]
    limit = short(ratio) if ratio is not None else amount(seconds, "s").replace(" ", "")
    return f"{limit} {'ok' if row['met'] else 'MISS'}"


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as text, groups apart."""
    lines = [line(HEADERS)]
    for group, members in groupby(rows, key=lambda row: row["group"]):
        lines += ["-" * 80, group]
        for row in members:
            ratio = row["ratio"]
            cells = (
                f"  {row['title']}",
                amount(row["this"]["median"], row["unit"]),
                amount(row["peer"]["median"], row["unit"]),
                short(ratio["median"]),
                "-".join(short(q) for q in ratio["quartiles"]),
                short(ratio["best"]),
                target(row),
            )
            lines.append(line(cells))
    return "\n".join(lines)


def rows_of(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the comparisons of all sections."""
    return [row for section in results["sections"].values() for row in section["results"]]


def counted(counts: Sequence[dict[str, Any]]) -> str:
    """Return what each counts over what is executed, a line a computation, and why somebody counts nothing."""
    who = list(dict.fromkeys(c["by"] for c in counts))
    cells = [["products, over executed", "executed, FLOP", *who]]
    for title, members in groupby(counts, key=lambda c: c["title"]):
        found = list(members)
        cells.append([f"  {title}", str(found[0]["executed"]), *(share(c) for c in found)])
    lines = [f"{first:<24} {second:>15}" + "".join(f" {c:>9}" for c in rest) for first, second, *rest in cells]
    refused = dict.fromkeys(f"{c['by']}: {c['why']}" for c in counts if c["why"])
    return "\n".join([*lines, *(textwrap.shorten(f"  {text}", 80) for text in refused)])


def share(count: dict[str, Any]) -> str:
    """Write what is counted over what is executed; only what is equal is called exact."""
    flops, right = count["flops"], count["executed"]
    return "none" if flops is None else "exact" if flops == right else f"{flops / right:.4f}"


def line(cells: Iterable[str]) -> str:
    """Return one line: the first cell to the left, the others to the right."""
    first, *rest = (f"{c:>{w}}" if i else f"{c:<{w}}" for i, (c, w) in enumerate(zip(cells, WIDTHS, strict=True)))
    return " ".join((first, *rest)).rstrip()


def text(results: dict[str, Any]) -> str:
    """Return the whole report: the table, what it ran on, how many targets were met."""
    rows = rows_of(results)
    counts = [c for section in results["sections"].values() for c in section["counts"]]
    aimed = [row for row in rows if row["met"] is not None]
    met = sum(row["met"] for row in aimed)
    lacking = [name for name, there in results["byte_code"].items() if not there]
    versions = "with " + ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    lines = [
        table(rows),
        "-" * 80,
        *([counted(counts), "-" * 80] if counts else []),
        f"on {results['machine']}",
        textwrap.fill(versions, 80),
        f"byte-code: {'none of ' + ', '.join(lacking) if lacking else 'of all of these'}",
        f"targets: {met} of {len(aimed)} met",
    ]
    return "\n".join(lines)


def refreshed(readme: str, results: dict[str, Any]) -> str:
    """Return the README with these results between its marks."""
    block = f"{BEGIN}\n```text\n{text(results)}\n```\n{END}"
    new, found = re.subn(rf"{BEGIN}.*?{END}", lambda _: block, readme, count=1, flags=re.DOTALL)
    if not found:
        raise SystemExit(f"bench/README.md lacks {BEGIN} ... {END}")
    return new
