"""Grouped products against plain loops over rows, each with the matrix of its group."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from symacct.expr import name
from symacct.rules import RULES
from symacct.rules.rule import Backward
from symacct.testing.counting import Counted, totals
from verify.check import Check, agree
from verify.one_op import flops_of, one_op, traffic_agrees


class Case(NamedTuple):
    rows: int
    experts: int
    width: int
    out: int

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip("nedf", self, strict=True))

    @property
    def groups(self) -> list[int]:
        """A row in each group, or each row in another group."""
        return [i * 5 % self.experts if self.experts % 5 else i % self.experts for i in range(self.rows)]


def rows_agree(case: Case) -> None:
    """What a row needs is summed from its first term; what it touches is noted."""
    calls: Counter[str] = Counter()
    x = {(i, a): Counted(3 * i + a + 1, calls) for i, a in _places(case.rows, case.width)}
    w = {at: Counted(sum(at) % 7 - 3, calls) for at in _places(case.experts, case.width, case.out)}
    touched = [set[tuple[int, ...]](), set[tuple[int, ...]]()]
    made = {}
    for i, b in _places(case.rows, case.out):
        total = None
        for a in range(case.width):
            touched[0].add((i, a))
            touched[1].add((case.groups[i], a, b))
            term = x[i, a] * w[case.groups[i], a, b]
            total = term if total is None else total + term
        made[i, b] = total.value
    arrays = [np.array([v.value for v in m.values()]) for m in (x, w)]
    whole = arrays[1].reshape(case.experts, case.width, case.out)[case.groups]
    wanted = np.einsum("nd, ndf -> nf", arrays[0].reshape(case.rows, case.width), whole)
    agree(list(made.values()), wanted.flatten().tolist(), f"the loops of {case}")
    n, e = (case.rows, case.experts) if case.rows < case.experts else (name("n"), name("e"))
    graph = one_op("grouped_matmul", [[n, "d"], [e, "d", "f"], [n]])
    agree(flops_of(graph, case.sizes, "exact"), totals(calls)["FLOP"], f"flops of grouped_matmul, {case}")
    rows = [case.width, case.width, case.rows, case.out]
    traffic_agrees(graph, case.sizes, [*touched, set(range(case.rows)), set(made)], rows)


def weights_agree(case: Case) -> None:
    """Sums of outer products, group by group; every group has a row."""
    case = case._replace(rows=max(case.rows, case.experts))
    calls: Counter[str] = Counter()
    x = {(i, a): Counted(i + 2 * a, calls) for i, a in _places(case.rows, case.width)}
    grad = {(i, b): Counted(i * b - 4, calls) for i, b in _places(case.rows, case.out)}
    made: dict[tuple[int, ...], Counted] = {}
    for i, a, b in _places(case.rows, case.width, case.out):
        place = (case.groups[i], a, b)
        term = x[i, a] * grad[i, b]
        made[place] = made[place] + term if place in made else term
    agree(len(made), case.experts * case.width * case.out, "places of matrices")
    graph = one_op("grouped_matmul_backward_weight", [["n", "d"], ["n", "f"], ["n"]], experts=name("e"))
    agree(flops_of(graph, case.sizes, "exact"), totals(calls)["FLOP"], f"flops of the gradient, {case}")
    rows = [case.rows, case.rows, case.rows, case.out]
    traffic_agrees(graph, case.sizes, [set(x), set(grad), set(range(case.rows)), set(made)], rows)


def kept_agrees(needs: tuple[bool, bool]) -> None:
    """What is kept is what the gradient is made of: noted as it is handed to its operations."""
    read: set[str] = set()

    class Noted(str):
        __slots__ = ()
        shape = (3, 4, 5)
        mT = property(lambda self: self)  # noqa: N815 # as torch calls it

    def apply(_kind: str, *tensors: str, **_attrs: Any) -> str:
        read.update(tensors)
        return Noted("made")

    inputs = tuple(map(Noted, ("rows", "matrices", "groups")))
    rule = RULES["grouped_matmul"]
    rule.gradient(Backward(apply, {}, inputs, (Noted("out"),), (Noted("grad"),), (*needs, False)))
    graph = one_op("grouped_matmul", [["n", "d"], ["e", "d", "f"], ["n"]])
    (op,) = graph.ops
    kept = {str(inputs[r.which]) for r in rule.residuals(op, graph, (*needs, False))}
    agree(sorted(kept), sorted(read - {"grad"}), f"what is kept where {needs} need a gradient")


def kernel_agrees(needs: tuple[bool, bool]) -> None:
    """Torch's kernel takes rows in the order of their groups, and where each group ends."""
    import torch

    from verify.autograd import kept_bytes, saved_bytes

    n, d, e, f = 6, 8, 3, 4  # rows of 16 bytes and more
    x, w = (torch.randn(shape).requires_grad_(need) for shape, need in zip(((n, d), (e, d, f)), needs, strict=True))
    ends = torch.tensor([2, 3, 6], dtype=torch.int32)
    saved = saved_bytes(lambda: torch.nn.functional.grouped_mm(x, w, offs=ends))
    ours = kept_bytes(one_op("grouped_matmul", [[n, d], [e, d, f], [n]]), {}, (*needs, False))
    agree(ours + 4 * (e - n), saved, f"bytes kept where {needs} need a gradient, a number a group for one a row")


def _places(*sizes: int) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, sizes)))


_CASES = st.builds(Case, *(st.integers(1, most) for most in (6, 4, 3, 3)))
_FIXED = (Case(7, 3, 4, 2), Case(4, 4, 2, 3), Case(2, 6, 3, 4), Case(6, 2, 1, 5))


def _check(name: str, kind: str, agrees: Callable[[Case], None]) -> Check:
    what = f"work, reads and writes of {kind}"
    oracle = "loops over rows, on numbers that count"
    return Check(name, what, oracle, agrees, _CASES, _FIXED, proves=(kind,), needs=("numpy",), share=0.1)


_NEEDS = ((True, True), (True, False), (False, True))

CHECKS = (
    Check(
        "what is kept of rows by group",
        "residuals of grouped_matmul",
        "what its gradient is handed",
        kept_agrees,
        fixed=(*_NEEDS, (False, False)),
        proves=("grouped_matmul",),
        needs=("numpy",),
    ),
    Check(
        "what torch's kernel keeps of rows by group",
        "residuals of grouped_matmul",
        "saved_tensors_hooks around torch.nn.functional.grouped_mm",
        kernel_agrees,
        fixed=_NEEDS,
        proves=("grouped_matmul",),
        needs=("torch",),
    ),
    _check("rows by group", "grouped_matmul", rows_agree),
    _check("gradients of matrices by group", "grouped_matmul_backward_weight", weights_agree),
)
