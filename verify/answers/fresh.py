"""Questions that were written before any of them was tried: `python -m verify.answers.fresh` prints the rates."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import symacct as sa
from symacct.answers import Verdict

FILES = ("first.txt", "second.txt")
UNANSWERED = frozenset(["unreadable", "wrong_unit"])
"""Mistakes of answers that have no other value at any sizes."""


@dataclass(frozen=True)
class Asked:
    """A question, its right spellings, and its wrong answers with the mistakes that fit."""

    truth: str
    symbols: dict[str, str]
    options: dict[str, Any]
    right: list[str] = field(default_factory=list)
    wrong: list[tuple[str, list[str]]] = field(default_factory=list)

    def judge(self, text: str) -> Verdict:
        return sa.check(text, self.truth, self.symbols, **self.options)


def asked(name: str) -> list[Asked]:
    """Return the questions of a file."""
    out: list[Asked] = []
    for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "#":
            out.append(_question([part.strip() for part in text.split("|")]))
        elif mark == "+":
            out[-1].right.append(text)
        elif mark == "-":
            form, _, codes = text.partition(" ;; ")
            out[-1].wrong.append((form.strip(), codes.strip().split(",")))
    return out


def _question(parts: list[str]) -> Asked:
    _, truth, symbols, unit, mode, *more = parts
    options: dict[str, Any] = {"unit": unit, "mode": mode}
    for option in more:
        key, _, value = option.partition("=")
        options[key] = float(value) if key == "rtol" else value.split(",")
    pairs = (pair.partition(":") for pair in symbols.split(";") if pair)
    return Asked(truth, {name.strip(): meaning.strip() for name, _, meaning in pairs}, options)


def rates(name: str) -> dict[str, float]:
    """Return how many right ones are accepted, wrong ones rejected and shown, and mistakes named that fit."""
    questions = asked(name)
    right = [q.judge(text).correct for q in questions for text in q.right]
    judged = [(q.judge(text), codes) for q in questions for text, codes in q.wrong]
    shown = [v.counterexample is not None or v.mistakes[0] in UNANSWERED for v, _ in judged if not v.correct]
    return {
        "right": sum(right) / len(right),
        "rejected": sum(not v.correct for v, _ in judged) / len(judged),
        "shown": sum(shown) / len(judged),
        "fitting": sum(not v.correct and v.mistakes[0] in codes for v, codes in judged) / len(judged),
    }


def misses(name: str) -> Iterator[str]:
    """Yield a line for each answer that is not judged as it should be."""
    for question in asked(name):
        for text in question.right:
            if not (verdict := question.judge(text)).correct:
                yield f"{text!r} is right for {question.truth}: {verdict.problem or verdict.findings}"
        for text, codes in question.wrong:
            if (verdict := question.judge(text)).correct or verdict.mistakes[0] not in codes:
                yield f"{text!r} is wrong for {question.truth}: {verdict.findings}, fitting {codes}"


def main() -> None:
    for name in FILES:
        print(name, {what: round(rate, 4) for what, rate in rates(name).items()})
        for line in misses(name) if "--show" in sys.argv else ():
            print(f"  {line}")


if __name__ == "__main__":
    main()
