"""Contraction orders of three operands and more: which can be cheapest, and when."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from symacct.conventions import Convention, convention_of, tally
from symacct.einsum import Tree, full_sizes, products
from symacct.errors import AmbiguousOrderError
from symacct.expr import (
    Expr,
    Number,
    Poly,
    Size,
    Sympy,
    add,
    at_most,
    evaluator,
    inequality,
    names_in,
    to_sympy,
    to_text,
)
from symacct.graph import Einsum
from symacct.pattern import Pattern
from symacct.rules import rule_of
from symacct.rules.contraction import pair_work

MAX_SYMBOLIC = 5
MAX_NUMERIC = 10
LOWER = 2
"""Orders are judged for sizes from 2 on; at size 1 products with outer products tie and would all stay."""


@dataclass(frozen=True, slots=True)
class OrderChoice:
    """A contraction order that can be the cheapest.

    Attributes
    ----------
    tree
        Which operands are multiplied first, by number from 0.
    cost
        Its operations, an exact expression of the engine; `flops` is the sympy form.
    conditions
        Inequalities that hold together exactly where no other listed order is cheaper.
    witness
        Sizes at which it is strictly the cheapest: the proof that it can win; empty where it is the only
        one, None where none were found.
    """

    tree: Tree
    cost: Expr
    conditions: tuple[tuple[Expr, Expr], ...]
    witness: Mapping[str, int] | None

    @property
    def flops(self) -> Sympy:
        """The operations of this order as a sympy expression."""
        return to_sympy(self.cost)

    @property
    def condition(self) -> str:
        """Where it is the cheapest, as text."""
        if not self.conditions:
            return "always"
        return " and ".join(f"{to_text(a, factored=False)} < {to_text(b, factored=False)}" for a, b in self.conditions)

    @property
    def name(self) -> str:
        """The order with operands numbered from 1: ``((1 2) 3)``."""
        return tree_text(self.tree)

    def __str__(self) -> str:
        """Print order, cost and condition."""
        return f"{self.name}: {to_text(self.cost)} when {self.condition}"


def tree_text(tree: Tree) -> str:
    """Return a tree with operands numbered from 1."""
    return str(tree + 1) if isinstance(tree, int) else f"({tree_text(tree[0])} {tree_text(tree[1])})"


def candidates(pattern: Pattern, sizes: Mapping[str, Size], convention: Convention) -> dict[Tree, Expr]:
    """Return the orders that no other order beats at all sizes >= 2, with their costs; one of equals.

    Raises
    ------
    AmbiguousOrderError
        For more operands than can be searched.

    """
    sizes = full_sizes(pattern, sizes)
    operands = pattern.terms
    symbolic = any(isinstance(s, Poly) for s in sizes.values())
    most = MAX_SYMBOLIC if symbolic else MAX_NUMERIC
    if len(operands) > most:
        which = "with sizes that are still names" if symbolic else "with numeric sizes"
        todo = (
            "give all sizes as numbers, or account for order='left', which needs no search"
            if symbolic and len(operands) <= MAX_NUMERIC
            else "account for order='left', which needs no search"
        )
        msg = f"{len(operands)} operands {which}: orders are searched up to {most}; {todo}"
        raise AmbiguousOrderError(msg)
    # MACs and other operations have no common total; their order is judged as under 2n
    counted = convention_of("2n") if convention.contraction == "mac" else convention
    output = frozenset(pattern.result)
    free = sorted({n for size in sizes.values() for n in names_in(size)})
    if len(operands) == 1:  # nothing to order, but its axes may be summed
        graph = products(pattern, sizes, None).graph()
        return {0: add(tally(rule_of(graph.ops[0]).work(graph.ops[0], graph), counted).values())}
    return _search(operands, output, sizes, counted, _cheaper_symbolic(free) if symbolic else _cheaper_numeric)


Cheaper = Callable[[Expr, Expr], bool]


def _cheaper_numeric(a: Expr, b: Expr) -> bool:
    return a <= b  # type: ignore[operator]


def _cheaper_symbolic(names: Sequence[str]) -> Cheaper:
    """Return a test that first looks at a few sizes: where one cost is larger at any, nothing need be proved."""
    draw = random.Random(0)  # noqa: S311
    points = [{n: int(10 ** draw.uniform(0.31, 4)) for n in names} for _ in range(12)]
    seen: dict[Expr, list[Number | float]] = {}

    def values(cost: Expr) -> list[Number | float]:
        if cost not in seen:
            at = evaluator(cost)
            seen[cost] = [at(p) for p in points]
        return seen[cost]

    def cheaper(a: Expr, b: Expr) -> bool:
        if a == b:
            return True
        return all(x <= y for x, y in zip(values(a), values(b), strict=True)) and at_most(a, b, LOWER)

    return cheaper


def _search(
    operands: tuple[tuple[str, ...], ...],
    output: frozenset[str],
    sizes: Mapping[str, Size],
    convention: Convention,
    cheaper: Cheaper,
) -> dict[Tree, Expr]:
    """Build the best orders of every subset from those of its parts, dropping what is beaten."""
    everything = (1 << len(operands)) - 1
    best: dict[int, dict[Tree, Expr]] = {1 << i: {i: 0} for i in range(len(operands))}
    axes = {1 << i: tuple(dict.fromkeys(o)) for i, o in enumerate(operands)}
    for subset in sorted(range(3, everything + 1), key=int.bit_count):
        if subset.bit_count() < 2:
            continue
        needed = output.union(*(o for i, o in enumerate(operands) if not subset >> i & 1))
        inside = dict.fromkeys(n for i, o in enumerate(operands) if subset >> i & 1 for n in o)
        axes[subset] = tuple(n for n in inside if n in needed)
        kept: dict[Tree, Expr] = {}
        for a, b in _splits(subset):
            work = pair_work(Einsum((axes[a], axes[b]), axes[subset], sizes))
            own = add(tally(work, convention).values())
            for (tree_a, cost_a), (tree_b, cost_b) in itertools.product(best[a].items(), best[b].items()):
                _keep(kept, (tree_a, tree_b), add((cost_a, cost_b, own)), cheaper)
        best[subset] = kept
    return best[everything]


def _splits(subset: int) -> Iterator[tuple[int, int]]:
    """Yield each way to split a set in two once, larger first parts of early operands first (left wins ties)."""
    lowest = subset & -subset
    parts = []
    part = subset
    while part := (part - 1) & subset:
        if part & lowest:
            parts.append(part)
    for part in sorted(parts, key=lambda p: (-p.bit_count(), p)):
        yield part, subset ^ part


def _keep(kept: dict[Tree, Expr], tree: Tree, cost: Expr, cheaper: Cheaper) -> None:
    if any(cheaper(old, cost) for old in kept.values()):
        return
    for beaten in [t for t, old in kept.items() if cheaper(cost, old)]:
        del kept[beaten]
    kept[tree] = cost


@lru_cache(maxsize=256)
def _choices(pattern: Pattern, given: tuple[tuple[str, Size], ...], convention: Convention) -> tuple[OrderChoice, ...]:
    found = candidates(pattern, dict(given), convention)
    witnesses = _witnesses(list(found.values()))
    return tuple(
        OrderChoice(
            tree,
            cost,
            tuple(inequality(cost, other) for rival, other in found.items() if rival != tree),
            witness,
        )
        for (tree, cost), witness in zip(found.items(), witnesses, strict=True)
    )


def choices(pattern: Pattern, sizes: Mapping[str, Size], convention: Convention) -> tuple[OrderChoice, ...]:
    """Return the orders that can win for sizes >= 2, each with its condition and a witness."""
    return _choices(pattern, tuple(sizes.items()), convention)


def _witnesses(costs: list[Expr]) -> list[Mapping[str, int] | None]:
    """Find sizes at which each cost is strictly the smallest: corners first, then a fixed random search."""
    names = sorted({n for c in costs for n in names_in(c)})
    if len(costs) == 1:
        return [{}]
    corners = itertools.islice(itertools.product((LOWER, 1000), repeat=len(names)), 1024)
    draw = random.Random(0)  # noqa: S311
    scattered = (tuple(int(10 ** draw.uniform(0.31, 4)) for _ in names) for _ in range(1000))
    at = [evaluator(c) for c in costs]
    out: list[Mapping[str, int] | None] = [None] * len(costs)
    for values in itertools.chain(corners, scattered):
        sizes = dict(zip(names, values, strict=True))
        numbers = [f(sizes) for f in at]
        least = min(numbers)
        if numbers.count(least) == 1 and out[numbers.index(least)] is None:
            out[numbers.index(least)] = sizes
            if None not in out:
                break
    return out


def best_tree(pattern: Pattern, sizes: Mapping[str, Size], convention: Convention) -> Tree:
    """Return the cheapest order.

    Raises
    ------
    AmbiguousOrderError
        Where it depends on sizes that are still names; lists the orders and when each is best.

    """
    found = choices(pattern, sizes, convention)
    if len(found) > 1:
        listed = "\n".join(f"  {c}" for c in found[:14])
        more = f"\n  and {len(found) - 14} more" if len(found) > 14 else ""
        msg = f"the cheapest order depends on the sizes; give sizes that decide, or an order:\n{listed}{more}"
        raise AmbiguousOrderError(msg)
    return found[0].tree
