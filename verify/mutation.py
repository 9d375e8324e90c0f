"""Are the checks awake? Break every formula in small ways and see that a check fails: `python -m verify.mutation`.

What is broken: what every rule (rules/*.py) executes, moves, keeps and passes back, the tables of conventions,
the formulas of lower bounds. A mutant runs in the live modules until a fixed case of a check that proves the broken
thing fails. Mutants that cannot be told apart from the original are listed with their reasons in
equivalent_mutants.toml; any other survivor, a rule without a check, a check of what is never broken, and a listed
mutant that is gone, make the exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from symacct.rules import RULES
from verify.check import Check, DisagreementError
from verify.live import LiveModules
from verify.mutants import Mutant, mutants
from verify.rooms import CHECKS
from verify.targets import Target, targets

EQUIVALENT = Path(__file__).parent / "equivalent_mutants.toml"
Key = tuple[str, str, str]


def checks_for(target: Target, near: frozenset[str] = frozenset()) -> list[Check]:
    """The checks that may notice, each once, likely ones first, without those whose modules are not installed."""
    found = {id(c): c for name in sorted(target.proved_by) for c in CHECKS.get(name, ()) if not c.missing}
    return sorted(found.values(), key=lambda c: near.isdisjoint(c.proves))


def trouble(target: Target, near: frozenset[str] = frozenset()) -> str | None:
    """Why the checks of a target do not hold: "a wrong number", "a crash", or None where they hold."""
    try:
        for check in checks_for(target, near):
            check.try_fixed()
    except DisagreementError:
        return "a wrong number"
    except Exception:  # noqa: BLE001  # whatever else a mistake leads to, it was noticed
        return "a crash"
    return None


@cache
def everything() -> tuple[LiveModules, list[tuple[Mutant, Target]]]:
    """All mutants, in one order in every process."""
    made = [(m, target) for target in targets() for m in mutants(target.file, target.source, {target.where})]
    return LiveModules(), made


def try_one(place: int) -> str | None:
    """Try the mutant at a place of the list."""
    live, made = everything()
    mutant, target = made[place]
    with live.replaced(target.module, mutant.tree):
        return trouble(target, mutant.near)


def unchecked() -> list[str]:
    """Rules that nothing proves, and what checks prove that is no target's: such a check kills no mutant."""
    asked = {name for target in targets() for name in target.proved_by}
    out = [f"the rule of {kind!r} has no check" for kind in sorted(RULES) if kind not in CHECKS]
    return out + [f"a check proves {name!r}, which is no target's" for name in sorted(set(CHECKS) - asked)]


def broken() -> list[str]:
    """Checks that fail on modules put in place as they are: with these, killed mutants would mean nothing."""
    live, made = everything()
    out = []
    for module in sorted({target.module for _, target in made}):
        names = frozenset(name for _, target in made if target.module == module for name in target.proved_by)
        with live.replaced(module, live.trees[module]):
            if why := trouble(Target(module, "", names)):
                out.append(f"checks fail on {module} as it is: {why}")
    return out


def try_all(console: Console) -> list[tuple[Key, str | None]]:
    """Try every mutant, in as many processes as there are cores; return how each was noticed, None for survivors."""
    _, made = everything()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    out = []
    spawned = get_context("spawn")  # torch may hold threads, which a forked process would wait for
    with Progress(*columns, console=console, transient=True) as progress, ProcessPoolExecutor(None, spawned) as pool:
        bar = progress.add_task("mutants", total=len(made))
        for (mutant, target), why in zip(made, pool.map(try_one, range(len(made)), chunksize=4), strict=True):
            progress.update(bar, advance=1, description=target.file)
            out.append((mutant.key, why))
    return out


def listed() -> dict[Key, str]:
    """The mutants that are known to be equivalent, with the reason."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("equivalent", [])
    return {(e["file"], e["where"], e["change"]): e["reason"] for e in entries}


def report(tried: Sequence[tuple[Key, str | None]], console: Console) -> list[str]:
    """Print how mutants were noticed; return what is wrong: survivors without a reason, and reasons without one."""
    left = [key for key, why in tried if why is None]
    known = listed()
    for key in left:
        if key in known:
            console.print(f"equivalent: {' | '.join(key)}: {known[key]}", markup=False)
    ways = Counter(why for _, why in tried if why)
    noticed = ", ".join(f"{count} by {why}" for why, count in ways.most_common())
    console.print(f"{ways.total()} of {len(tried)} mutants killed: {noticed}; {len(left)} left, {len(known)} listed")
    out = [f"survives: {' | '.join(key)}" for key in left if key not in known]
    return out + [f"listed, but killed or gone: {' | '.join(key)}" for key in known if key not in left]


def main() -> int:
    argparse.ArgumentParser("python -m verify.mutation", description=__doc__.partition("\n")[0]).parse_args()
    console = Console(soft_wrap=True)
    wrong = unchecked() or broken() or report(try_all(console), console)
    for line in wrong:
        console.print(line, markup=False)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
