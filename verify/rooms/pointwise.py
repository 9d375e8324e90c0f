"""Element-wise operations against plain loops that call the function once an output element."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import NamedTuple

from hypothesis import strategies as st

from symacct.conventions import convention_of, tally
from symacct.expr import name, product
from symacct.graph import Graph, Op, Tensor
from symacct.rules import rule_of
from symacct.testing.counting import Counted, call, totals
from verify.check import Check, agree, number

LOOPS: Mapping[str, Callable[..., Counted]] = {
    "relu": lambda x: call("max", x, 0),
    "gelu": lambda x: call("gelu", x),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
}
"""What each kind does to an element, on numbers that count."""

VALUES: Mapping[str, Callable[..., float]] = {
    "relu": lambda x: (x + abs(x)) / 2,
    "gelu": lambda x: x * NormalDist().cdf(x),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
}
"""What an element comes to, in plain Python: so that the counted loops are the real operation."""

WEIGHTS = {"gelu": 20}
"""The lecture's; every other function is one operation a call."""

NAMES = ("b", "s", "d")


class Case(NamedTuple):
    kind: str
    sizes: dict[str, int]
    operands: tuple[tuple[str, ...], ...]

    def graph(self) -> Graph:
        """Operands of the named axes, and an output with all of them: NumPy's broadcasting."""
        shapes = [tuple(name(n) for n in axes) for axes in (*self.operands, tuple(self.sizes))]
        tensors = tuple(Tensor(i, shape, "act", f"tensor {i}") for i, shape in enumerate(shapes))
        out = len(self.operands)
        op = Op(0, self.kind, tuple(range(out)), (out,))
        return Graph(tensors, (op,), op.inputs, op.outputs)


def cases_of(kind: str) -> st.SearchStrategy[Case]:
    sizes = st.permutations((3, 4, 5, 7, 11)).map(lambda drawn: dict(zip(NAMES, drawn, strict=False)))
    starts = st.tuples(*[st.integers(0, 3)] * (_arity(kind) - 1)).flatmap(lambda s: st.permutations((0, *s)))
    return st.builds(lambda s, at: Case(kind, s, tuple(NAMES[i:] for i in at)), sizes, starts)


def _arity(kind: str) -> int:
    return LOOPS[kind].__code__.co_argcount


def _fixed(kind: str) -> tuple[Case, ...]:
    sizes = dict(zip(NAMES, (3, 5, 4), strict=True))
    return tuple(Case(kind, sizes, at) for at in ((NAMES,), (NAMES, NAMES[1:]))[_arity(kind) - 1 : _arity(kind)])


def _execute(case: Case) -> tuple[Counter[str], list[set[tuple[int, ...]]]]:
    """Run the loop; return the calls, and which places of each operand and of the output were touched."""
    calls: Counter[str] = Counter()
    places: list[set[tuple[int, ...]]] = [set() for _ in (*case.operands, "output")]
    for turn in itertools.product(*(range(s) for s in case.sizes.values())):
        point = dict(zip(case.sizes, turn, strict=True))
        elements = []
        for i, axes in enumerate(case.operands):
            place = tuple(point[n] for n in axes)
            places[i].add(place)
            elements.append((sum(7 * p for p in place) + 3 * i) % 11 - 4.5)
        got = LOOPS[case.kind](*(Counted(x, calls) for x in elements)).value
        expected = VALUES[case.kind](*elements)
        if not math.isclose(got, expected, abs_tol=1e-12):
            agree(got, expected, f"the loop's own value of {case.kind}")
        places[-1].add(turn)
    return calls, places


def agrees(case: Case) -> None:
    calls, touched = _execute(case)
    graph = case.graph()
    (op,) = graph.ops
    rule, what = rule_of(op), f"{case.kind} of {case.operands} at {case.sizes}"
    work = rule.work(op, graph)
    ours = {function: number(n, case.sizes) for (function, role), n in work.items() if role == "points"}
    agree(ours, dict(calls), f"calls of {what}")
    weighed = tally(work, convention_of("2n"))
    agree({u: number(x, case.sizes) for u, x in weighed.items()}, totals(calls, WEIGHTS), f"flops of {what}")
    moved = [*rule.reads(op, graph), *rule.writes(op, graph)]
    agree([m.tensor for m in moved], [*op.inputs, *op.outputs], f"tensors of {what}")
    for m, places in zip(moved, touched, strict=True):
        agree(number(product(m.shape), case.sizes), len(places), f"elements of {what}")
        # what the scales of a block format are shared along: the last axis
        row = math.prod(number(m.shape[i], case.sizes) for i in m.row)
        agree(row, len({p[-1:] for p in places}), f"row of {what}")


CHECKS = tuple(
    Check(
        f"{kind}",
        f"work, reads and writes of {kind}",
        "a plain loop that counts calls and touched elements, and computes the right values",
        agrees,
        cases_of(kind),
        _fixed(kind),
        claims=("S33",),
        proves=(kind,),
        share=0.2,
    )
    for kind in LOOPS
)
