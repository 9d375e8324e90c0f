"""Adaptive pooling against loops over windows and their elements; values by torch."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from symacct.expr import evaluate, name
from symacct.rules import RULES
from symacct.testing.counting import Counted, call, totals
from verify.check import Check, DisagreementError, agree
from verify.one_op import flops_of, one_op, traffic_agrees

Place = tuple[int, ...]
KINDS = ("adaptive_avg_pool", "adaptive_max_pool", "adaptive_avg_pool_backward", "adaptive_max_pool_backward")


class Case(NamedTuple):
    rows: int
    n: Place
    windows: Place

    def elements(self, window: Place) -> list[Place]:
        """The places of a window: from floor(i*n/m) on, before ceil((i + 1)*n/m)."""
        axes = zip(window, self.n, self.windows, strict=True)
        return list(itertools.product(*(range(i * n // m, -(-(i + 1) * n // m)) for i, n, m in axes)))

    def places(self, sizes: Place) -> list[Place]:
        return list(itertools.product(range(self.rows), *map(range, sizes)))


def agrees(kind: str, case: Case) -> None:
    import torch

    from symacct.eager import KINDS as RUN

    calls: Counter[str] = Counter()
    x, grad = (_values(case, sizes, calls) for sizes in (case.n, case.windows))
    shapes, attrs = [["b", 1, *case.n]], {"sizes": case.windows}
    given = [_tensor(x, (case.rows, 1, *case.n))]
    if kind.endswith("backward"):
        attrs = {"pooled": case.n}
        shapes.insert(0, ["b", 1, *case.windows])
        given.insert(0, _tensor(grad, (case.rows, 1, *case.windows)))
        if "avg" in kind:
            del shapes[1], given[1]
    made = _largest_back(case, x, grad) if kind == KINDS[3] else _run(kind, case, x, grad)
    theirs = RUN[kind](*(torch.tensor(g) for g in given), **attrs).flatten().tolist()
    if not np.allclose(list(made.values()), theirs):
        raise DisagreementError(f"the loops of {kind} of {case} yield {made}, not {theirs}")
    graph, sizes = one_op(kind, shapes, **attrs), {"b": case.rows}
    agree(flops_of(graph, sizes, "exact"), totals(calls).get("FLOP", 0), f"flops of {kind} of {case}")
    touched = [set(range(math.prod(np.shape(g)))) for g in given] + [set(made)]
    last = (case.n if kind.endswith("backward") else case.windows)[-1]
    traffic_agrees(graph, sizes, touched, [*(np.shape(g)[-1] for g in given), last])
    _named_agrees(kind, case)


def _values(case: Case, sizes: Place, calls: Counter[str]) -> dict[Place, Counted]:
    return {place: Counted((at * 7 + 3) % 11 / 4, calls) for at, place in enumerate(case.places(sizes))}


def _tensor(values: dict[Place, Any], shape: Place) -> Any:
    return np.array([v.value for v in values.values()], dtype=float).reshape(shape)


def _run(kind: str, case: Case, x: Any, grad: Any) -> dict[Place, float]:
    """Sum from the first term; a division a window, and none a tap."""
    terms: defaultdict[Place, list[Counted]] = defaultdict(list)
    forward = not kind.endswith("backward")
    for row, *window in case.places(case.windows):
        inside = case.elements(tuple(window))
        if not forward:
            share = grad[row, *window] / len(inside)
        for place in inside:
            key = (row, *window) if forward else (row, *place)
            terms[key].append(x[row, *place] if forward else share)
    out = {}
    for key in case.places(case.windows if forward else case.n):
        total, *rest = terms[key]
        for term in rest:
            total = call("max", total, term) if "max" in kind else total + term
        out[key] = (total / len(terms[key])).value if kind == "adaptive_avg_pool" else total.value
    return out


def _largest_back(case: Case, x: Any, grad: Any) -> dict[Place, float]:
    """To the first largest of each window."""
    out = {key: Counted(0.0, x[key].calls) for key in case.places(case.n)}
    for row, *window in case.places(case.windows):
        places = [(row, *place) for place in case.elements(tuple(window))]
        found = max(places, key=lambda place: x[place].value)
        out[found] = out[found] + grad[row, *window]
    return {key: v.value for key, v in out.items()}


def _named_agrees(kind: str, case: Case) -> None:
    """With names for sizes, where windows divide elements."""
    if kind.endswith("backward") or any(n % m for n, m in zip(case.n, case.windows, strict=True)):
        return
    n, m = ([name(f"{letter}{i}") for i in range(len(case.n))] for letter in "nm")
    graph = one_op(kind, [[case.rows, 1, *n]], sizes=tuple(m))
    (op,) = graph.ops
    numbers = {f"n{i}": v for i, v in enumerate(case.n)} | {f"m{i}": v for i, v in enumerate(case.windows)}
    asked = RULES[kind].conditions(op, graph)
    agree([str(c) for c in asked], [f"m{i} divides n{i}" for i in range(len(case.n))], f"conditions of {kind}")
    plain = one_op(kind, [[case.rows, 1, *case.n]], sizes=case.windows)
    agree(flops_of(graph, numbers, "exact"), flops_of(plain, {}, "exact"), f"{kind} of {case} with names")
    assert all(evaluate(c.right, numbers) % evaluate(c.left, numbers) == 0 for c in asked)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rank = draw(st.integers(1, 2))
    sizes = st.lists(st.integers(1, 9), min_size=rank, max_size=rank).map(tuple)
    return Case(draw(st.integers(1, 2)), draw(sizes), draw(sizes))


FIXED = (
    Case(2, (7,), (3,)),
    Case(1, (6, 8), (4, 2)),
    Case(2, (3,), (5,)),
    Case(1, (8, 6), (4, 3)),
    Case(1, (5,), (1,)),
)

CHECKS = tuple(
    Check(
        kind,
        f"work, reads, writes and shapes of {kind}",
        "loops over windows on numbers that count; values by torch",
        lambda case, kind=kind: agrees(kind, case),
        cases(),
        FIXED,
        proves=(kind,),
        needs=("torch",),
        share=0.1,
    )
    for kind in KINDS
)
