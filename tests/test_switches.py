"""What a convention counts in more than one way: switches are saved, compared, and refused without a closed form."""

from __future__ import annotations

import json
import pickle
import re

import pytest

import symacct as sa
from symacct.conventions import LECTURE_WEIGHTS, Convention, convention_of, matmul_work, tally
from symacct.errors import ConventionError, InconclusiveError
from symacct.expr import name
from symacct.rules import FORMULAS
from symacct.switches import NAMED, SWITCHES
from verify.rooms.lookups import CHECKS

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


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_lookups_as_products(check) -> None:
    assert check.try_fixed() == len(check.fixed) > 0


def test_what_is_known_by_name_is_what_has_a_formula() -> None:
    assert sorted({function for function, _ in FORMULAS} - set(LECTURE_WEIGHTS)) == sorted(NAMED)


@pytest.mark.parametrize("preset", ["2n", "exact", "unit"])
def test_a_function_with_a_weight_is_not_taken_apart(preset) -> None:
    """So much an element, whatever its formula has a row."""
    convention = Convention(preset, weights={"softmax": 7, "layer_norm": 0})
    assert sa.same(sa.account(lambda x: sa.softmax(x), x="n d", convention=convention).flops, "7*n*d")  # noqa: PLW0108
    norm = sa.account(lambda x: sa.layer_norm(x, x.shape[-1]) + 1, x="n d", convention=convention)
    assert sa.same(norm.flops, "n*d")
    assert "softmax=7" in convention.label
    assert Convention(**json.loads(json.dumps(convention.to_json()))) == convention
    attention = sa.account(sa.scaled_dot_product_attention, q="h s d", k="h s d", v="h s d", convention=convention)
    products = "4*h*s*s*d" if preset != "exact" else "4*h*s*s*d - h*s*s - h*s*d"
    assert sa.same(attention.flops, f"{products} + 7*h*s*s + h*s*s")


TEXTS = {
    "exact": Convention("exact"),
    "exact, attention=half": Convention("exact", attention="half"),
    " mac,flash_backward=5 , padding=exact": Convention("mac", flash_backward=5, padding="exact"),
    "attention=exact": Convention(attention="exact"),
    "gelu=9, softmax=1, embedding=matmul": Convention(weights={"gelu": 9, "softmax": 1}, embedding="matmul"),
    "unit, contraction=exact": Convention("unit", "exact"),
}


@pytest.mark.parametrize(("text", "made"), TEXTS.items(), ids=TEXTS)
def test_a_convention_is_read_as_it_is_written_and_as_it_prints(text, made) -> None:
    assert convention_of(text) == made
    assert convention_of(made.label) == made
    assert sa.account("b d, d k -> b k", convention=text).convention == made


WRONG = {
    "2n, foo=3": "no switch or function 'foo'",
    "2n, atention=half": "Did you mean 'attention'?",
    "2n, attention=third": "unknown attention 'third'",
    "twice": "unknown convention 'twice'",
    "2n, half": "cannot read 'half'",
    "2n,,": "cannot read ''",
    "2n, gelu=x": "the weight of gelu is 'x'",
    "2n, gelu=-1": "the weight of gelu is '-1'",
    "2n, gelu=3, gelu=4": "cannot read 'gelu=4'",
    "2n, contraction=3": "unknown contraction '3'",
}


@pytest.mark.parametrize(("text", "said"), WRONG.items(), ids=WRONG)
def test_what_is_no_convention_is_refused(text, said) -> None:
    with pytest.raises(ConventionError, match=re.escape(said)):
        convention_of(text)


def test_a_lookup_is_free_where_it_executes_nothing() -> None:
    def layer(tokens: "b s", table: "v d", experts: "e d f"):
        return sa.embedding(tokens, table), experts[tokens]

    assert sa.account(layer).free == {"embedding": 2}
    product = sa.account(layer, convention="embedding=matmul")
    assert product.free == {"embedding": 1}, "a table of matrices is no embedding"
    assert sa.same(product.flops, "2*b*s*v*d")
    assert product.bytes == sa.account(layer).bytes
