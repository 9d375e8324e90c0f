"""Answers as people write them, read and judged against formulas that Python's own parser works out."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.answers.evaluate import evaluate
from verify.answers import fresh
from verify.answers.bar import CASES, checked, held_out, measure, right_spellings
from verify.answers.formulas import parsed, value
from verify.answers.fuzz import TEXTS, attack
from verify.answers.mutants import PRIMES, wrong
from verify.check import Check, DisagreementError

BAR = {"spelled": 0.97, "written": 0.97, "equal": 1.0, "wrong": 1.0, "mutant": 1.0, "fitting": 0.85}
FRESH = {"right": 0.97, "rejected": 1.0, "shown": 1.0, "fitting": 0.85}
FUZZED = 20_000


class Text(NamedTuple):
    """A text, what the question says of its symbols and unit, and the formula it must be read as."""

    text: str
    symbols: dict[str, str]
    unit: str
    form: str


class Form(NamedTuple):
    """A case of the collected questions, and an answer to it."""

    case: dict[str, Any]
    text: str


def holds(fact: bool, what: str) -> None:  # noqa: FBT001 # as an assert takes it
    if not fact:
        raise DisagreementError(what)


def text_is_read(given: Text) -> None:
    reading = sa.read_answer(given.text, given.symbols, unit=given.unit)
    holds(not reading.unknown, f"{given.text!r} was read with unknown names {reading.unknown}")
    node = parsed(given.form.replace("min(", "Min(").replace("max(", "Max("))
    for shift in range(3):
        sizes = {n: PRIMES[(i + shift) % len(PRIMES)] for i, n in enumerate(given.symbols)}
        ours, theirs = float(evaluate(reading.tree, sizes)), float(value(node, sizes))
        holds(math.isclose(ours, theirs, rel_tol=1e-9), f"{given.text!r} read as {reading.formula}: {ours}, {theirs}")


def right_is_accepted(given: Form) -> None:
    verdict = checked(given.case, given.text)
    holds(verdict.correct, f"{given.text!r} for {given.case['answer']}, read as {verdict.reading}")


def wrong_is_rejected(given: Form) -> None:
    """The counterexample must be one by Python's own values of both formulas."""
    verdict = checked(given.case, given.text)
    what = f"{given.text!r} for {given.case['answer']}"
    holds(not verdict.correct, what)
    shown = verdict.counterexample
    if shown is None:
        raise DisagreementError(f"{what}: rejected without a counterexample")
    for ours, form in ((shown.answer, given.text), (shown.truth, given.case["answer"])):
        theirs = float(value(parsed(form), shown.sizes))
        holds(math.isclose(float(ours), theirs, rel_tol=1e-9), f"{form} at {dict(shown.sizes)}: {ours}, {theirs}")
    holds(shown.answer != shown.truth, f"{what}: a counterexample with equal values")


def bar_is_met(half: str) -> None:
    rates = measure([c for c in CASES if held_out(c) is (half == "held out")], every=5)
    for what, least in BAR.items():
        holds(rates[what] >= least, f"{what}: {rates[what]:.4f}, the bar is {least}")


def fresh_bar_is_met(name: str) -> None:
    rates = fresh.rates(name)
    for what, least in FRESH.items():
        holds(rates[what] >= least, f"{what}: {rates[what]:.4f}, the bar is {least}")


def nothing_crashes(seed: int) -> None:
    attack(FUZZED // 20, seed)


@st.composite
def spelled(draw: st.DrawFn) -> Form:
    case = draw(st.sampled_from(CASES))
    texts = right_spellings(case) or [("answer", case["answer"])]
    return Form(case, draw(st.sampled_from(texts))[1])


@st.composite
def mutated(draw: st.DrawFn) -> Form:
    case = draw(st.sampled_from([c for c in CASES if c["mode"] == "exact" and c["answer"][0] != "0"]))
    forms = [form for _, form in wrong(case["answer"])]
    return Form(case, draw(st.sampled_from(forms)))


CHECKS = (
    Check(
        "texts are read as meant",
        "symacct.read_answer(text)",
        "the value of the formula by a walk over Python's own tree of it, at primes",
        text_is_read,
        fixed=tuple(Text(*t) for t in TEXTS if not t[0].endswith("P")),
    ),
    Check(
        "right answers in many spellings are accepted",
        "symacct.check(spelling, truth)",
        "spellings written from Python's tree of the right form",
        right_is_accepted,
        cases=spelled(),
        fixed=tuple(Form(c, form) for c in CASES for form in (c["answer"], *c["equal"])),
    ),
    Check(
        "wrong answers are rejected with a counterexample",
        "symacct.check(mutant, truth)",
        "values of both formulas by a walk over Python's trees, at the sizes that are shown",
        wrong_is_rejected,
        cases=mutated(),
        fixed=tuple(Form(c, w["form"]) for c in CASES for w in c["wrong"]),
    ),
    Check(
        "the bar, by halves",
        "rates of accepted, rejected and explained answers",
        "97 % of right spellings, every equal form, every wrong form, a fitting code first for 85 %",
        bar_is_met,
        fixed=("used to build", "held out"),
    ),
    Check(
        "the bar, on questions written before any was tried",
        "rates of accepted, rejected and explained answers",
        "97 % of right spellings, every wrong answer with a counterexample, a fitting code first for 85 %",
        fresh_bar_is_met,
        fixed=fresh.FILES,
    ),
    Check(
        "the reader never crashes",
        f"{FUZZED:,} generated inputs: a reading or a clean error",
        "no other exception, and no input that takes seconds",
        nothing_crashes,
        fixed=tuple(range(100, 120)),
    ),
)
