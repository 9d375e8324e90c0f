"""Run the evidence: `python -m verify` tries new random cases and writes verify/results/<room>.json.

`--ci` tries fewer, the same ones on every run, and writes nothing; it also fails where the written results are not of
the checks that there are. The exit code is 1 if any two ways to a number disagree.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from verify.check import Check
from verify.rooms import ROOMS

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("symacct", "numpy", "opt_einsum", "torch", "einops", "hypothesis", "sympy")
EXAMPLES, EXAMPLES_IN_CI = 500, 40
NOT_RUN = "not run here"


def versions() -> dict[str, str]:
    out = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in PACKAGES:
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            out[name] = "not installed"
    return out


def described(check: Check) -> dict[str, object]:
    """What a result says of its check, whatever the run."""
    return {
        "name": check.name,
        "formula": check.formula,
        "oracle": check.oracle,
        "claims": list(check.claims),
        "proves": list(check.proves),
    }


def run_check(check: Check, examples: int, seed: int, progress: Progress, bar: TaskID) -> dict[str, object]:
    """Run one check; the result has no times and no seed, so that two good runs read alike."""
    if check.missing:
        return {**described(check), "examples": 0, "status": f"{NOT_RUN}: no {', '.join(check.missing)}"}
    try:
        tried = check.try_fixed()
        progress.advance(bar, tried)
        tried += check.try_random(examples, seed, lambda: progress.advance(bar))
    except Exception as error:  # noqa: BLE001  # a crash is a disagreement too, and the other checks still run
        notes = "\n".join(getattr(error, "__notes__", []))
        progress.console.print(f"[red]disagrees[/red] {check.name}: {type(error).__name__}: {error}\n{notes}")
        return {**described(check), "examples": 0, "status": "disagrees"}
    return {**described(check), "examples": tried, "status": "agrees"}


def run_rooms(names: Sequence[str], examples: int, seed: int, console: Console) -> dict[str, list[dict[str, object]]]:
    """Run every check of some rooms under one progress bar."""
    checks = [c for name in names for c in ROOMS[name] if not c.missing]
    total = sum(len(c.fixed) + c.draws(examples) for c in checks)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    out = {}
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("verify", total=total)
        for name in names:
            progress.update(bar, description=name)
            out[name] = [run_check(check, examples, seed, progress, bar) for check in ROOMS[name]]
            good = sum(r["status"] == "agrees" for r in out[name])
            tried = sum(int(str(r["examples"])) for r in out[name])
            progress.console.print(f"{name:<14}{good} of {len(out[name])} checks agree, {tried:,} cases")
    return out


def write(name: str, results: list[dict[str, object]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    doc = (sys.modules[f"verify.rooms.{name}"].__doc__ or "").partition("\n")[0]
    content = {"room": name, "about": doc, "versions": versions(), "cuda": NOT_RUN, "checks": results}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def stale() -> list[str]:
    """Which written results are not of the checks that there are."""
    out = []
    documents = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json")}
    written = {name for name, document in documents.items() if "checks" in document}  # others are of verify.timings
    for name in sorted(written | set(ROOMS)):
        if name not in written or name not in ROOMS:
            out.append(f"{name}: {'no results' if name in ROOMS else 'results of a room that is gone'}")
            continue
        kept = documents[name]["checks"]
        if [{k: v for k, v in c.items() if k not in ("examples", "status")} for c in kept] != [
            described(check) for check in ROOMS[name]
        ]:
            out.append(f"{name}: results of other checks")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m verify", description=__doc__)
    parser.add_argument("--ci", action="store_true", help="fewer cases, always the same; writes nothing")
    parser.add_argument("--room", action="append", choices=sorted(ROOMS), help="only this room; may be repeated")
    parser.add_argument("--examples", type=int, help=f"random cases a check (default {EXAMPLES})")
    parser.add_argument("--seed", type=int, help="repeat a run (default: a new one; 0 with --ci)")
    given = parser.parse_args(arguments)
    examples = given.examples or (EXAMPLES_IN_CI if given.ci else EXAMPLES)
    seed = given.seed if given.seed is not None else 0 if given.ci else random.SystemRandom().randrange(10**6)
    console = Console()
    console.print(f"seed {seed}; accelerators: {NOT_RUN}")
    results = run_rooms(given.room or list(ROOMS), examples, seed, console)
    if not given.ci:
        for name, found in results.items():
            write(name, found)
    old = stale() if given.ci and not given.room else []
    for line in old:
        console.print(f"[red]out of date[/red] {line}: run python -m verify and commit verify/results")
    return int(bool(old) or any(r["status"] == "disagrees" for found in results.values() for r in found))


if __name__ == "__main__":
    sys.exit(main())
