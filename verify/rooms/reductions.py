"""Reductions against plain loops over the reduced axes, and against NumPy's values and shapes."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from symacct.testing.counting import Counted, call, totals
from verify.check import Check, agree, number
from verify.one_op import calls_of, flops_of, one_op, traffic_agrees

NAMES = ("b", "s", "d")


class Kind(NamedTuple):
    """How two elements become one, where an accumulator starts, and NumPy's name of it."""

    join: Callable[[Counted, Any], Counted]
    start: float
    numpy: str


KINDS: Mapping[str, Kind] = {
    "sum": Kind(lambda x, y: x + y, 0, "sum"),
    "mean": Kind(lambda x, y: x + y, 0, "mean"),
    "prod": Kind(lambda x, y: x * y, 1, "prod"),
    "max": Kind(lambda x, y: call("max", x, y), -1000, "max"),
    "min": Kind(lambda x, y: call("min", x, y), 1000, "min"),
}


class Case(NamedTuple):
    kind: str
    sizes: dict[str, int]
    axes: tuple[int, ...]
    keepdims: bool


@st.composite
def cases(draw: st.DrawFn, kind: str) -> Case:
    """Axes counted from either end."""
    sizes = dict(zip(NAMES, draw(st.permutations((3, 4, 5, 7))), strict=False))
    axes = draw(st.lists(st.integers(0, 2), min_size=1, unique=True))
    return Case(kind, sizes, tuple(a - 3 * draw(st.booleans()) for a in axes), draw(st.booleans()))


def _execute(case: Case, way: str) -> tuple[Counter[str], list[float], set[tuple[int, ...]], set[tuple[int, ...]]]:
    """Run it: a total starts with the first element ("exact") or with an accumulator ("2n")."""
    kind, sizes = KINDS[case.kind], list(case.sizes.values())
    gone = [a % 3 for a in case.axes]
    calls: Counter[str] = Counter()
    read, out = set(), {}
    for turn in itertools.product(*(range(s) for s in sizes)):
        read.add(turn)
        place = tuple(0 if i in gone else t for i, t in enumerate(turn))
        element = Counted(sum(7 * t for t in turn) % 11 - 4, calls)
        if place in out:
            out[place] = kind.join(out[place], element)
        else:
            out[place] = element if way == "exact" else kind.join(element, kind.start)
    if case.kind == "mean":
        out = {place: total / (len(read) // len(out)) for place, total in out.items()}
    return calls, [x.value for x in out.values()], read, set(out)


def agrees(case: Case) -> None:
    import numpy as np

    what = f"{case.kind} over {case.axes} at {case.sizes}"
    graph = one_op(case.kind, [NAMES], axes=case.axes, keepdims=case.keepdims)
    for way in ("exact", "2n"):
        calls, values, read, written = _execute(case, way)
        agree(flops_of(graph, case.sizes, way), totals(calls)["FLOP"], f"flops of {what} under {way}")
    agree(calls_of(graph, case.sizes), {"div": calls["div"]} if calls["div"] else {}, f"other calls of {what}")
    x = np.fromfunction(lambda *turn: sum(7 * t for t in turn) % 11 - 4, list(case.sizes.values()), dtype=int)
    real = getattr(np, KINDS[case.kind].numpy)(x.astype(object), axis=case.axes, keepdims=case.keepdims)
    agree(values, np.ravel(real).tolist(), f"the loop's own values of {what}")
    shape = tuple(number(s, case.sizes) for s in graph.tensors[-1].shape)
    agree(shape, np.shape(real), f"shape of {what}")
    # the scales of a block format are shared along what is reduced, and along an output's last axis
    traffic_agrees(graph, case.sizes, [read, written], [len(read) // len(written), shape[-1] if shape else 1])


CHECKS = tuple(
    Check(
        kind,
        f"work, reads, writes and shape of {kind}",
        "a plain loop that counts calls and touched elements; NumPy's values and shape",
        agrees,
        cases(kind),
        (Case(kind, {"b": 3, "s": 5, "d": 4}, (1,), False), Case(kind, {"b": 3, "s": 5, "d": 4}, (-1, 0), True)),  # noqa: FBT003
        claims=("S26",),
        proves=(kind,),
        share=0.1,
    )
    for kind in KINDS
)
