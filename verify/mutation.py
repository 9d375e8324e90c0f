"""Are the checks awake? Break every formula in small ways and see that a check fails: `python -m verify.mutation`.

What is broken: the work and the traffic of every rule (rules/*.py), the tables of conventions, the formulas of lower
bounds. A mutant runs in the live modules until a fixed case of a check that proves the broken thing fails. Mutants
that cannot be told apart from the original are listed with their reasons in equivalent_mutants.toml; any other
survivor, a rule without a check, and a listed mutant that is gone, make the exit code 1.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
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


def checks_for(target: Target) -> list[Check]:
    """The checks that may notice, each once, without those whose modules are not installed."""
    found = {id(c): c for name in target.proved_by for c in CHECKS[name] if not c.missing}
    return list(found.values())


def trouble(target: Target) -> str | None:
    """Why the checks of a target do not hold: "a wrong number", "a crash", or None where they hold."""
    try:
        for check in checks_for(target):
            check.try_fixed()
    except DisagreementError:
        return "a wrong number"
    except Exception:  # noqa: BLE001  # whatever else a mistake leads to, it was noticed
        return "a crash"
    return None


def all_mutants(every: Sequence[Target]) -> Iterator[tuple[Mutant, Target]]:
    for target in every:
        for mutant in mutants(target.file, target.source, {target.where}):
            yield mutant, target


def unchecked() -> list[str]:
    """Rules that nothing proves."""
    return [f"the rule of {kind!r} has no check" for kind in sorted(RULES) if kind not in CHECKS]


def broken(every: Sequence[Target], live: LiveModules) -> list[str]:
    """Checks that fail on modules put in place as they are: with these, killed mutants would mean nothing."""
    out = []
    for module in sorted({t.module for t in every}):
        names = frozenset(name for t in every if t.module == module for name in t.proved_by)
        with live.replaced(module, live.trees[module]):
            if why := trouble(Target(module, "", names)):
                out.append(f"checks fail on {module} as it is: {why}")
    return out


def try_all(every: Sequence[Target], live: LiveModules, console: Console) -> list[tuple[Key, str | None]]:
    """Try every mutant; return how each was noticed, None for survivors."""
    made = list(all_mutants(every))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    out = []
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("mutants", total=len(made))
        for mutant, target in made:
            progress.update(bar, advance=1, description=target.file)
            with live.replaced(target.module, mutant.tree):
                out.append((mutant.key, trouble(target)))
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
    console = Console(soft_wrap=True)
    live = LiveModules()
    every = targets()
    wrong = broken(every, live) or report(try_all(every, live, console), console)
    wrong += unchecked()
    for line in wrong:
        console.print(line, markup=False)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
