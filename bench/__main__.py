"""Measure everything side by side: `python -m bench`; exit code 0 if every target is met, 1 if one is missed.

`python -m bench modules` measures one section, or those named, and keeps what was found of the others.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import report
from bench.install import PEERS, PROBE, environment, install
from bench.rounds import Comparison

BENCH = Path(__file__).resolve().parent
RESULTS = BENCH / "results.json"
MEASURES = (
    "processes",
    "patterns",
    "counters",
    "graphs",
    "modules",
    "sweeping",
    "grading",
    "checkpointing",
    "training",
)


def machine() -> str:
    """Name the processor, and nothing that says whose it is."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def ask(python: Path, folder: Path, *words: str) -> Any:
    """Run the installed Python away from the checkout, and read the JSON that it prints."""
    ran = subprocess.run(
        [str(python), *words], cwd=folder, env=environment(), check=True, text=True, stdout=subprocess.PIPE
    )
    return json.loads(ran.stdout)


def measure(folder: Path, names: Sequence[str]) -> dict[str, Any]:
    """Install, run each measure in a process of its own, and sum up."""
    print("installing, compiled ...", file=sys.stderr)
    python = install(BENCH.parent, folder / "installed")
    shutil.copytree(BENCH, folder / "bench")
    sections = {}
    for name in names:
        print(f"measuring {name} ...", file=sys.stderr)
        found = ask(python, folder, "-m", f"bench.{name}")
        rows = [report.summary(Comparison(**c)) for c in found["comparisons"]]
        sections[name] = {"results": rows, "counts": found["counts"]}
    versions, byte_code = ask(python, folder, "-c", PROBE, json.dumps(["symacct", *PEERS]))
    return {
        "machine": machine(),
        "versions": {"python": platform.python_version(), **versions},
        "byte_code": byte_code,
        "sections": sections,
    }


def main(names: Sequence[str]) -> int:
    if unknown := set(names) - set(MEASURES):
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(MEASURES)}")
    with tempfile.TemporaryDirectory() as folder:
        results = measure(Path(folder), names or MEASURES)
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))["sections"] if names else {}
    both = kept | results["sections"]
    results["sections"] = {name: both[name] for name in MEASURES if name in both}
    print(report.text(results))
    readme = BENCH / "README.md"
    readme.write_text(report.refreshed(readme.read_text(encoding="utf-8"), results), encoding="utf-8")
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return int(any(row["met"] is False for row in report.rows_of(results)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
