"""Predicted against measured times on the device at hand: `python -m verify.timings`, on an idle machine, < 6 minutes.

The device is calibrated; every other size of a stated grid of operations is measured; the times of those between are
predicted and a digest of them is kept; then these are measured too. Each half is measured in several rounds. Nothing
fails by the clock: the run writes verify/results/<device>.json, a page and two pictures, which say what was reached.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import symacct as sa
from symacct.measuring import Measurement
from symacct.measuring.calibration import Calibration
from symacct.measuring.clock import clock_of, import_torch
from verify.timings import estimator, findings, predictions, report
from verify.timings.cases import CASES
from verify.timings.points import Point, Taken, fixed_digest, points, run

KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**34), "SYMACCT_TIMINGS": "1"}
"""Without these a CPU's large outputs are fresh pages at every call, and zeroing them takes longer than the operation;
a GPU's allocator keeps its memory anyhow."""


ROUNDS = 3


def measured(several: Sequence[Point], device: str, seconds: float, console: Console) -> dict[str, Taken]:
    """Run all points one after the other, in several rounds; what does not fit or does not run is said and left out."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    rounds: dict[str, list[Measurement]] = {}
    left = list(several)
    with Progress(*columns, console=console, transient=True) as progress:
        for i in range(ROUNDS):
            for point in progress.track(list(left), description=f"round {i + 1} of {ROUNDS}"):
                try:
                    rounds.setdefault(point.key, []).append(run(point, device, seconds / ROUNDS))
                except RuntimeError as error:
                    console.print(f"not run: {point.key}: {str(error).splitlines()[0]}")
                    left.remove(point)
    return {point.key: Taken(rounds[point.key]) for point in left}


def by_family(
    some: Sequence[Point], best: Mapping[str, float], guessed: Mapping[str, float], taken: Mapping[str, float]
) -> dict[str, Any]:
    """Return the errors on the points kept back of the roofline alone, and of the predictions."""
    back = [p for p in some if p.held_back]
    (whole, alone), (whole_guess, guess) = (predictions.errors(back, g, taken) for g in (best, guessed))
    return {
        "all": {"roofline": whole.to_json(), "predicted": whole_guess.to_json()},
        "families": {n: {"roofline": alone[n].to_json(), "predicted": guess[n].to_json()} for n in guess},
    }


def why_not_more(found: Mapping[str, Any], apart: float) -> str:
    """Say what stands between the errors and the goal."""
    missed = [n for n, e in found["families"].items() if not e["predicted"]["reached"]]
    if not missed:
        return "the goal was reached in every family."
    busy = f"of half of the points a round takes {apart:.0%} more than the quietest, so something else ran besides; "
    return (
        f"missed in {', '.join(missed)}: {busy if apart > 0.05 else ''}a roofline knows neither how well a library's "
        "kernel fits a shape nor what it costs before its first byte; between open points the factor is taken to go "
        "over smoothly, which it does not where a library changes its kernel."
    )


def slack(calibration: Calibration, dtype: str) -> float:
    """Return the widest spread of the rates that the bounds of a format divide by."""
    device = calibration.device
    peaks = (device.peak(dtype), device.peak("fp32", engine="vector"))
    return max(f.spread or 0.0 for f in (*(p.dense[0] for p in peaks), device.bandwidths[0]))


def run_all(device: str, dtype: str, seconds: float, console: Console) -> None:
    torch = import_torch()
    clock = clock_of(device)
    console.print(f"calibrating {device} ...")
    calibration: Calibration = sa.calibrate(device, seconds=3 * seconds)
    console.print(str(calibration))
    counted = sa.Convention("2n", weights=calibration.weights)
    roofs = {case.name: case.account(dtype, counted).roofline(calibration.device) for case in CASES}
    grid = points(CASES, roofs, clock.device, dtype, clock.cache)
    best = predictions.at_best(grid, calibration.launch)
    taken = measured([p for p in grid if not p.held_back], device, seconds, console)
    guessed = predictions.predicted(grid, best, seconds_of(taken))
    digest = fixed_digest(guessed)
    console.print(f"predictions of {len(guessed)} points are fixed: {digest}")
    taken |= measured([p for p in grid if p.held_back], device, seconds, console)
    theirs, status = estimator.estimates(grid, clock.device)
    off = predictions.errors(grid, theirs, seconds_of(taken))[0].to_json() if theirs else None
    turn = roofline_turn(calibration, dtype)
    found = {
        "device": calibration.device.title,
        "software": f"torch {torch.__version__}, {dtype}",
        "date": datetime.now(UTC).date().isoformat(),
        "calibration": calibration.to_json(),
        "weights": calibration.weights,
        "operations": len(CASES),
        "points_measured": len(taken),
        "digest": digest,
        "rounds": ROUNDS,
        "noise": findings.noise(taken),
        **by_family(grid, best, guessed, seconds_of(taken)),
        "bound_below_measured": findings.below(grid, taken, clock.cache, slack(calibration, dtype)),
        "growth": findings.growths(grid, taken),
        "turning": findings.turning(grid, taken, turn),
        "relu_and_gelu": findings.same_time(grid, taken, clock.device),
        "torch_estimate": {"status": status, "errors": off},
    }
    publish(slug(calibration), found, report.rows(grid, best, guessed, taken), console)


def roofline_turn(calibration: Calibration, dtype: str) -> int | None:
    """Return from which number of rows on `linear` is compute bound by the roofline."""
    case = next(c for c in CASES if c.name == "linear")
    sized = sa.account(case.run, dtype=dtype, **case.fixed)
    return sized.roofline(calibration.device).turns("b")[0].solution.smallest


def slug(calibration: Calibration) -> str:
    """Return a name for files: cpu, or the name of the GPU."""
    name = "cpu" if calibration.device.name == "cpu" else calibration.device.title.removesuffix(", measured")
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def publish(name: str, found: dict[str, Any], rows: list[dict[str, Any]], console: Console) -> None:
    """Write the results, and print the page."""
    found["why_not_more"] = why_not_more(found, found["noise"]["apart"])
    page = report.page(name, found)
    report.write(name, {**found, "points": rows}, page)
    report.draw(report.RESULTS / f"{name}-times.svg", f"Times on {found['device']}", rows)
    report.draw_errors(report.RESULTS / f"{name}-errors.svg", f"Errors on {found['device']}", rows)
    console.print(page, markup=False)


def seconds_of(taken: Mapping[str, Taken]) -> dict[str, float]:
    return {key: t.seconds for key, t in taken.items()}


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m verify.timings", description=__doc__)
    parser.add_argument("--device", help="cpu or cuda (default: CUDA where there is one)")
    parser.add_argument("--dtype", help="of the tensors (default: fp32 on a CPU, bf16 on CUDA)")
    parser.add_argument("--seconds", type=float, default=0.3, help="about how long each point is measured")
    given = parser.parse_args(None if arguments is None else list(arguments))
    if "SYMACCT_TIMINGS" not in os.environ:
        words = [sys.executable, "-m", "verify.timings", *(sys.argv[1:] if arguments is None else arguments)]
        return subprocess.run(words, env={**os.environ, **KEEP}, check=False).returncode
    torch = import_torch()
    device = given.device or ("cuda" if torch.cuda.is_available() else "cpu")
    start, console = time.monotonic(), Console()
    run_all(device, given.dtype or ("fp32" if device == "cpu" else "bf16"), given.seconds, console)
    console.print(f"took {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
