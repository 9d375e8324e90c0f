"""Equations: what follows of what, and that their units fit."""

from __future__ import annotations

from fractions import Fraction

import pytest

from symacct.errors import EquationError
from symacct.expr import degree, names_in, terms_of
from symacct.runs.equations import Equation, solve
from symacct.runs.training import ALIASES, EQUATIONS, VARIABLES
from symacct.units import combine, read_unit

# one consistent run, worked out by hand
RUN = {
    "params": 100,
    "tokens": 50,
    "factor": 6,
    "layers": 2,
    "width": 5,
    "context": 10,
    "attention_factor": 12,
    "attention": 12 * 2 * 5 * 10,
    "flops_per_token": 6 * 100 + 1200,
    "flops": 1800 * 50,
    "devices": 3,
    "peak": 1000,
    "mfu": Fraction(1, 4),
    "recompute": Fraction(1, 3),
    "hfu": Fraction(1, 3),
    "time": Fraction(1800 * 50, 750),
    "device_time": Fraction(1800 * 50, 250),
    "throughput": Fraction(50 * 750, 1800 * 50),
    "device_throughput": Fraction(50 * 250, 1800 * 50),
    "price": 2,
    "cost": 720,
}


def unit_of(monomial):
    unit = ""
    for name, exponent in monomial:
        assert exponent == 1
        unit = combine(unit, VARIABLES[name].unit)
    return unit


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e.text)
def test_the_terms_of_an_equation_have_one_unit(equation):
    units = {unit_of(monomial) for monomial in terms_of(equation.gap)}
    assert len(units) == 1
    assert all(degree(equation.gap, name) == 1 for name in names_in(equation.gap))


def test_every_variable_is_in_an_equation():
    assert {n for e in EQUATIONS for n in e.names} == set(VARIABLES) == set(RUN)
    for name, unit in ALIASES.values():
        assert read_unit(unit)[1] == VARIABLES[name].unit


@pytest.mark.parametrize("equation", EQUATIONS, ids=lambda e: e.text)
def test_an_equation_holds_of_the_run_and_gives_each_of_its_quantities(equation):
    for unknown in equation.names:
        others = {n: RUN[n] for n in equation.names if n != unknown}
        values, found_by = solve([equation], others)
        assert values[unknown] == RUN[unknown]
        assert found_by == {unknown: equation.text}


@pytest.mark.parametrize(
    "given",
    [
        "params tokens factor layers width context attention_factor devices peak mfu recompute price",
        "params factor attention time devices peak mfu recompute price layers width attention_factor",
        "tokens flops cost price devices peak hfu recompute params factor layers width context",
        "throughput flops_per_token devices peak recompute time price params attention context layers width",
        "device_time devices mfu flops tokens params attention_factor layers width factor cost hfu",
    ],
)
def test_the_whole_run_follows_from_parts_of_it(given):
    values, found_by = solve(EQUATIONS, {name: RUN[name] for name in given.split()})
    assert values == RUN
    assert set(found_by) == set(RUN) - set(given.split())


@pytest.mark.parametrize("spare", range(len(EQUATIONS)))
def test_what_equations_say_twice_they_say_alike(spare):
    """Some follow from others, so that fewer given values do: each must hold where the others do."""
    values, _ = solve([e for i, e in enumerate(EQUATIONS) if i != spare], RUN)
    assert values == RUN
    solve([EQUATIONS[spare]], values)


def test_contradictions_and_negative_values():
    equation = Equation("flops = 6*params*tokens")
    with pytest.raises(EquationError, match=r"contradict flops = 6\*params\*tokens: 61 against 60; flops = 61"):
        solve([equation], {"flops": 61, "params": 2, "tokens": 5})
    solve([equation], {"flops": Fraction(60_000_001, 10**6), "params": 2, "tokens": 5})
    with pytest.raises(EquationError, match=r"params would be -1, below 0"):
        solve([Equation("a = b*params + c")], {"a": 1, "b": 1, "c": 2})


def test_nothing_is_made_of_zero():
    values, _ = solve([Equation("flops = devices*mfu")], {"flops": 0, "devices": 0})
    assert "mfu" not in values
