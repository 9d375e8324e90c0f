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


def right_spellings(case: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (kind, text): the right answer and each equal form in many spellings."""
    if names(parsed(case["answer"])):
        made = [
            s
            for form in (case["answer"], *case["equal"])
            if names(parsed(form))
            for s in spellings(form, case["symbols"], case["mode"], case["unit"])
        ]
    else:
        number = float(value(parsed(case["answer"]), {}))
        exact = case["rtol"] is not None and case["rtol"] < 1e-6
        made = [] if exact and number != int(number) else list(numbers(number, case["unit"]))
        made += list(spellings(case["answer"], {}, case["mode"], case["unit"]))
        made = [
            (k, t)
            for k, t in made
            if not exact
            or k
            not in (
                "GB",
                "GiB",
                "hours",
                "years",
                "suffix",
                "scientific",
                "times-ten",
                "latex-ten",
                "raised-ten",
                "about",
                "label",
                "MiB",
                "bits",
            )
        ]
    return list(dict.fromkeys(made))


def measure(cases: list[dict[str, Any]], *, show: bool = False) -> dict[str, float]:
    """Return the rates: right spellings accepted, equal forms accepted, wrong ones rejected and explained."""
    count: Counter[str] = Counter()

    def score(what: str, *, good: bool, case: dict[str, Any], text: str, verdict: Verdict) -> None:
        count[what] += 1
        count[what + "+"] += good
        if show and not good:
            print(
                f"{what}: {case['id']} {text!r} for {case['answer']}: {verdict.findings} {verdict.problem} "
                f"{verdict.reading.formula if verdict.reading else ''}"
            )

    for case in cases:
        for kind, text in right_spellings(case):
            v = checked(case, text)
            score("spelled", good=v.correct, case=case, text=f"{kind}: {text}", verdict=v)
        for written in case["written"]:
            v = checked(case, written["text"])
            score("written", good=v.correct == written["right"], case=case, text=written["text"], verdict=v)
        for form in (case["answer"], *case["equal"]):
            v = checked(case, form)
            score("equal", good=v.correct, case=case, text=form, verdict=v)
        for entry in case["wrong"]:
            v = checked(case, entry["form"])
            rejected = not v.correct and (v.counterexample is not None)
            score("wrong", good=rejected, case=case, text=entry["form"], verdict=v)
            first = next(iter(v.mistakes), "")
            score("fitting", good=first in entry["fits"], case=case, text=entry["form"], verdict=v)
        if case["mode"] == "exact":
            for mistake, form in wrong(case["answer"]):
                v = checked(case, form)
                good = not v.correct and v.counterexample is not None and _differs(case["answer"], form, v)
                score("mutant", good=good, case=case, text=f"{mistake}: {form}", verdict=v)
    return {what: count[what + "+"] / count[what] for what in sorted(count) if not what.endswith("+")} | {
        "forms": sum(n for what, n in count.items() if not what.endswith("+"))
    }


def _differs(right: str, form: str, verdict: Verdict) -> bool:
    """Whether a counterexample is one, by Python's own values of both formulas."""
    sizes = verdict.counterexample.sizes if verdict.counterexample else {}
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
