"""Run a pattern as plain loops over its definition, counting every operation and every element touched.

Nothing here knows a formula. A convention is a way to run the same loops:

- ``"exact"``: a sum starts with its first term: n multiplies and n - 1 adds;
- ``"2n"``: a sum starts with zero, as accumulators do: n multiplies and n adds;
- ``"mac"``: a sum of products starts with zero and runs on fused multiply-adds.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from symacct.errors import ConventionError, UndefinedSizeError, one_of
from symacct.pattern import Axis
from symacct.testing.counting import Calls, Counted, fma
from symacct.testing.spec import Spec, Tree, leaves, left_tree, spec_of

WAYS = ("2n", "exact", "mac")


@dataclass(frozen=True, slots=True)
class Touched:
    """How many distinct elements of one tensor an operation read or wrote.

    Tensors are numbered: operands from 0, then what each step yields.
    """

    tensor: int
    elements: int


@dataclass(frozen=True, slots=True)
class Step:
    """One operation as it was executed.

    Attributes
    ----------
    alone, product
        Calls by function: in the sums of axes that only one operand has, and in the product with its sum.
    contracts
        Whether the product was summed.
    reads, writes
        Elements touched. What a step keeps to itself (operands after their own sums) is not memory traffic.
    """

    alone: Calls
    product: Calls
    contracts: bool
    reads: tuple[Touched, ...]
    writes: Touched


@dataclass(frozen=True, slots=True)
class Run:
    """What a run did and what came out: values in row-major order, and the output's shape."""

    values: tuple[Any, ...]
    shape: tuple[int, ...]
    steps: tuple[Step, ...]

    @property
    def calls(self) -> Calls:
        """All calls by function."""
        return sum((s.alone + s.product for s in self.steps), Counter())

    @property
    def matmul_calls(self) -> Calls:
        """Calls in products that were summed."""
        return sum((s.product for s in self.steps if s.contracts), Counter())

    @property
    def touched(self) -> tuple[Touched, ...]:
        """Unfused traffic: what every step read and wrote."""
        return tuple(t for s in self.steps for t in (*s.reads, s.writes))


class Tensor:
    """Values in row-major order behind named axes; remembers which places were read and written."""

    def __init__(self, axes: Sequence[Axis], sizes: Mapping[str, int], values: Sequence[Any] | None) -> None:
        """Lay out the axes; an axis of several names is their product, the last running fastest."""
        self.shape = tuple(prod(sizes[n] for n in axis) for axis in axes)
        self.names = tuple(dict.fromkeys(n for axis in axes for n in axis))
        self.strides: dict[str, int] = dict.fromkeys(self.names, 0)
        stride = 1
        for n in reversed([n for axis in axes for n in axis]):
            self.strides[n] += stride  # a name that stands twice walks along the diagonal
            stride *= sizes[n]
        self.values: list[Any] = [None] * stride if values is None else list(values)
        self.read_places: set[int] = set()
        self.written_places: set[int] = set()

    def places(self, names: Sequence[str], sizes: Mapping[str, int]) -> list[int]:
        """Return where each turn of nested loops over `names` stands; loops over other axes do not move it."""
        steps = [self.strides.get(n, 0) for n in names]
        turns = itertools.product(*(range(sizes[n]) for n in names))
        return [sum(step * i for step, i in zip(steps, turn, strict=True)) for turn in turns]

    def read(self, place: int) -> Any:
        """Return the value at a place."""
        self.read_places.add(place)
        return self.values[place]

    def write(self, place: int, value: Any) -> None:
        """Store the value at a place."""
        self.written_places.add(place)
        self.values[place] = value


def run(
    pattern: str | Spec,
    sizes: Mapping[str, int],
    *,
    way: str = "exact",
    tree: Tree | None = None,
    nest: bool = False,
    values: Sequence[Sequence[int]] | None = None,
) -> Run:
    """Execute a pattern on counted numbers: pairwise, lone axes summed first, or as one loop nest.

    Parameters
    ----------
    pattern
        An einsum pattern, or a `Spec`.
    sizes
        A number for each name (``batch`` for the product of the axes in ``...``); keep them small.
    way
        ``"exact"``, ``"2n"`` or ``"mac"``: how sums are run.
    tree
        The order of three operands and more; from the left when None.
    nest
        Run all operands as one loop nest instead; nothing is summed before the product.
    values
        The elements of each operand in row-major order; small whole numbers when None.

    Raises
    ------
    ConventionError
        For an unknown way.
    UndefinedSizeError
        Names the sizes that are missing.

    Examples
    --------
    >>> dict(run("b d, d k -> b k", {"b": 2, "d": 3, "k": 5}).calls)
    {'mul': 30, 'add': 20}

    """
    if way not in WAYS:
        msg = f"unknown way to run {way!r}; known: {one_of(WAYS)}"
        raise ConventionError(msg)
    spec = spec_of(pattern) if isinstance(pattern, str) else pattern
    if missing := [n for n in spec.names if n not in sizes]:
        msg = f"no size for {one_of(missing)}; loops need a number for each of {one_of(spec.names)}"
        raise UndefinedSizeError(msg)
    program = _Program(spec, sizes, way, values)
    everything: Tree = left_tree(len(spec.operands)) if tree is None else tree
    if nest or isinstance(everything, int):
        program.step(tuple(range(len(spec.operands))), spec.output, alone_first=False)
    else:
        program.pairs(everything)
    result = program.tensors[-1]
    return Run(tuple(v.value for v in result.values), result.shape, tuple(program.steps))


class _Program:
    """The tensors and steps of a run."""

    def __init__(self, spec: Spec, sizes: Mapping[str, int], way: str, values: Sequence[Sequence[int]] | None) -> None:
        self.spec, self.sizes, self.way = spec, sizes, way
        self.calls: Calls = Counter()
        self.steps: list[Step] = []
        self.tensors: list[Tensor] = []
        for i, axes in enumerate(spec.operands):
            numel = prod(sizes[n] for axis in axes for n in axis)
            own = values[i] if values else [(7 * place + 3 * i) % 11 - 4 for place in range(numel)]
            self.tensors.append(Tensor(axes, sizes, [Counted(v, self.calls) for v in own]))

    def pairs(self, tree: tuple[Tree, Tree]) -> int:
        """Multiply two sides, each made first; the last of all yields the pattern's output."""
        sides = [side if isinstance(side, int) else self.pairs(side) for side in tree]
        inside = set(leaves(tree))
        if len(inside) == len(self.spec.operands):
            return self.step(tuple(sides), self.spec.output, alone_first=True)
        outside = [o for i, o in enumerate(self.spec.operands) if i not in inside]
        needed = {n for axes in (*outside, self.spec.output) for axis in axes for n in axis}
        names = dict.fromkeys(n for side in sides for n in self.tensors[side].names)
        return self.step(tuple(sides), tuple((n,) for n in names if n in needed), alone_first=True)

    def step(self, inputs: tuple[int, ...], axes: Sequence[Axis], *, alone_first: bool) -> int:
        """Execute one operation and return the number of the tensor it makes."""
        operands = [self.tensors[i] for i in inputs]
        for operand in operands:
            operand.read_places.clear()
        out = Tensor(axes, self.sizes, None)
        ready = [self._alone(o, operands, out) for o in operands] if alone_first else operands
        alone, contracts = self._taken(), False
        if len(ready) > 1:
            contracts = self._loops(ready, out)
        else:
            self._loops(ready, out)
            alone += self._taken()
        reads = tuple(Touched(i, len(o.read_places)) for i, o in zip(inputs, operands, strict=True))
        self.tensors.append(out)
        made = Touched(len(self.tensors) - 1, len(out.written_places))
        self.steps.append(Step(alone, self._taken(), contracts, reads, made))
        return made.tensor

    def _taken(self) -> Calls:
        taken = Counter(self.calls)
        self.calls.clear()
        return taken

    def _alone(self, operand: Tensor, operands: Sequence[Tensor], out: Tensor) -> Tensor:
        """Sum the axes that only this operand has and the output lacks."""
        needed = {n for t in (*(o for o in operands if o is not operand), out) for n in t.names}
        if needed.issuperset(operand.names):
            return operand
        kept = Tensor([(n,) for n in operand.names if n in needed], self.sizes, None)
        self._loops([operand], kept)
        return kept

    def _loops(self, operands: Sequence[Tensor], out: Tensor) -> bool:
        """For every output element, sum the products over all other axes; return whether anything was summed."""
        summed = tuple(dict.fromkeys(n for o in operands for n in o.names if n not in out.names))
        outer = [o.places(out.names, self.sizes) for o in operands]
        inner = list(zip(*(o.places(summed, self.sizes) for o in operands), strict=True))
        for target, *starts in zip(out.places(out.names, self.sizes), *outer, strict=True):
            total: Any = 0 if summed and self.way != "exact" else None
            for steps in inner:
                factors = [o.read(s + t) for o, s, t in zip(operands, starts, steps, strict=True)]
                total = self._accumulated(total, factors)
            out.write(target, total)
        return bool(summed)

    def _accumulated(self, total: Any, factors: list[Any]) -> Any:
        if self.way == "mac" and total is not None and len(factors) > 1:
            return fma(_product(factors[:-1]), factors[-1], total)
        term = _product(factors)
        return term if total is None else total + term


def _product(factors: Sequence[Any]) -> Any:
    out = factors[0]
    for factor in factors[1:]:
        out = out * factor
    return out
