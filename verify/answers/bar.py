"""The bar for answers: rates on the collected forms and on forms made by rule, for the half not used to build it.

`python -m verify.answers.bar` prints the rates; with `--show` also each form that misses.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import symacct as sa
from symacct.answers import Verdict
from verify.answers.formulas import names, parsed, value
from verify.answers.mutants import wrong
from verify.answers.spellings import numbers, spellings

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "cases.json").read_text(encoding="utf-8"))["cases"]


def held_out(case: dict[str, Any]) -> bool:
    """Whether a case was kept aside while the reader was built: a fixed half, by a hash of its name."""
    return hashlib.sha256(case["id"].encode()).digest()[0] % 2 == 1


def checked(case: dict[str, Any], text: str) -> Verdict:
    return sa.check(
        text, case["answer"], case["symbols"], case["mode"], case["rtol"], case["var"], case["at"], unit=case["unit"]
    )


INEXACT = frozenset(
    [
        "GB",
        "GiB",
        "MiB",
        "bits",
        "hours",
        "years",
        "suffix",
        "scientific",
        "times-ten",
        "latex-ten",
        "raised-ten",
        "about",
        "label",
    ]
)
"""Kinds of numbers that are rounded to some digits."""


def right_spellings(case: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (kind, text): the right answer and each equal form in many spellings."""
    if names(parsed(case["answer"])):
        forms = [form for form in (case["answer"], *case["equal"]) if names(parsed(form))]
        made = [s for form in forms for s in spellings(form, case["symbols"], case["mode"], case["unit"])]
        return list(dict.fromkeys(made))
    number = float(value(parsed(case["answer"]), {}))
    exact = case["rtol"] is not None and case["rtol"] < 1e-6
    made = list(numbers(number, case["unit"])) if number == int(number) or not exact else []
    made = [(kind, text) for kind, text in made if not exact or kind not in INEXACT]
    return list(dict.fromkeys([*made, *spellings(case["answer"], {}, case["mode"], case["unit"])]))


class Tally:
    """How many forms of each kind there were, and how many came out as they should."""

    def __init__(self, *, show: bool) -> None:
        self.show = show
        self.tried: Counter[str] = Counter()
        self.good: Counter[str] = Counter()

    def add(self, what: str, case: dict[str, Any], text: str, verdict: Verdict, *, good: bool) -> None:
        self.tried[what] += 1
        self.good[what] += good
        if self.show and not good:
            read = verdict.reading.formula if verdict.reading else verdict.problem
            print(f"{what}: {case['id']} {text!r} for {case['answer']}: read as {read}, {verdict.findings}")

    def rates(self) -> dict[str, float]:
        return {what: self.good[what] / n for what, n in sorted(self.tried.items())}


def measure(cases: list[dict[str, Any]], *, every: int = 1, show: bool = False) -> dict[str, float]:
    """Return the rates: right spellings accepted, equal forms accepted, wrong ones rejected and explained.

    Of the forms made by rule only one in `every` is tried.
    """
    tally = Tally(show=show)
    for case in cases:
        for kind, text in right_spellings(case)[::every]:
            verdict = checked(case, text)
            tally.add("spelled", case, f"{kind}: {text}", verdict, good=verdict.correct)
        for written in case["written"]:
            verdict = checked(case, written["text"])
            tally.add("written", case, written["text"], verdict, good=verdict.correct == written["right"])
        for form in (case["answer"], *case["equal"]):
            verdict = checked(case, form)
            tally.add("equal", case, form, verdict, good=verdict.correct)
        for entry in case["wrong"]:
            verdict = checked(case, entry["form"])
            rejected = not verdict.correct and verdict.counterexample is not None
            tally.add("wrong", case, entry["form"], verdict, good=rejected)
            first = next(iter(verdict.mistakes), "")
            tally.add("fitting", case, entry["form"], verdict, good=first in entry["fits"])
        for mistake, form in list(wrong(case["answer"]))[::every] if case["mode"] == "exact" else ():
            verdict = checked(case, form)
            good = not verdict.correct and _differs(case["answer"], form, verdict)
            tally.add("mutant", case, f"{mistake}: {form}", verdict, good=good)
    return tally.rates()


def _differs(right: str, form: str, verdict: Verdict) -> bool:
    """Whether a counterexample is one, by Python's own values of both formulas."""
    if verdict.counterexample is None:
        return False
    sizes = verdict.counterexample.sizes
    given, wanted = (float(value(parsed(f), sizes)) for f in (form, right))
    return given != wanted


def main() -> None:
    show = "--show" in sys.argv
    for title, cases in (
        ("used to build", [c for c in CASES if not held_out(c)]),
        ("held out", [c for c in CASES if held_out(c)]),
    ):
        rates = measure(cases, show=show)
        print(title, {k: round(v, 4) for k, v in rates.items()})


if __name__ == "__main__":
    main()
