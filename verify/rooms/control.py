"""Repeats and branches: the same function with symbolic tensors, and executed on numbers that count."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.testing.counting import array, totals
from symacct.testing.loops import run
from verify.check import Check, agree, number


class Case(NamedTuple):
    layers: int
    rows: int
    width: int

    @property
    def sizes(self) -> dict[str, int]:
        return {"L": self.layers, "b": self.rows, "d": self.width}


def network(x: "b d", w: "L d d") -> Any:
    return sa.repeat("L", lambda h, w: h @ w, x, xs=w)


def collecting(x: "b d", w: "L d d") -> Any:
    """Collects what it makes, that again, a part of it, and what it was given."""

    def body(h: Any, w: Any) -> Any:
        h = h @ w
        return h, (h, h, h[:, :1], w)

    return sa.repeat("L", body, x, xs=w, collect=True)


def branching(p: "", x: "b d", w: "d d") -> Any:
    return sa.cond(p > 0, lambda x, w: x @ w @ w, lambda x, w: x @ w, x, w)


def _ones(calls: Counter[str], *shape: int) -> Any:
    import numpy as np

    return array(np.ones(shape, dtype=int), calls)


def repeat_agrees(case: Case) -> None:
    calls: Counter[str] = Counter()
    sa.repeat(
        case.layers,
        lambda h, w: h @ w,
        _ones(calls, case.rows, case.width),
        xs=_ones(calls, case.layers, case.width, case.width),
    )
    account = sa.account(network, convention="exact", dtype="int8")
    agree(number(account.flops, case.sizes), sum(totals(calls).values()), f"flops of {case.layers} layers, {case}")
    one = run("b d, d k -> b k", {"b": case.rows, "d": case.width, "k": case.width})
    moved = sum(t.elements for _ in range(case.layers) for t in one.touched)
    agree(number(account.bytes, case.sizes), moved, f"elements that {case.layers} layers move, {case}")


def collection_agrees(case: Case) -> None:
    """What is made is written in its place, all else is read and written again; torch stacks that too."""
    one = run("b d, d k -> b k", {"b": case.rows, "d": case.width, "k": case.width})
    products = sum(t.elements for t in one.touched)
    made, part, given = case.rows * case.width, case.rows, case.width**2
    for layout, copied in (("ideal", made + part + given), ("torch", 2 * made + part + given)):
        ours = number(sa.account(collecting, dtype="int8", layout=layout).bytes, case.sizes)
        agree(ours, case.layers * (products + 2 * copied), f"elements that {layout} moves to collect, {case}")


def cond_agrees(case: Case) -> None:
    """An account takes the dearer branch, whichever is run."""
    flops = []
    for side in (1, -1):
        calls: Counter[str] = Counter()
        branching(side, _ones(calls, case.rows, case.width), _ones(calls, case.width, case.width))
        flops.append(sum(totals(calls).values()))
    sizes = {"b": case.rows, "d": case.width}
    ours = number(sa.account(branching, convention="exact", d=case.width, b=case.rows).matmul_flops, sizes)
    agree(ours, max(flops), f"flops of the dearer branch, {case}")


def _used_in_one(choice: "", x: "b d", w: "d d") -> Any:
    return sa.cond(choice > 0, lambda x, w: x @ w, lambda x, _: sa.relu(x), x, w)


def absent_agrees(case: Case) -> None:
    """Where the dearer branch ran, the gradient of w is a product over the rows, and no other has a part in it."""
    rows, width = range(case.rows), range(case.width)
    visited = sum(1 for _ in rows for _ in width for _ in width)  # a multiply and an add each
    counted = sa.account(_used_in_one, params=["w"], d=case.width, b=case.rows, dtype="fp32")
    ours = counted.backward()
    agree(ours.total("flops"), 2 * visited, f"backward of one branch, {case}")
    moved = 4 * (2 * case.rows * case.width + case.width**2)  # x and the gradient in, that of w out
    agree(ours.total("bytes"), moved, f"bytes of it, {case}")


def _looped(x: "b d", w: "4 d d") -> Any:
    """Each turn is collected before its GELU; the gradient wants that, and what the turn was given."""

    def turn(x: Any, w: Any) -> tuple[Any, Any]:
        y = x @ w
        return sa.gelu(y), y

    return sa.repeat(4, turn, x, xs=w, collect=True)


def forward_of_training_agrees(case: Case) -> None:
    """What a turn keeps for the way back is written once, where it is made: forward moves what it moves by itself."""
    counted = sa.account(_looped, params=["w"], d=case.width, b=case.rows, dtype="fp32")
    state, weight = case.rows * case.width, case.width**2
    moved = 4 * 4 * ((state + weight + state) + (state + state))  # fp32, 4 turns of a product and a gelu
    agree(counted.training().forward.total("bytes"), moved, f"forward bytes of a step, {case}")


_CASES = st.builds(Case, st.integers(1, 6), st.integers(2, 6), st.integers(2, 6))
_FIXED = (Case(5, 3, 4), Case(2, 4, 3))

CHECKS = (
    Check(
        "repeat",
        "account(repeat of a matrix product)",
        "every iteration executed on numbers that count",
        repeat_agrees,
        _CASES,
        _FIXED,
        proves=("repeat",),
        share=0.1,
    ),
    Check(
        "collected",
        "account(repeat that collects).bytes",
        "elements of products executed, and of what is copied",
        collection_agrees,
        _CASES,
        _FIXED,
        proves=("repeat",),
        share=0.1,
    ),
    Check(
        "forward pass of a step",
        "account(repeat).training().forward.bytes",
        "the tensors of each turn, by hand",
        forward_of_training_agrees,
        _CASES,
        _FIXED,
        proves=("repeat",),
        share=0.1,
    ),
    Check(
        "cond",
        "account(two branches).matmul_flops",
        "both branches executed on numbers that count",
        cond_agrees,
        _CASES,
        _FIXED,
        proves=("cond",),
        share=0.1,
    ),
    Check(
        "a gradient that one branch lacks",
        "account(two branches).backward()",
        "the products of the branch that runs, one by one; its tensors by hand",
        absent_agrees,
        _CASES,
        _FIXED,
        proves=("absent",),
        share=0.1,
    ),
)
