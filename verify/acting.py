"""Checkpointing acted out: tensors are held, freed and made again one by one; no formula of the library is used.

A plan is a list of items: a number is a stage that is kept, a list is a region that is recomputed, whose items may be
regions again. Tensors carry the number of the run that made them: what is made again lies elsewhere in memory.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from symacct.checkpointing import Stage


class Layer(NamedTuple):
    takes: int
    inside: int
    gives: int
    flops: int
    tail: int
    keeps_input: bool
    keeps_output: bool

    @property
    def stage(self) -> Stage:
        own = self.inside + (self.gives if self.keeps_output else 0)
        return Stage(self.takes, own, self.flops, self.tail, self.keeps_input, self.keeps_output)


def drawn(seed: int, count: int) -> tuple[random.Random, list[Layer]]:
    """Draw layers at random; return what drew them, to go on with."""
    draw = random.Random(seed)  # noqa: S311
    sizes = [draw.randint(1, 9) for _ in range(count + 1)]
    out = []
    for i in range(count):
        flops = draw.randint(1, 9)
        flags = draw.random() < 0.5, draw.random() < 0.5
        out.append(Layer(sizes[i], draw.randint(0, 9), sizes[i + 1], flops, draw.randint(0, flops), *flags))
    return draw, out


class Acted:
    """Runs a plan forward and backward; `memory` is the most that was held, `again` what was executed twice."""

    def __init__(self, layers: list[Layer], plan: list[Any], *, early_stop: bool) -> None:
        self.layers, self.early_stop = layers, early_stop
        self.held: list[tuple[Any, set[tuple[str, int, int]]]] = []
        self.runs = self.memory = self.again = 0
        self.forward(plan, ("x", 0, 0))
        self.between = self.now()
        self.backward(plan)

    def size(self, tensor: tuple[str, int, int]) -> int:
        kind, i, _ = tensor
        if kind == "inside":
            return self.layers[i].inside
        return self.layers[i].takes if i < len(self.layers) else self.layers[-1].gives

    def now(self) -> int:
        return sum(self.size(t) for t in set().union(*(own for _, own in self.held)))

    def forward(self, items: list[Any], x: tuple[str, int, int]) -> None:
        self.runs += 1
        run = self.runs
        for item in items:
            last = item if isinstance(item, int) else stages_of(item)[-1]
            own = {x} if isinstance(item, list) else self.kept(item, x, run)
            self.held.append((item, own))
            x = ("x", last + 1, run)

    def kept(self, i: int, x: tuple[str, int, int], run: int) -> set[tuple[str, int, int]]:
        layer = self.layers[i]
        own = {("inside", i, run)}
        if layer.keeps_input:
            own.add(x)
        return own | ({("x", i + 1, run)} if layer.keeps_output else set())

    def backward(self, items: list[Any]) -> None:
        for item in reversed(items):
            self.memory = max(self.memory, self.now())
            if isinstance(item, list):
                (x,) = self.held[-1][1]
                self.again += self.until_saved(item)
                self.forward(item, x)
                self.backward(item)
            self.held.pop()

    def until_saved(self, items: list[Any]) -> int:
        """Run a region again; the last tensor that it saves may come before its end."""
        total = sum(self.layers[i].flops for i in stages_of(items))
        if not self.early_stop:
            return total
        last = items[-1]
        if isinstance(last, int):
            return total - self.layers[last].tail
        return total - sum(self.layers[i].flops for i in stages_of(last))


def stages_of(items: list[Any]) -> list[int]:
    return [i for item in items for i in ([item] if isinstance(item, int) else stages_of(item))]


def halves(first: int, last: int) -> list[Any]:
    """Nested halves of the stages of a region."""
    if last - first == 1:
        return [first]
    middle = (first + last) // 2
    return [halves(first, middle), halves(middle, last)]


def plans(first: int, last: int) -> Iterator[list[Any]]:
    """Yield every way to keep stages and to recompute segments of them."""
    if first == last:
        yield []
        return
    for rest in plans(first + 1, last):
        yield [first, *rest]
    for end in range(first + 1, last + 1):
        for rest in plans(end, last):
            yield [list(range(first, end)), *rest]


def as_plan(segments: Sequence[tuple[int, int, bool]]) -> list[Any]:
    """Return the segments of an answer as a plan; what is kept stage by stage."""
    out: list[Any] = []
    for first, last, recomputed in segments:
        out += [list(range(first, last))] if recomputed else range(first, last)
    return out
