"""Contraction orders against all orders there are, each executed and counted."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.expr import evaluate
from symacct.testing.counting import totals
from symacct.testing.loops import run
from symacct.testing.spec import Spec, all_trees, spec_of
from symacct.testing.strategies import patterns
from verify.check import Check, DisagreementError, agree, number


class Case(NamedTuple):
    spec: Spec
    sizes: dict[str, int]
    way: str


@st.composite
def cases(draw: st.DrawFn, *, most: int = 4) -> Case:
    """Sizes from 2 on, equal ones too: orders are judged from there. Five operands have 105 orders."""
    spec = draw(patterns(min_operands=3 if most < 5 else 5, max_operands=most, max_names=5 if most < 5 else 4))
    sizes = {n: draw(st.sampled_from((2, 3, 5, 7, 4, 2, 6) if most < 5 else (2, 3, 4))) for n in spec.names}
    return Case(spec, sizes, draw(st.sampled_from(("2n", "exact"))))


def _costs(case: Case) -> dict[object, int]:
    """Execute every order."""
    orders = all_trees(range(len(case.spec.operands)))
    return {tree: sum(totals(run(case.spec, case.sizes, way=case.way, tree=tree).calls).values()) for tree in orders}


def listed_agree(case: Case) -> None:
    """The cheapest of all orders is listed, each listed one costs what it says, its condition tells where it wins."""
    executed = _costs(case)
    what = f"{case.spec.text!r} at {case.sizes} under {case.way}"
    listed = sa.orders(case.spec.text, convention=case.way)
    costs = [number(o.flops, case.sizes) for o in listed]
    agree(costs, [executed[_sorted(o.tree)] for o in listed], f"costs of the orders of {what}")
    agree(min(costs), min(executed.values()), f"cheapest order of {what}")
    for i, (order, cost) in enumerate(zip(listed, costs, strict=True)):
        others = costs[:i] + costs[i + 1 :]
        sides = [(evaluate(a, case.sizes), evaluate(b, case.sizes)) for a, b in order.conditions]
        agree(all(a < b for a, b in sides), all(cost < o for o in others), f"condition of {order.name} of {what}")
        agree(all(a <= b for a, b in sides), all(cost <= o for o in others), f"ties of {order.name} of {what}")
        _check_witness(order, listed)


def _check_witness(order: sa.api.OrderChoice, listed: tuple[sa.api.OrderChoice, ...]) -> None:
    if order.witness:
        least = number(order.flops, order.witness)
        if not all(least < number(o.flops, order.witness) for o in listed if o is not order):
            msg = f"{order.name} does not win at its witness {order.witness}"
            raise DisagreementError(msg)


def _sorted(tree: object) -> object:
    """Write a tree as `all_trees` does: the side of the lowest operand first."""
    if isinstance(tree, int):
        return tree
    return tuple(sorted((_sorted(side) for side in tree), key=_lowest))


def _lowest(tree: object) -> int:
    return tree if isinstance(tree, int) else min(_lowest(side) for side in tree)


def numeric_agrees(case: Case) -> None:
    best = sa.flops(case.spec.text, sizes=case.sizes, convention=case.way, order="best")
    agree(int(best), min(_costs(case).values()), f"best order of {case.spec.text!r} at {case.sizes}, {case.way}")


class Chain(NamedTuple):
    i: int
    j: int
    k: int
    l: int


def chain_agrees(sizes: Chain) -> None:
    """The textbook case: left first exactly where 1/j + 1/l < 1/i + 1/k."""
    i, j, k, l = sizes
    left, right = run_chain(sizes, ((0, 1), 2)), run_chain(sizes, (0, (1, 2)))
    predicted = Fraction(1, j) + Fraction(1, l) - Fraction(1, i) - Fraction(1, k)
    agree((predicted > 0) - (predicted < 0), (left > right) - (left < right), f"cheaper side at {sizes}")
    first = next(o for o in sa.orders("i j, j k, k l -> i l") if o.tree == ((0, 1), 2))
    agree(first.condition, "1/j + 1/l < 1/i + 1/k", "condition of left first")


def run_chain(sizes: Chain, tree: tuple) -> int:
    return sum(totals(run("i j, j k, k l -> i l", sizes._asdict(), way="2n", tree=tree).calls).values())


_SIZE = st.integers(2, 8)
_FIXED = tuple(
    Case(spec_of("i j, j k, k l -> i l"), dict(zip("ijkl", sizes, strict=True)), "2n")
    for sizes in ((2, 5, 3, 7), (7, 3, 5, 2))
)

CHECKS = (
    Check(
        "orders that can win",
        "orders(pattern): costs, conditions, witnesses",
        "all orders, executed and counted",
        listed_agree,
        cases(),
        _FIXED,
        share=0.7,
    ),
    Check(
        "orders of five operands",
        "orders(pattern): costs, conditions, witnesses",
        "all 105 orders, executed and counted",
        listed_agree,
        cases(most=5),
        share=0.1,
    ),
    Check(
        "best at given sizes",
        'flops(pattern, order="best", sizes=)',
        "all orders, executed and counted",
        numeric_agrees,
        cases(),
        _FIXED,
        share=0.5,
    ),
    Check(
        "a chain of three",
        "1/j + 1/l < 1/i + 1/k",
        "both orders, executed and counted",
        chain_agrees,
        st.builds(Chain, _SIZE, _SIZE, _SIZE, _SIZE),
        (Chain(2, 5, 3, 7),),
        share=0.2,
    ),
)
