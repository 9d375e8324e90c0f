"""A wrong formula is caught: each check is shown mistakes of the kind that people make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

import pytest

from symacct.bounds import LowerBound
from symacct.expr import multiply
from symacct.graph import Graph, Op
from symacct.rules import RULES, Read
from verify.check import DisagreementError
from verify.live import forget
from verify.rooms import CHECKS

POINTS, OUTPUTS = ("contract", "points"), ("contract", "outputs")


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Nothing may be remembered from before a formula was broken, or after."""
    forget()
    yield
    forget()


def noticed(name: str) -> bool:
    for check in CHECKS[name]:
        try:
            check.try_fixed()
        except DisagreementError:
            return True
    return False


def test_right_formulas_pass() -> None:
    assert not [kind for kind in ("einsum", "relu", "bounds") if noticed(kind)]


def _half_of_points(work: dict) -> dict:
    """The factor 2 of a product forgotten."""
    return {key: multiply(Fraction(1, 2), x) if key == POINTS else x for key, x in work.items()}


def _points_for_outputs(work: dict) -> dict:
    return {key: work[POINTS] if key == OUTPUTS else x for key, x in work.items()}


def _no_lone_sums(work: dict) -> dict:
    return {key: x for key, x in work.items() if key[0] != "reduce"}


def _product_as_sum(work: dict) -> dict:
    """Factor two where nothing is summed."""
    return {POINTS if key == ("mul", "points") else key: x for key, x in work.items()}


@pytest.mark.parametrize("spoil", [_half_of_points, _points_for_outputs, _no_lone_sums, _product_as_sum])
def test_wrong_work_of_einsum(spoil: Callable[[dict], dict], monkeypatch: pytest.MonkeyPatch) -> None:
    right = RULES["einsum"]
    monkeypatch.setitem(RULES, "einsum", replace(right, work=lambda op, graph: spoil(dict(right.work(op, graph)))))
    assert noticed("einsum")


def _without_last(reads: tuple[Read, ...], _op: Op, _graph: Graph) -> tuple[Read, ...]:
    return reads[:-1]


def _twice(reads: tuple[Read, ...], _op: Op, _graph: Graph) -> tuple[Read, ...]:
    return reads + reads


def _whole_of_diagonals(reads: tuple[Read, ...], _op: Op, graph: Graph) -> tuple[Read, ...]:
    shapes = {r.tensor: graph.tensors[r.tensor].shape for r in reads}
    return tuple(replace(r, shape=shapes[r.tensor]) if len(r.shape) < len(shapes[r.tensor]) else r for r in reads)


def _rows_elsewhere(reads: tuple[Read, ...], _op: Op, _graph: Graph) -> tuple[Read, ...]:
    """Scales of a block along the first axis, whatever is summed."""
    return tuple(replace(r, row=(0,) if r.shape else ()) for r in reads)


@pytest.mark.parametrize("kind", ["einsum", "relu", "add", "sum"])
@pytest.mark.parametrize("spoil", [_without_last, _twice, _rows_elsewhere])
def test_wrong_reads(kind: str, spoil: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    right = RULES[kind]
    wrong = replace(right, reads=lambda op, graph: spoil(right.reads(op, graph), op, graph))
    monkeypatch.setitem(RULES, kind, wrong)
    assert noticed(kind)


def test_diagonals_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    right = RULES["einsum"]
    wrong = replace(right, reads=lambda op, graph: _whole_of_diagonals(right.reads(op, graph), op, graph))
    monkeypatch.setitem(RULES, "einsum", wrong)
    assert noticed("einsum")


@pytest.mark.parametrize("kind", ["relu", "gelu", "add", "sub", "mul", "div"])
@pytest.mark.parametrize("other", ["exp", "add", "sub"])
def test_wrong_function_of_an_element(kind: str, other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind != other:
        monkeypatch.setitem(RULES, kind, replace(RULES[kind], work=lambda op, graph: _call(other, op, graph)))
        assert noticed(kind)


def _call(function: str, op: Op, graph: Graph) -> dict:
    return {(function, "points"): graph.tensors[op.outputs[0]].numel}


def test_one_call_an_input_element(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broadcast operands are smaller than the output."""
    monkeypatch.setitem(
        RULES,
        "add",
        replace(RULES["add"], work=lambda op, graph: {("add", "points"): graph.tensors[op.inputs[-1]].numel}),
    )
    assert noticed("add")


@pytest.mark.parametrize("factor", [2, Fraction(1, 2), Fraction(3, 4), Fraction(4, 3)])
def test_wrong_constant_of_a_bound(factor: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    right = LowerBound.proved.fget
    monkeypatch.setattr(LowerBound, "proved", property(lambda self: multiply(factor, right(self))))
    assert noticed("bounds")


def test_bound_without_its_lower_order_term(monkeypatch: pytest.MonkeyPatch) -> None:
    right = LowerBound.proved.fget
    monkeypatch.setattr(LowerBound, "proved", property(lambda self: right(replace(self, lower_order=0))))
    assert noticed("bounds")
