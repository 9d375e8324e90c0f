"""Steps and orders of contraction against opt_einsum, whose counts agree with the 2n convention pair by pair.

Where an operand has lone axes or a repeated name, or a size is 1, opt_einsum counts otherwise (it sums lone axes
after the product, symacct before it, as torch does); there symacct's best order is only never dearer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

import symacct as sa
from symacct.conventions import convention_of, tally
from symacct.testing.counting import totals
from symacct.testing.loops import run
from symacct.testing.spec import Spec, Tree, all_trees, left_tree, spec_of
from symacct.testing.strategies import patterns, sizes_for
from verify.check import Check, agree, at_most, number


class Case(NamedTuple):
    spec: Spec
    sizes: dict[str, int]


@st.composite
def plain(draw: st.DrawFn, *, fewest: int = 2) -> Case:
    """Patterns on which opt_einsum counts as we do."""
    spec = draw(
        patterns(min_operands=fewest, lone_axes=False, diagonals=False, composites=False, units=False, ellipsis=False)
    )
    return Case(spec, draw(sizes_for(spec)))


@st.composite
def wide(draw: st.DrawFn) -> Case:
    """Sizes from 2 to a million, of one another independent: every order has its region."""
    spec = draw(plain(fewest=3)).spec
    size = st.integers(0, 19).flatmap(lambda bits: st.integers(2, 2 + 2**bits))
    return Case(spec, {n: draw(size) for n in spec.names})


@st.composite
def any_pattern(draw: st.DrawFn) -> Case:
    spec = draw(patterns(min_operands=3))
    return Case(spec, draw(sizes_for(spec)))


def _path(case: Case, path: Any) -> Any:
    """What opt_einsum says of a path; every name becomes a letter, composite axes their names."""
    import opt_einsum

    letter = dict(zip(case.spec.names, "abcdefghijklmnop", strict=False))
    flat = [[n for axis in axes for n in axis] for axes in (*case.spec.operands, case.spec.output)]
    inputs, output = (",".join("".join(letter[n] for n in f) for f in part) for part in (flat[:-1], flat[-1:]))
    shapes = [tuple(case.sizes[n] for n in names) for names in flat[:-1]]
    return opt_einsum.contract_path(f"{inputs}->{output}", *shapes, shapes=True, optimize=path)


def _path_of(tree: Tree, operands: int) -> list[tuple[int, ...]]:
    """Write a tree as opt_einsum does: places in a list from which two go and to whose end their product comes."""
    waiting: list[Tree] = list(range(operands))
    path: list[tuple[int, ...]] = []

    def make(node: Tree) -> None:
        if isinstance(node, int):
            return
        for side in node:
            make(side)
        places = [waiting.index(side) for side in node]
        path.append(tuple(places))
        waiting[:] = [t for i, t in enumerate(waiting) if i not in places] + [node]

    make(tree)
    return path


def _tree(path: list[tuple[int, ...]], operands: int) -> Tree:
    left: list[Tree] = list(range(operands))
    for first, second in path:
        pair = (left[first], left[second])
        left = [t for i, t in enumerate(left) if i not in (first, second)] + [pair]
    return left[0]


def steps_agree(case: Case) -> None:
    from opt_einsum.helpers import flop_count

    operands = len(case.spec.operands)
    _, info = _path(case, _path_of(left_tree(operands), operands))
    account = sa.account(case.spec.text, convention="2n", order="left")
    ours = [number(tally(s.work, convention_of("2n")).get("FLOP", 0), case.sizes) for s in account.steps]
    theirs = [
        int(flop_count(set(text.replace(",", "").replace("->", "")), bool(removed), 2, info.size_dict))
        for _, removed, text, *_ in info.contraction_list
    ]
    what = f"{case.spec.text!r} at {case.sizes}"
    agree(ours, theirs, f"steps of {what}")
    agree(number(account.flops, case.sizes), int(info.opt_cost), f"flops of {what}")


def best_agrees(case: Case) -> None:
    """The numeric best order; and the cheapest of the symbolic ones put in numbers.

    opt_einsum's "optimal" keeps the cost of a pair by the axes of its two sides, so it misses the optimum where two
    tensors have the same axes (`b, b d, b -> d` at 2, 2: it says 12, the path (0, 2) costs 10). Hence all its paths.
    """
    operands = len(case.spec.operands)
    paths = [_path_of(tree, operands) for tree in all_trees(range(operands))]
    least = min(int(_path(case, path)[1].opt_cost) for path in paths)
    what = f"{case.spec.text!r} at {case.sizes}"
    best = int(sa.flops(case.spec.text, sizes=case.sizes, order="best"))
    agree(best, least, f"best order of {what}")
    at_most(best, int(_path(case, "optimal")[1].opt_cost), f"best order of {what} against opt_einsum's")
    listed = [number(o.flops, case.sizes) for o in sa.orders(case.spec.text)]
    agree(min(listed), least, f"cheapest of the symbolic orders of {what}")


def never_dearer(case: Case) -> None:
    """opt_einsum's optimal path, executed and counted as we count."""
    path, _ = _path(case, "optimal")
    theirs = run(case.spec, case.sizes, way="2n", tree=_tree(path, len(case.spec.operands)))
    best = sa.flops(case.spec.text, sizes=case.sizes, order="best")
    at_most(int(best), sum(totals(theirs.calls).values()), f"best order of {case.spec.text!r} at {case.sizes}")


_CHAIN = Case(spec_of("i j, j k, k l -> i l"), {"i": 4, "j": 8, "k": 16, "l": 2})

CHECKS = (
    Check(
        "steps from the left",
        'account(pattern, order="left").steps',
        "opt_einsum's count of each step of the same path",
        steps_agree,
        plain(),
        (_CHAIN,),
        needs=("opt_einsum",),
    ),
    Check(
        "best order",
        'flops(pattern, order="best", sizes=) and the cheapest of orders(pattern)',
        "opt_einsum's cost of every path, sizes up to a million",
        best_agrees,
        wide(),
        (_CHAIN,),
        needs=("opt_einsum",),
    ),
    Check(
        "best order, any pattern",
        'flops(pattern, order="best", sizes=)',
        "opt_einsum's optimal path, executed and counted: never cheaper",
        never_dearer,
        any_pattern(),
        (_CHAIN,),
        needs=("opt_einsum",),
    ),
)
