"""Memories that count how often their places are read and written, and the check of an operation run on them."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from symacct.expr import Poly
from symacct.graph import Graph
from symacct.rules import RULES
from symacct.testing.counting import Counted, totals
from verify.check import Check, agree, number
from verify.one_op import Axes, flops_of, one_op

SIZES = {"b": 2, "s": 3, "d": 4, "e": 7, "p": 8, "v": 5}
Place = tuple[int, ...]


class Memory:
    """A tensor as places with values; `reads` and `writes` count."""

    def __init__(self, shape: Sequence[int], values: Mapping[Place, Any] | None = None) -> None:
        self.shape = tuple(shape)
        self.values = dict(values or {})
        self.reads: Counter[Place] = Counter()
        self.writes: Counter[Place] = Counter()

    def places(self) -> Iterator[Place]:
        return itertools.product(*(range(n) for n in self.shape))

    def __getitem__(self, place: Place) -> Any:
        self.reads[place] += 1
        return self.values[place]

    def __setitem__(self, place: Place, value: Any) -> None:
        self.writes[place] += 1
        self.values[place] = value

    def array(self) -> Any:
        import numpy as np

        values = [self.values[p] for p in self.places()]
        return np.array([getattr(v, "value", v) for v in values], dtype=float).reshape(self.shape)


class Case(NamedTuple):
    """An operation: axes of its operands, attributes (sizes as names where they have one), which operand is indices.

    `row` is the axis along which rows of the inputs lie; of the outputs it is the last one.
    """

    operands: tuple[Axes, ...]
    attrs: Mapping[str, Any] = {}
    indices: int | None = None
    row: int = -1


class Kind(NamedTuple):
    """What an operation is: a program on memories, its values by NumPy, and cases.

    `once` says that traffic is by definition each element once, however often the program comes back to it.
    """

    program: Callable[..., None]
    expected: Callable[..., Sequence[Any]]
    cases: tuple[Case, ...]
    once: bool = False


def numbers(value: Any) -> Any:
    """Put numbers for names, also inside tuples."""
    if isinstance(value, tuple):
        return tuple(numbers(v) for v in value)
    return number(value, SIZES) if isinstance(value, Poly) else value


def agrees(name: str, kind: Kind, case: Case) -> None:
    """Run the program, and compare calls, places touched, shapes, rows and values."""
    graph = one_op(name, case.operands, **case.attrs)
    attrs = {n: numbers(v) for n, v in case.attrs.items()}
    what = f"{name} of {case.operands} with {attrs}"
    calls: Counter[str] = Counter()
    inputs = [_memory(graph, i, calls, is_index=i == case.indices) for i in graph.inputs]
    outputs = [Memory(numbers(graph.tensors[i].shape)) for i in graph.outputs]
    arrays = [m.array() for m in inputs]
    kind.program(*inputs, *outputs, calls=calls, **attrs)
    for made, theirs in zip(outputs, kind.expected(*arrays, **attrs), strict=True):
        agree(made.array().tolist(), theirs.astype(float).tolist(), f"the program of {what}")
    agree(flops_of(graph, SIZES, "exact"), totals(calls).get("FLOP", 0), f"flops of {what}")
    _traffic_agrees(graph, kind, case, [*inputs, *outputs], what)


def _memory(graph: Graph, i: int, calls: Counter[str], *, is_index: bool) -> Memory:
    """Fill an input: indices that repeat, or numbers that count, all different."""
    memory = Memory(numbers(graph.tensors[i].shape))
    for at, place in enumerate(memory.places()):
        memory.values[place] = at * 3 % 4 if is_index else Counted((at * 17 + 5) % 101, calls)
    return memory


def _traffic_agrees(graph: Graph, kind: Kind, case: Case, memories: Sequence[Memory], what: str) -> None:
    (op,) = graph.ops
    rule = RULES[op.kind]
    for aspect in ("reads", "writes"):
        touched = getattr(rule, aspect)(op, graph)
        ours: Counter[int] = Counter()
        for read in touched:
            shape = numbers(read.shape)
            ours[read.tensor] += math.prod(shape)
            axis = case.row if aspect == "reads" else -1
            row = math.prod(shape[a] for a in read.row)
            agree(row, shape[axis] if shape else 1, f"row of what is in {aspect} of {what}")
        seen = {i: getattr(m, aspect) for i, m in enumerate(memories)}
        theirs = {i: len(c) if kind.once else c.total() for i, c in seen.items() if c}
        agree(dict(ours), theirs, f"{aspect} of {what}")


def checks(kinds: Mapping[str, Kind], claims: Mapping[str, tuple[str, ...]] | None = None) -> tuple[Check, ...]:
    """Make a check of every kind."""
    return tuple(
        Check(
            name,
            f"work, reads, writes and shapes of {name}",
            "a plain loop on memories that count; NumPy's values",
            lambda case, name=name, kind=kind: agrees(name, kind, case),
            fixed=kind.cases,
            claims=(claims or {}).get(name, ()),
            proves=(name,),
            needs=("numpy",),
        )
        for name, kind in kinds.items()
    )
