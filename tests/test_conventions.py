"""How one counts: each preset on forms worked out by hand, units kept apart, conventions as values."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

import symacct as sa
from symacct.conventions import Convention, convention_of, matmul_work, tally
from symacct.errors import ConventionError, MixedUnitsError, UnknownOpError
from symacct.expr import name, read

MATMUL = "b d, d k -> b k"

# pattern: what 2n, exact and unit count
COUNTED = {
    # a sum of d products: d multiplies and d - 1 adds
    MATMUL: ("2*b*d*k", "b*k*(2*d - 1)", "2*b*d*k"),
    "n, n ->": ("2*n", "2*n - 1", "2*n"),
    # outer and element-wise products have no factor two in any convention
    "i, j -> i j": ("i*j", "i*j", "i*j"),
    "b d, b d -> b d": ("b*d", "b*d", "b*d"),
    "b d, d -> b d": ("b*d", "b*d", "b*d"),
    # a sum of n: n, or n - 1
    "b d -> b": ("b*d", "b*(d - 1)", "b*d"),
    "b d ->": ("b*d", "b*d - 1", "b*d"),
    "i i ->": ("i", "i - 1", "i"),
    # an axis of one operand alone is summed first, then the product is an outer one
    "i j, k -> i": ("i*j + k + i", "i*(j - 1) + k - 1 + i", "i*j + k + i"),
    "i j, i k -> i": ("i*j + i*k + i", "i*(j - 1) + i*(k - 1) + i", "i*j + i*k + i"),
    "b s d, d k -> b k": ("b*s*d + 2*b*d*k", "b*d*(s - 1) + b*k*(2*d - 1)", "b*s*d + 2*b*d*k"),
    # nothing to do but copy
    "b d -> d b": ("0", "0", "0"),
    "i i -> i": ("0", "0", "0"),
    "b (h d) -> b h d": ("0", "0", "0"),
    # pairwise from the left
    "i j, j k, k l -> i l": ("2*i*j*k + 2*i*k*l", "i*k*(2*j - 1) + i*l*(2*k - 1)", "2*i*j*k + 2*i*k*l"),
    "a, b, c -> a b c": ("a*b + a*b*c", "a*b + a*b*c", "a*b + a*b*c"),
}


@pytest.mark.parametrize(("pattern", "forms"), COUNTED.items(), ids=list(COUNTED))
def test_presets(pattern, forms):
    for convention, form in zip(("2n", "exact", "unit"), forms, strict=True):
        assert sa.same(sa.flops(pattern, convention=convention), form), convention


NAIVE = {
    # the whole loop nest of k operands: k operations a point, the last of them an add, one less an output under exact
    "i j, j k, k l -> i l": ("3*i*j*k*l", "3*i*j*k*l - i*l"),
    "n, n, n, n ->": ("4*n", "4*n - 1"),
    MATMUL: ("2*b*d*k", "2*b*d*k - b*k"),
    # no sum, no add
    "a, b, c -> a b c": ("2*a*b*c", "2*a*b*c"),
    # in a loop nest nothing is summed before the product
    "i j, k -> i": ("2*i*j*k", "2*i*j*k - i"),
}


@pytest.mark.parametrize(("pattern", "forms"), NAIVE.items(), ids=list(NAIVE))
def test_the_naive_loop_nest(pattern, forms):
    for convention, form in zip(("2n", "exact"), forms, strict=True):
        assert sa.same(sa.flops(pattern, convention=convention, order="naive"), form), convention


def test_multiply_accumulates_are_a_unit_of_their_own():
    account = sa.account(MATMUL, convention="mac")
    assert sa.same(account.flops, "b*d*k")
    assert account.unit("flops") == account.unit("matmul_flops") == "MAC"
    assert account.unit("intensity") == "MAC/B"
    assert account.at(b=2, d=3, k=4).flops.unit == "MAC"
    assert "MAC" in str(account)


def test_macs_and_operations_are_never_added_up():
    account = sa.account("i j, j k, i k -> i k", convention="mac")
    assert account.counts == {"MAC": read("i*j*k"), "FLOP": read("i*k")}
    assert sa.same(account.matmul_flops, "i*j*k")
    for total in ("flops", "intensity"):
        with pytest.raises(MixedUnitsError, match=r"i\*j\*k MAC and i\*k FLOP: two units, not one number"):
            account.total(total)
    assert "i*j*k" in str(account)
    assert "MAC" in str(account)
    data = account.to_json()
    assert data["flops"] is None
    assert data["counts"]["MAC"]["text"] == "i*j*k"
    with pytest.raises(MixedUnitsError):
        sa.flops("i j, j k, i k -> i k", convention="mac")
    with pytest.raises(MixedUnitsError, match="one account is in MAC, the other in FLOP"):
        sa.compare(sa.account(MATMUL, convention="mac"), sa.account(MATMUL))


def test_matmul_flops_are_contractions_only():
    for pattern, form in {
        MATMUL: "2*b*d*k",
        "n, n ->": "2*n",
        "b d, b d -> b d": "0",
        "b d -> b": "0",
        "i j, i k -> i": "0",
        "b s d, d k -> b k": "2*b*d*k",
        "i j, j k, i k -> i k": "2*i*j*k",
    }.items():
        assert sa.same(sa.matmul_flops(pattern), form), pattern
    assert sa.same(sa.matmul_flops(MATMUL, convention="exact"), "b*k*(2*d - 1)")


def test_weights_of_functions():
    gelu = {("gelu", "points"): name("n")}
    assert tally(gelu, Convention()) == {"FLOP": 20 * name("n")}
    assert tally(gelu, Convention("unit")) == {"FLOP": name("n")}
    assert tally(gelu, Convention("2n", weights={"gelu": 9})) == {"FLOP": 9 * name("n")}
    assert tally(gelu, Convention("mac")) == {"FLOP": 20 * name("n")}
    assert tally({("exp", "points"): 3, ("mul", "points"): name("n")}, Convention()) == {"FLOP": name("n") + 3}
    assert sa.same(sa.flops("b d, b d -> b d", convention=Convention("2n", weights={"mul": 3})), "3*b*d")
    assert sa.flops("b d, b d -> b d", convention=Convention(weights={"mul": 0})) == 0


def test_a_switch_changes_a_preset():
    changed = Convention("2n", contraction="exact")
    assert sa.same(sa.flops(MATMUL, convention=changed), "b*k*(2*d - 1)")
    assert changed.label == "2n with contraction=exact"
    assert Convention("exact", weights={"gelu": 8, "add": 1}).label == "exact with gelu=8"
    assert Convention("exact").label == "exact"


def test_the_convention_is_printed_with_every_answer():
    assert "2n: a sum of n products is 2n operations; a sum of n terms is n" in str(sa.account(MATMUL))
    shown = str(sa.account(MATMUL, convention="exact"))
    assert "exact: a sum of n products is n multiplies and n - 1 adds" in shown
    for preset in ("2n", "exact", "mac", "unit"):
        assert Convention(preset).describe().startswith(preset + ": a sum of n products is ")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Convention("exakt"), "unknown convention 'exakt'; known: 2n, exact, mac, unit. Did you mean 'exact'?"),
        (lambda: Convention(None), "unknown convention None; known"),
        (lambda: Convention("2n", contraction="3n"), "unknown contraction '3n'; known: 2n, exact, mac"),
        (lambda: Convention(weights={"gelo": 3}), "no function 'gelo' to weigh; known: .*Did you mean 'gelu'?"),
        (lambda: Convention(weights={"exp": -1}), "the weight of exp is -1; it is a natural number"),
        (lambda: Convention(weights={"exp": 1.0}), "the weight of exp is 1.0"),
        (lambda: Convention(weights={"exp": True}), "the weight of exp is True"),
        (lambda: sa.flops(MATMUL, convention="macs"), "unknown convention 'macs'; known: .*Did you mean 'mac'?"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ConventionError, match=message):
        make()


def test_what_has_no_weight_is_never_free():
    with pytest.raises(UnknownOpError, match="no weight and no formula for 'cosh'; weights are known for"):
        tally({("cosh", "points"): name("n")}, Convention())


def test_a_convention_is_a_value():
    made = Convention("exact", weights={"gelu": 9})
    twins = [copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))]  # noqa: S301
    twins.append(Convention(**json.loads(json.dumps(made.to_json()))))
    for twin in twins:
        assert twin == made
        assert hash(twin) == hash(made)
        assert twin.describe() == made.describe()
        assert sa.flops(MATMUL, convention=twin) == sa.flops(MATMUL, convention=made)
    assert made != Convention("exact")
    assert Convention("exact") == convention_of("exact")
    assert convention_of(made) is made
    with pytest.raises(TypeError):
        made.weights["gelu"] = 1
    with pytest.raises(AttributeError):
        made.contraction = "2n"


def test_what_is_given_is_not_kept_by_reference():
    weights = {"gelu": 9}
    made = Convention(weights=weights)
    weights["gelu"] = 1
    assert made.weights["gelu"] == 9


def test_conventions_with_other_weights_are_not_mistaken_for_each_other():
    forms = {w: sa.flops("b d, b d -> b d", convention=Convention(weights={"mul": w})) for w in (1, 2, 7)}
    assert all(sa.same(form, f"{w}*b*d") for w, form in forms.items())


def test_matmul_work_is_a_part():
    work = {("contract", "points"): 6, ("mul", "points"): 4, ("reduce", "points"): 3}
    assert matmul_work(work) == {("contract", "points"): 6}
