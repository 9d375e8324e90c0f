"""Run a function as a program on arrays of numbers that count, and compare calls, traffic, shapes and values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from symacct.conventions import Convention, Key, tally
from symacct.expr import product
from symacct.graph import Graph
from symacct.rules import FORMULAS, RULES
from symacct.testing.counting import totals
from verify.check import Check, DisagreementError, agree, number
from verify.counted_arrays import Array, Machine, plain
from verify.one_op import WEIGHTS, Axes, one_op

SIZES = {"b": (2, 3, 5), "s": (2, 3, 4), "d": (3, 4, 7), "c": (4, 8), "h": (2, 3, 5)}
"""Sizes of axes that random cases draw from; groups of 2 divide c."""


DECLARED_AS = {"gt": "compare"}
"""Under which name conventions weigh a function."""


class Variant(NamedTuple):
    """The axes of the operands, and the attributes."""

    operands: tuple[Axes, ...]
    attrs: Mapping[str, Any] = {}


class Kind(NamedTuple):
    """What a kind of operation is.

    `program` yields the outputs from arrays that count. `expected` yields their values by other means, from random
    arrays; it puts those in place that are made from others (what was kept, indices). `moved` are the axes visited of
    tensors by number, where that is not all inputs and outputs once; `elements` is what `unit` counts.
    """

    program: Callable[..., Any]
    expected: Callable[..., Sequence[Array]]
    variants: tuple[Variant, ...]
    moved: Callable[[Variant, Graph], list[tuple[int, Axes]]] | None = None
    elements: Callable[[Variant, Sequence[Array]], int] = lambda _variant, arrays: arrays[0].size


class Case(NamedTuple):
    variant: int
    sizes: dict[str, int]
    seed: int


def checks(kinds: Mapping[str, Kind], share: float = 0.02) -> tuple[Check, ...]:
    """Make a check of every kind."""
    return tuple(
        Check(
            name,
            f"work, reads, writes and shapes of {name}",
            "its definition as a program on numbers that count; values by NumPy or by differences",
            lambda case, name=name, kind=kind: agrees(name, kind, case),
            _cases(kind),
            _fixed(kind),
            proves=(name,),
            needs=("numpy",),
            share=share,
        )
        for name, kind in kinds.items()
    )


def _cases(kind: Kind) -> st.SearchStrategy[Case]:
    sizes = st.fixed_dictionaries({n: st.sampled_from(s) for n, s in SIZES.items()})
    return st.builds(Case, st.integers(0, len(kind.variants) - 1), sizes, st.integers(0, 10**6))


def _fixed(kind: Kind) -> tuple[Case, ...]:
    sizes = {"b": 3, "s": 2, "d": 5, "c": 4, "h": 5}
    return tuple(Case(i, sizes, 1) for i in range(len(kind.variants)))


def agrees(name: str, kind: Kind, case: Case) -> None:
    variant, sizes = kind.variants[case.variant], case.sizes
    graph = one_op(name, variant.operands, **variant.attrs)
    what = f"{name} of {variant.operands} with {dict(variant.attrs)} at {sizes}"
    arrays = _arrays(variant, case)
    work = {key: number(n, sizes) for key, n in RULES[name].work(graph.ops[0], graph).items()}
    expected = kind.expected(arrays, **variant.attrs)
    for way in ("2n", "exact"):
        machine = Machine(way)
        made = kind.program(machine, *(machine.load(a) for a in arrays), **variant.attrs)
        made = made if isinstance(made, tuple) else (made,)
        _values_agree(made, expected, what)
        flops = totals(machine.calls + machine.reduced).get("FLOP", 0)
        agree(tally(work, Convention(way), FORMULAS).get("FLOP", 0), flops, f"flops of {what} under {way}")
    declared = {DECLARED_AS.get(n, n): times for n, times in machine.calls.items()}
    agree(_calls(work), declared, f"calls of {what}")
    agree(
        tally(work, Convention("unit"), FORMULAS)["FLOP"],
        kind.elements(variant, arrays),
        f"flops of {what}, one an element",
    )
    shapes = [tuple(number(s, sizes) for s in graph.tensors[i].shape) for i in graph.outputs]
    agree(shapes, [np.shape(e) for e in expected], f"shapes of {what}")
    _traffic_agrees(graph, kind, variant, sizes, what)


def _arrays(variant: Variant, case: Case) -> list[Array]:
    rng = np.random.default_rng(case.seed)
    return [rng.normal(size=[case.sizes[a] if isinstance(a, str) else a for a in axes]) for axes in variant.operands]


def _values_agree(made: Sequence[Array], expected: Sequence[Array], what: str) -> None:
    for ours, theirs in zip(made, expected, strict=True):
        if not np.allclose(plain(np.asarray(ours, dtype=object)), theirs, rtol=1e-5, atol=1e-6):
            msg = f"the program of {what} yields {ours}, not {theirs}"
            raise DisagreementError(msg)


def _calls(work: Mapping[Key, Any]) -> dict[str, Any]:
    """How often each function with a weight is called, outside reductions."""
    zero = dict.fromkeys(WEIGHTS, 0)

    def counted(weights: Mapping[str, int]) -> Any:
        return tally(work, Convention("2n", weights={**zero, **weights}), FORMULAS).get("FLOP", 0)

    found = Counter({function: counted({function: 1}) - counted({}) for function in WEIGHTS})
    return dict(+found)


def _traffic_agrees(graph: Graph, kind: Kind, variant: Variant, sizes: Mapping[str, int], what: str) -> None:
    (op,) = graph.ops
    rule = RULES[op.kind]
    if kind.moved is None:
        expected = [(i, graph.tensors[i].shape) for i in (*op.inputs, *op.outputs)]
    else:
        expected = kind.moved(variant, graph)
    ours = [
        (r.tensor, number(product(r.shape), sizes), math.prod(int(number(r.shape[i], sizes)) for i in r.row))
        for r in (*rule.reads(op, graph), *rule.writes(op, graph))
    ]
    numbers = [(i, [sizes.get(a, a) if isinstance(a, str) else number(a, sizes) for a in axes]) for i, axes in expected]
    agree(ours, [(i, math.prod(n), n[-1] if n else 1) for i, n in numbers], f"traffic of {what}")


def difference(function: Callable[[Array], Array], x: Array, grad: Array) -> Array:
    """The gradient of ``sum(grad * function(x))`` by central differences."""
    out, step = np.empty_like(x), 1e-6
    for place in np.ndindex(x.shape):
        nudge = np.zeros_like(x)
        nudge[place] = step
        out[place] = np.sum(grad * (function(x + nudge) - function(x - nudge))) / (2 * step)
    return out
