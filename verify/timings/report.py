"""What a run saw, as JSON, as a page, and as a picture of predicted against measured times."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from symacct.plot.style import DASHES, FONT, GRID, INK, MARKERS, SERIES, SMALL, chart, save
from verify.timings.findings import NOT_TOLD
from verify.timings.points import Point, Taken

RESULTS = Path(__file__).parents[1] / "results"


def write(name: str, found: Mapping[str, Any], page: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")


def rows(
    points: Iterable[Point],
    best: Mapping[str, float],
    guessed: Mapping[str, float],
    taken: Mapping[str, Taken],
) -> list[dict[str, Any]]:
    """Return one row a point that was measured."""
    return [
        {
            "point": p.key,
            "family": p.case.family,
            "held_back": p.held_back,
            "bound": p.bound,
            "at_best": best[p.key],
            "predicted": guessed.get(p.key),
            "measured": taken[p.key].seconds,
            "spread": taken[p.key].spread,
            "rounds": [m.median for m in taken[p.key].rounds],
            "doubts": list(taken[p.key].quietest.doubts),
        }
        for p in points
        if p.key in taken
    ]


def draw(path: Path, title: str, found: Sequence[Mapping[str, Any]]) -> None:
    """Draw what was predicted of the points kept back against what they took, a marker a family."""
    kept = [row for row in found if row["predicted"] is not None]
    figure, axes = chart(title, f"{len(kept)} points kept back until the predictions were fixed", height=5.0)
    for i, family in enumerate(dict.fromkeys(row["family"] for row in kept)):
        mine = [row for row in kept if row["family"] == family]
        x, y = [row["measured"] for row in mine], [row["predicted"] for row in mine]
        marker = {"marker": MARKERS[i % 10], "color": SERIES[i % 7], "markeredgecolor": INK, "markeredgewidth": 0.5}
        axes.plot(x, y, linestyle="none", markersize=6, label=family, **marker)
    ends = [min(row["measured"] for row in kept) / 2, max(row["measured"] for row in kept) * 2]
    for factor, dash, label in (
        (1, DASHES[0], "as predicted"),
        (1.4, DASHES[3], "40 % off"),
        (1 / 1.4, DASHES[3], None),
    ):
        axes.plot(ends, [e * factor for e in ends], color=INK, linewidth=0.8, linestyle=dash, label=label)
    axes.loglog()
    axes.set_xlabel("measured, s", fontsize=FONT, color=INK)
    axes.set_ylabel("predicted, s", fontsize=FONT, color=INK)
    axes.grid(visible=True, color=GRID, linewidth=0.5)
    axes.legend(fontsize=SMALL, frameon=False, ncols=2)
    save(figure, path)


def draw_errors(path: Path, title: str, found: Sequence[Mapping[str, Any]]) -> None:
    """Draw how the errors are distributed: the share of points that are off by at most so much."""
    figure, axes = chart(
        title, "points kept back, from 50 us on; dashed: the goal, 15 % for half and 40 % for nine tenths"
    )
    for i, family in enumerate(dict.fromkeys(row["family"] for row in found)):
        mine = [r for r in found if r["family"] == family and r["predicted"] is not None and r["measured"] >= 50e-6]
        off = sorted(abs(r["predicted"] - r["measured"]) / r["measured"] for r in mine)
        shares = [(k + 1) / len(off) for k in range(len(off))]
        axes.step(off, shares, where="post", color=SERIES[i % 7], linestyle=DASHES[i % 7], linewidth=1.5, label=family)
    axes.plot([0.15, 0.40], [0.5, 0.9], marker="x", color=INK, linestyle="--", linewidth=0.8, label="goal")
    axes.set_xscale("log")
    axes.set_xlabel("error, share of what was measured", fontsize=FONT, color=INK)
    axes.set_ylabel("share of the points", fontsize=FONT, color=INK)
    axes.grid(visible=True, color=GRID, linewidth=0.5)
    axes.legend(fontsize=SMALL, frameon=False)
    save(figure, path)


def page(name: str, found: Mapping[str, Any]) -> str:
    """Return the page of a device."""
    about = (
        f"`python -m verify.timings` with {found['software']}, {found['date']}: {found['points_measured']} points of "
        f"{found['operations']} operations, of which every other size was kept back until the predictions were fixed "
        f"(digest `{found['digest'][:16]}`). Each time is the median of the quietest of {found['rounds']} rounds; "
        f"in the middle of the points its spread is {found['noise']['spread']:.1%}, and the middle round takes "
        f"{found['noise']['apart']:.1%} more."
    )
    pictures = [f"![predicted and measured]({name}-times.svg)", f"![errors]({name}-errors.svg)"]
    parts = [
        f"# Times on {found['device']}",
        about,
        "\n".join(_table(found)),
        "\n".join(_findings(found)),
        *pictures,
        f"Why not more: {found['why_not_more']}",
    ]
    return "\n\n".join(parts) + "\n"


def _findings(found: Mapping[str, Any]) -> list[str]:
    below, growth = found["bound_below_measured"], found["growth"]
    turn, same = found["turning"], found["relu_and_gelu"]
    held = below["checked"] - len(below["violations"])
    share = f"{held} of {below['checked']} points that move more than four times the last cache"
    out = [f"- The bound lies below the measured time, within {below['within']:.1%}, for {share}."]
    out += [f"  - violated: {v['point']}, {v['ratio']:.2f} of the bound" for v in below["violations"]]
    told = growth["confirmed"] + growth["refuted"]
    out.append(
        f"- Of {len(growth['steps'])} steps from a size to a larger one, {told} tell the side of the ridge by how the "
        f"time grows: {growth['confirmed']} confirm it, {growth['refuted']} refute it."
    )
    for w in growth["steps"]:
        if w["verdict"] == "refuted":
            out.append(
                f"  - {w['from']} to {w['to']}: {w['predicted']} bound as predicted, grows like {w['grows_like']}"
            )
    out += [f"  - not told apart in {n}: {NOT_TOLD[reason]}" for reason, n in growth["not_told"].items() if n]
    if "ratio" in turn:
        told = (
            f"at b = {turn['predicted']} by the roofline; the corner of its measured times is at {turn['measured']:.1f}"
        )
        out.append(f"- `linear` turns compute bound {told}.")
    if "gelu_over_relu" in same:
        told = f"{same['gelu_over_relu']:.2f} of ReLU's time; that the two take the same: {same['status']}"
        out.append(f"- GELU takes {told}.")
    return [*out, f"- torch's own estimate in the same run: {found['torch_estimate']['status']}."]


def _table(found: Mapping[str, Any]) -> list[str]:
    """Return errors by family: of the calibrated roofline alone, and with factors of the open half."""
    head = "| family | points | roofline alone: median, 90 % | with factors: median, 90 % | goal (15 %, 40 %) |"
    out = [head, "|---|---|---|---|---|"]
    for family, errors in [*found["families"].items(), ("all", found["all"])]:
        alone, factors = errors["roofline"], errors["predicted"]
        reached = "reached" if factors["reached"] else "missed"
        cells = [f"{alone['median']:.0%}, {alone['ninety']:.0%}", f"{factors['median']:.0%}, {factors['ninety']:.0%}"]
        out.append(f"| {family} | {factors['count']} | {cells[0]} | {cells[1]} | {reached} |")
    return out
