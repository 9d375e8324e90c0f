"""Numbers count what is executed, and compute what they should."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from symacct.errors import SymacctError, UnknownOpError
from symacct.testing.counting import FUNCTIONS, Counted, array, call, fma, totals


def test_arithmetic_counts_and_computes() -> None:
    calls: Counter[str] = Counter()
    x, y = Counted(7, calls), Counted(2, calls)
    assert [v.value for v in (x + y, x - y, x * y, x / y)] == [9, 5, 14, 3.5]
    assert [v.value for v in (1 + x, 1 - x, 3 * x, 14 / x)] == [8, -6, 21, 2]
    assert [v.value for v in (x + 1, x - 1, x * 3, x / 7)] == [8, 6, 21, 1]
    assert calls == {"add": 3, "sub": 3, "mul": 3, "div": 3}


def test_a_sum_from_zero_has_one_addition_more() -> None:
    calls: Counter[str] = Counter()
    numbers = [Counted(v, calls) for v in (1, 2, 3, 4)]
    assert sum(numbers).value == 10
    assert calls == {"add": 4}
    calls.clear()
    assert sum(numbers[1:], start=numbers[0]).value == 10
    assert calls == {"add": 3}


def test_functions_count_one_call_under_their_name() -> None:
    calls: Counter[str] = Counter()
    assert call("max", Counted(-2, calls), 0).value == 0
    assert call("gelu", Counted(1.0, calls)).value == pytest.approx(0.8413447460685429)
    assert call("sigmoid", Counted(0, calls)).value == 0.5
    assert call("rsqrt", Counted(4, calls)).value == 0.5
    assert call("exp", Counted(1, calls)).value == math.e
    assert calls == {"max": 1, "gelu": 1, "sigmoid": 1, "rsqrt": 1, "exp": 1}


def test_a_function_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnknownOpError, match=r"no function 'sigmoyd'.*Did you mean 'sigmoid'"):
        call("sigmoyd", Counted(1, Counter()))


def test_nothing_is_called_without_counting() -> None:
    for name in FUNCTIONS:
        with pytest.raises(SymacctError, match=f"{name}: no argument is a Counted"):
            call(name, 1, 2)


def test_a_fused_multiply_add_is_no_multiply_and_no_add() -> None:
    calls: Counter[str] = Counter()
    assert fma(Counted(2, calls), Counted(3, calls), Counted(4, calls)).value == 10
    assert calls == {"fma": 1}


def test_totals_keep_units_apart() -> None:
    assert totals({"mul": 6, "add": 4, "fma": 5}) == {"FLOP": 10, "MAC": 5}
    assert totals({"gelu": 3, "mul": 1}, {"gelu": 20}) == {"FLOP": 61}
    assert totals({}) == {}


@pytest.mark.parametrize(
    ("multiply", "adds"),
    [
        (lambda x, w: x @ w, 40),
        (np.dot, 40),
        (lambda x, w: np.tensordot(x, w, axes=1), 40),
        (lambda x, w: np.einsum("bd,dk->bk", x, w), 60),
    ],
    ids=["matmul", "dot", "tensordot", "einsum"],
)
def test_numpy_executes_a_product(multiply, adds: int) -> None:
    """NumPy's einsum starts from zero: 4*5 additions more than the n - 1 of each sum."""
    calls: Counter[str] = Counter()
    x, w = np.arange(12).reshape(4, 3), np.arange(15).reshape(3, 5)
    out = multiply(array(x, calls), array(w, calls))
    assert [v.value for v in out.ravel()] == (x @ w).ravel().tolist()
    assert calls == {"mul": 60, "add": adds}


def test_numpy_executes_a_reduction() -> None:
    calls: Counter[str] = Counter()
    out = np.add.reduce(array(np.ones((2, 3, 4), dtype=int), calls), axis=-1)
    assert out.shape == (2, 3)
    assert calls == {"add": 18}
