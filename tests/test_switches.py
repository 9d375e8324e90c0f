"""What a convention counts in more than one way: switches are saved, compared, and refused without a closed form."""

from __future__ import annotations

import json
import pickle

import pytest

from symacct.conventions import SWITCHES, Convention, matmul_work, tally
from symacct.errors import ConventionError, InconclusiveError
from symacct.expr import name

N = name("n")
WORK = {
    ("contract", "points"): 10 * N,
    ("contract", "outputs"): N,
    ("exp", "points"): 3 * N,
    ("contract@attention=exact", "points"): -4 * N,
    ("exp@attention=exact", "points"): -N,
    ("contract@flash_backward=5", "points"): 5 * N,
    ("contract@flash_backward=5@attention=exact", "points"): -2 * N,
}


def flops(**switches) -> object:
    return tally(WORK, Convention("2n", **switches))["FLOP"]


def test_an_amount_is_added_under_its_value_alone() -> None:
    assert flops() == 23 * N
    assert flops(attention="half") == 23 * N
    assert flops(attention="exact") == (23 - 8 - 1) * N
    assert flops(flash_backward=5) == (23 + 10) * N


def test_several_switches_must_all_hold() -> None:
    assert flops(attention="exact", flash_backward=5) == (23 - 8 - 1 + 10 - 4) * N


def test_presets_take_switches_too() -> None:
    assert tally(WORK, Convention("exact", attention="exact"))["FLOP"] == (23 - 1 - 8 - 1) * N
    assert tally(WORK, Convention("mac", attention="exact")) == {"MAC": 6 * N, "FLOP": 2 * N}


def test_matmuls_keep_their_switched_amounts() -> None:
    assert tally(matmul_work(WORK), Convention(attention="exact"))["FLOP"] == (20 - 8) * N


def test_an_amount_without_a_closed_form_is_refused_where_it_is_asked_for() -> None:
    work = {("contract", "points"): N, ("contract@padding=exact@unknown", "taps on padding"): N}
    assert tally(work, Convention())["FLOP"] == 2 * N
    for asked in (work, matmul_work(work)):
        with pytest.raises(InconclusiveError, match="under 2n with padding=exact, taps on padding have no closed form"):
            tally(asked, Convention(padding="exact"))


@pytest.mark.parametrize(("switch", "value"), [(s, v) for s, values in SWITCHES.items() for v in values])
def test_a_convention_is_saved_with_its_switches(switch: str, value) -> None:
    made = Convention("exact", **{switch: value})
    saved = json.loads(json.dumps(made.to_json()))
    assert Convention(**saved) == made
    assert hash(Convention(**saved)) == hash(made)
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301
    usual = next(iter(SWITCHES[switch]))
    assert (made == Convention("exact")) == (value == usual)
    assert (f"{switch}={value}" in made.label) == (value != usual)
    assert (SWITCHES[switch][value] in made.describe()) == (value != usual)


def test_unknown_values_are_refused() -> None:
    with pytest.raises(ConventionError, match="unknown attention 'third'; known: full, half, exact"):
        Convention(attention="third")
    with pytest.raises(ConventionError, match="unknown flash_backward 6; known: 4, 5"):
        Convention(flash_backward=6)
