"""The tables of conventions against the specification, copied here, and against sums that count."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from symacct.conventions import PRESETS, convention_of, tally
from symacct.errors import UnknownOpError
from symacct.testing.counting import totals
from symacct.testing.loops import run
from verify.check import Check, DisagreementError, agree

ONE_A_CALL = (
    *("add", "sub", "mul", "div", "compare", "max", "abs"),
    *("sqrt", "rsqrt", "exp", "log", "tanh", "erf", "sigmoid"),
)
LECTURE = {**dict.fromkeys(ONE_A_CALL, 1), "gelu": 20}
DECLARED = {"2n": LECTURE, "exact": LECTURE, "mac": LECTURE, "unit": dict.fromkeys(LECTURE, 1)}
"""Operations a call, by preset: declared by us, so there is nothing to measure."""


class Call(NamedTuple):
    preset: str
    function: str
    times: int


def weight_agrees(case: Call) -> None:
    counted = tally({(case.function, "points"): case.times}, convention_of(case.preset))
    expected = {"FLOP": DECLARED[case.preset][case.function] * case.times}
    agree(counted, expected, f"{case.times} calls of {case.function} under {case.preset}")


def presets_agree(preset: str) -> None:
    """No preset is missing, none has more functions, and an unknown function is refused."""
    agree(sorted(PRESETS), sorted(DECLARED), "presets")
    agree(dict(convention_of(preset).weights), DECLARED[preset], f"weights of {preset}")
    try:
        tally({("no such function", "points"): 1}, convention_of(preset))
    except UnknownOpError:
        return
    msg = f"{preset} gave an unknown function a weight"
    raise DisagreementError(msg)


class Sum(NamedTuple):
    preset: str
    outputs: int
    terms: int


def sum_agrees(case: Sum) -> None:
    """What one sum of products, and one of plain terms, costs under each preset."""
    way = "2n" if case.preset == "unit" else case.preset
    sizes = {"m": case.outputs, "n": case.terms}
    for kind, pattern in (("contract", "m n, n -> m"), ("reduce", "m n -> m")):
        counted = totals(run(pattern, sizes, way=way).calls)
        work = {(kind, "points"): case.outputs * case.terms, (kind, "outputs"): case.outputs}
        ours = {unit: amount for unit, amount in tally(work, convention_of(case.preset)).items() if amount}
        agree(ours, counted, f"{kind} of {case.terms} terms, {case.outputs} times, under {case.preset}")


_PRESETS = st.sampled_from(sorted(DECLARED))

CHECKS = (
    Check(
        "weights of functions",
        "operations a call of each named function",
        "the table of the specification",
        weight_agrees,
        st.builds(Call, _PRESETS, st.sampled_from(sorted(LECTURE)), st.integers(1, 10**6)),
        tuple(Call(p, f, 7) for p in sorted(DECLARED) for f in sorted(LECTURE)),
        proves=("conventions",),
        share=0.2,
    ),
    Check(
        "presets",
        "the presets, their functions, and no others",
        "the table of the specification",
        presets_agree,
        fixed=tuple(sorted(DECLARED)),
        proves=("conventions",),
    ),
    Check(
        "sums",
        "contract and reduce under each preset",
        "sums over numbers that count their operations",
        sum_agrees,
        st.builds(Sum, _PRESETS, st.integers(1, 9), st.integers(1, 9)),
        tuple(Sum(p, 3, 5) for p in sorted(DECLARED)),
        claims=("S35",),
        proves=("conventions",),
        share=0.2,
    ),
)
