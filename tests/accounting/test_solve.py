"""From which size on a total reaches a target: exact, against every size tried one by one."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import ConventionError, ExpressionError, InconclusiveError, UnknownAxisError
from symacct.expr import evaluate, read

MATMUL = "b d, d k -> b k"


def square(**options):
    return sa.account("i j, j k -> i k", i="n", j="n", k="n", **options)


@pytest.mark.claim("S43", "S48")
def test_a_square_bf16_matmul_is_compute_bound_from_887_on():
    solution = square(convention="exact").solve("n", intensity=295.37)
    assert solution.smallest == 887
    assert solution.largest == 886
    assert solution.regions == ((887, None),)
    assert solution.roots == (sympy.Rational(88661, 100),)
    assert str(solution) == "intensity >= 295.37 for n >= 887"
    assert Fraction(2 * 887 - 1, 6) >= Fraction("295.37") > Fraction(2 * 886 - 1, 6)


TARGETS = [
    295.37,
    "295.37",
    "29537/100",
    Fraction(29537, 100),
    sympy.Rational(29537, 100),
    np.float64(295.37),
    "590.74/2",
]


@pytest.mark.parametrize("target", TARGETS, ids=repr)
def test_a_target_may_be_written_in_many_ways(target):
    assert square(convention="exact").solve("n", intensity=target).smallest == 887
    assert square(convention="exact").solve(sympy.Symbol("n", positive=True), intensity=target).smallest == 887


def test_the_speeds_of_the_device_may_be_written_as_they_are():
    """989.5e12/3.35e12 is 295.373..., for which 887 is not enough to the last digit of 295.37 but to this one."""
    solution = square(convention="exact").solve("n", intensity="989.5e12/3.35e12")
    assert solution.smallest == 887
    assert solution.target == "989.5e12/3.35e12"


@pytest.mark.parametrize("target", [np.int64(600), 600, "600", sympy.Integer(600), "6*10**2"])
def test_whole_targets(target):
    assert square().solve("n", bytes=target).smallest == 10
    assert square().solve("n", bytes=601).smallest == 11


@pytest.mark.parametrize("target", [True, None, float("nan"), float("inf"), "", "29,7", [1], sympy.oo, sympy.Float(2)])
def test_what_is_no_target(target):
    with pytest.raises(ExpressionError):
        square().solve("n", intensity=target)


def test_batch_thresholds():
    """The intensity b*d*k/(b*d + b*k + d*k) never passes d*k/(d + k) whatever the batch."""
    wide = sa.account(MATMUL, d=4096, k=4096)
    assert wide.solve("b", intensity=295).smallest == 345
    assert wide.solve("b", intensity=2047).smallest == 2048 * 2047
    assert wide.solve("b", intensity=2048).smallest is None
    assert str(wide.solve("b", intensity=2048)) == "intensity >= 2048 for no b"
    narrow = sa.account(MATMUL, d=256, k=256)
    assert narrow.solve("b", intensity=295).regions == ()
    told = str(sa.account(MATMUL).solve("b", intensity=295))
    assert told == "intensity = 295 at b = 295*d*k/(d*k - 295*d - 295*k), where that is positive"


def test_with_names_in_the_target():
    b, P, T, d, k = sympy.symbols("b P T d k")
    solution = sa.account(MATMUL).solve("b", flops="6*P*T")
    assert solution.roots == (3 * P * T / (d * k),)
    assert solution.regions is None
    assert solution.smallest is None
    assert str(solution) == "flops = 6*P*T at b = 3*P*T/(d*k)"
    (root,) = sa.account(MATMUL, d="k").solve("k", flops=6 * P).roots
    assert sympy.simplify(root**2 - 3 * P / b) == 0
    (root,) = sa.account(MATMUL).solve("d", bytes="Z").roots
    assert sa.same(sa.bytes(MATMUL).subs("d", root), "Z")


def test_a_target_that_grows_with_the_size():
    exact = square(convention="exact")
    assert exact.solve("n", intensity="n").regions == ()
    assert exact.solve("n", intensity="n/4").smallest == 2  # n/3 - 1/6 >= n/4 from n = 2 on
    assert str(exact.solve("n", intensity="n/3")) == "intensity >= n/3 for no n"


def test_the_target_is_reached_from_the_first_size_on():
    assert square().solve("n", flops=0).regions == ((1, None),)
    assert square().solve("n", flops=0).largest is None
    assert square().solve("n", flops="-5").smallest == 1
    assert square(convention="exact").solve("n", intensity="1/6").smallest == 1


def test_several_regions():
    cubic = sa.account(MATMUL, d="b", k="b**3 - 20*b**2 + 100*b + 1")
    for target in (100, 1000, 3000, 5000, 10**5, 10**6):
        solution = cubic.solve("b", flops=target)
        flops = [2 * b**2 * (b**3 - 20 * b**2 + 100 * b + 1) for b in range(1, 40)]
        reaching = [b for b, f in enumerate(flops, 1) if f >= target]
        inside = [b for b in range(1, 40) if any(a <= b <= (z or 40) for a, z in solution.regions)]
        assert inside == reaching
        assert solution.smallest == reaching[0]
    assert str(cubic.solve("b", flops=1000)) == (
        "flops >= 1000 for 2 <= b <= 9 or b >= 11, where b**3 - 20*b**2 + 100*b + 1 >= 1"
    )
    assert cubic.solve("b", flops=1000).largest == 10


@given(
    st.sampled_from(["n", "n + 3", "2*n**2", "n**2 - 6*n + 10", "n/2 + 1/2"]),
    st.sampled_from(["flops", "bytes", "intensity"]),
    st.sampled_from(["2n", "exact"]),
    st.fractions(0, 3000, max_denominator=50),
)
@settings(max_examples=60)
def test_regions_are_the_sizes_that_reach_the_target(size, total, convention, target):
    account = sa.account(MATMUL, b="n", d=size, k=3, convention=convention)
    solution = account.solve("n", **{total: target})
    form = account.total(total)
    for n in range(1, 80):
        reaches = evaluate(form, {"n": n}) >= target
        assert reaches == any(a <= n and (z is None or n <= z) for a, z in solution.regions)


def test_huge_targets_are_solved_exactly():
    solution = square().solve("n", flops=2 * 10**90)
    assert solution.smallest == 10**30
    assert square().solve("n", flops=2 * 10**90 + 1).smallest == 10**30 + 1
    assert square().solve("n", intensity=10**40).smallest == 3 * 10**40


def test_memory_of_a_device():
    weights = sa.account("d k -> d k", d="n", k="n", dtype="bf16")
    solution = weights.solve("n", bytes=2 * 80 * 10**9)
    assert solution.largest == 199_999
    assert solution.smallest == 200_000


def test_conditions_where_there_is_no_closed_form():
    with pytest.raises(InconclusiveError, match=r"d stands inside a rounding.*d='16\*m'"):
        sa.account(MATMUL, dtype="nvfp4").solve("d", bytes=100)
    with pytest.raises(InconclusiveError, match=r"n stands under a root.*n='m\*\*2'"):
        square().solve("n", intensity="sqrt(n)")
    with pytest.raises(InconclusiveError, match=r"degree 3 in n with Z still names"):
        square().solve("n", flops="Z + n")
    blocks = sa.account(MATMUL, dtype="nvfp4", d="32*m", k=64).solve("b", bytes="Z")
    assert len(blocks.roots) == 1


@pytest.mark.parametrize("target", [{}, {"flops": 1, "bytes": 1}, {"time": 1}, {"of": "flops"}])
def test_one_quantity_and_its_value(target):
    with pytest.raises(ConventionError, match=r"give one quantity and its value, as in intensity=295; known: flops"):
        square().solve("n", **target)


def test_unknown_axis():
    with pytest.raises(UnknownAxisError, match="no free size 'm' in this account; free: n"):
        square().solve("m", flops=1)


def test_a_solution_is_a_value():
    solution = square().solve("n", flops=1000)
    for twin in (pickle.loads(pickle.dumps(solution)), copy.deepcopy(solution)):  # noqa: S301
        assert twin == solution
    with pytest.raises(AttributeError):
        solution.regions = ()
    assert read("n") == read(solution.axis)
