"""Element-wise operations against plain loops that call their functions once an output element."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any, NamedTuple

from hypothesis import strategies as st

from symacct.testing.counting import Counted, call
from verify.check import Check, DisagreementError, agree, number
from verify.one_op import calls_of, flops_of, one_op, traffic_agrees


class Kind(NamedTuple):
    """What a kind does to an element, on numbers that count; and the value it should come to, by other means."""

    loop: Callable[..., Any]
    value: Callable[..., float]
    operands: int = 1


def _power(x: Counted, exponent: int) -> Counted:
    out = x
    for _ in range(exponent - 1):
        out = out * x
    return out


def _rule_of(kind: str) -> str:
    return "pow" if kind in POWERS else kind


EXPONENT = 5
POWERS = {"pow": EXPONENT, "power 0.5": 0.5, "power -0.5": -0.5}
KINDS: Mapping[str, Kind] = {
    "abs": Kind(lambda x: call("abs", x), lambda x: max(x, -x)),
    "add": Kind(lambda x, y: x + y, lambda x, y: math.fsum((x, y)), 2),
    "div": Kind(lambda x, y: x / y, lambda x, y: x * y**-1, 2),
    "eq": Kind(lambda x, y: call("eq", x, y), lambda x, y: x == y, 2),
    "erf": Kind(lambda x: call("erf", x), lambda x: 2 * NormalDist().cdf(x * math.sqrt(2)) - 1),
    "exp": Kind(lambda x: call("exp", x), lambda x: math.e**x),
    "ge": Kind(lambda x, y: call("ge", x, y), lambda x, y: x >= y, 2),
    "gelu": Kind(lambda x: call("gelu", x), lambda x: x * NormalDist().cdf(x)),
    "gt": Kind(lambda x, y: call("gt", x, y), lambda x, y: x > y, 2),
    "le": Kind(lambda x, y: call("le", x, y), lambda x, y: x <= y, 2),
    "log": Kind(lambda x: call("log", x), lambda x: math.log2(x) * math.log(2)),
    "logical_and": Kind(
        lambda x, y: Counted(bool(x.value and y.value), x.calls), lambda x, y: min(bool(x), bool(y)), 2
    ),
    "logical_not": Kind(lambda x: Counted(not x.value, x.calls), lambda x: 1 - bool(x)),
    "logical_or": Kind(lambda x, y: Counted(bool(x.value or y.value), x.calls), lambda x, y: max(bool(x), bool(y)), 2),
    "lt": Kind(lambda x, y: call("lt", x, y), lambda x, y: x < y, 2),
    "maximum": Kind(lambda x, y: call("max", x, y), lambda x, y: (x + y + abs(x - y)) / 2, 2),
    "minimum": Kind(lambda x, y: call("min", x, y), lambda x, y: (x + y - abs(x - y)) / 2, 2),
    "mul": Kind(lambda x, y: x * y, lambda x, y: math.prod((x, y)), 2),
    "ne": Kind(lambda x, y: call("ne", x, y), lambda x, y: x != y, 2),
    "neg": Kind(lambda x: 0 - x, lambda x: -x),
    "pow": Kind(lambda x: _power(x, EXPONENT), lambda x: x**EXPONENT),
    "power 0.5": Kind(lambda x: call("sqrt", x), math.sqrt),
    "power -0.5": Kind(lambda x: call("rsqrt", x), lambda x: 1 / math.sqrt(x)),
    "relu": Kind(lambda x: call("max", x, 0), lambda x: (x + abs(x)) / 2),
    "rsqrt": Kind(lambda x: call("rsqrt", x), lambda x: x**-0.5),
    "sigmoid": Kind(lambda x: call("sigmoid", x), lambda x: (1 + math.tanh(x / 2)) / 2),
    "silu": Kind(lambda x: x * call("sigmoid", x), lambda x: x / (1 + math.e**-x)),
    "sqrt": Kind(lambda x: call("sqrt", x), lambda x: x**0.5),
    "square": Kind(lambda x: x * x, lambda x: x**2),
    "sub": Kind(lambda x, y: x - y, lambda x, y: math.fsum((x, -y)), 2),
    "tanh": Kind(lambda x: call("tanh", x), lambda x: 1 - 2 / (1 + math.e ** (2 * x))),
    "where": Kind(lambda m, x, y: x if m.value > 3 else y, lambda m, x, y: (x, y)[m <= 3], 3),
}

DECLARED_AS = {**dict.fromkeys(("eq", "ge", "gt", "le", "lt", "ne"), "compare"), "min": "max"}
"""Under which name conventions weigh a function."""

GELU = 20
"""The lecture's weight; every other function is one operation a call."""

POSITIVE = ("div", "log", "rsqrt", "sqrt", *POWERS)
NAMES = ("b", "s", "d")


class Case(NamedTuple):
    kind: str
    sizes: dict[str, int]
    operands: tuple[tuple[str, ...], ...]


def cases_of(kind: str) -> st.SearchStrategy[Case]:
    """Operands that lack leading axes are broadcast; one of them has all."""
    sizes = st.permutations((3, 4, 5, 7)).map(lambda drawn: dict(zip(NAMES, drawn, strict=False)))
    lacking = st.tuples(*[st.integers(0, 3)] * (KINDS[kind].operands - 1)).flatmap(lambda n: st.permutations((0, *n)))
    return st.builds(lambda s, n: Case(kind, s, tuple(NAMES[i:] for i in n)), sizes, lacking)


def _execute(case: Case) -> tuple[Counter[str], list[set[tuple[int, ...]]]]:
    """Run the loop, check its values; return the calls, and the places touched in each operand and the output."""
    kind = KINDS[case.kind]
    calls: Counter[str] = Counter()
    places: list[set[tuple[int, ...]]] = [set() for _ in (*case.operands, "output")]
    for turn in itertools.product(*(range(s) for s in case.sizes.values())):
        point = dict(zip(case.sizes, turn, strict=True))
        elements = []
        for i, axes in enumerate(case.operands):
            place = tuple(point[n] for n in axes)
            places[i].add(place)
            elements.append((sum(7 * p for p in place) + 3 * i) % 11 + (1 if case.kind in POSITIVE else -4))
        got = kind.loop(*(Counted(x, calls) for x in elements)).value
        if not math.isclose(got, kind.value(*elements), abs_tol=1e-12):
            msg = f"the loop of {case.kind} yields {got} for {elements}, not {kind.value(*elements)}"
            raise DisagreementError(msg)
        places[-1].add(turn)
    return calls, places


def agrees(case: Case) -> None:
    calls, touched = _execute(case)
    graph = one_op(_rule_of(case.kind), case.operands, exponent=POWERS.get(case.kind))
    what = f"{case.kind} of {case.operands} at {case.sizes}"
    agree([number(s, case.sizes) for s in graph.tensors[-1].shape], list(case.sizes.values()), f"shape of {what}")
    declared: Counter[str] = Counter()
    for function, times in calls.items():
        declared[DECLARED_AS.get(function, function)] += times
    agree(calls_of(graph, case.sizes), dict(declared), f"calls of {what}")
    weighed = sum(times * (GELU if function == "gelu" else 1) for function, times in calls.items())
    agree(flops_of(graph, case.sizes, "2n"), weighed, f"flops of {what}")
    # a power is a chain of multiplies; what else has a name counts once
    once = len(touched[-1]) * (EXPONENT - 1 if case.kind == "pow" else 1) if calls else 0
    agree(flops_of(graph, case.sizes, "unit"), once, f"flops of {what}, one a named function")
    # the scales of a block format are shared along the last axis
    traffic_agrees(graph, case.sizes, touched, [len({p[-1:] for p in places}) for places in touched])


def _fixed(kind: str) -> tuple[Case, ...]:
    sizes = dict(zip(NAMES, (3, 5, 4), strict=True))
    return (Case(kind, sizes, (NAMES, NAMES[1:], NAMES[2:])[: KINDS[kind].operands]),)


CHECKS = tuple(
    Check(
        kind,
        f"work, reads, writes and shape of {kind}",
        "a plain loop that counts calls and touched elements and computes the right values",
        agrees,
        st.one_of([cases_of(k) for k in (POWERS if kind == "pow" else (kind,))]),
        tuple(case for k in (POWERS if kind == "pow" else (kind,)) for case in _fixed(k)),
        claims=("S33",),
        proves=(kind,),
        share=0.05,
    )
    for kind in KINDS
    if kind == _rule_of(kind)
)
