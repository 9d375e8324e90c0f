"""Optimizers as data: what they keep and execute, against numbers worked out by hand."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.conventions import Convention, matmul_work, tally
from symacct.errors import ConventionError, InconclusiveError
from symacct.expr import evaluate, name
from symacct.optimizers import NAMED, Optimizer
from symacct.optimizers.matrices import muon, shampoo
from symacct.rules import FORMULAS

R, C = name("r"), name("c")


def flops(optimizer, shape, **convention):
    return tally(sa.optimizer(optimizer).work(shape), Convention(**convention), FORMULAS).get("FLOP", 0)


@pytest.mark.claim("S58")
@pytest.mark.parametrize(
    ("optimizer", "each", "state"),
    [
        ("sgd", 2, 0),
        ("momentum", 4, 1),
        ("nesterov", 6, 1),
        ("adagrad", 7, 1),
        ("rmsprop", 9, 1),
        ("adam", 13, 2),
        ("adamw", 14, 2),
        ("lion", 10, 1),
    ],
)
def test_operations_and_state_an_element(optimizer, each, state):
    assert flops(optimizer, (R, C)) == each * R * C
    like = [b for b in sa.optimizer(optimizer).state if b.shape((R, C)) == (R, C)]
    assert len(like) == state


def test_adafactor_keeps_sides_of_matrices_and_all_of_vectors():
    state = {b.name: b for b in sa.optimizer("adafactor").state}
    assert state["row_var"].shape((3, R, C)) == (3, R, 1)
    assert state["col_var"].shape((3, R, C)) == (3, 1, C)
    assert state["variance"].shape((R, C)) is None
    assert [state[n].shape((R,)) for n in ("row_var", "col_var", "variance")] == [None, None, (R,)]


def test_muon_multiplies_along_the_shorter_side():
    """Five iterations of 4*s*s*l + 2*s**3, whichever side is the shorter; a convolution is flattened."""
    work = muon().work
    for shape in ((4, 6), (6, 4), (4, 3, 2)):
        assert tally(matmul_work(work(shape)), Convention()) == {"FLOP": 5 * (4 * 4 * 4 * 6 + 2 * 4**3)}
    assert tally(matmul_work(muon(iterations=3).work((C, 4 * C))), Convention()) == {"FLOP": 54 * C**3}


def test_muon_needs_to_know_which_side_is_shorter():
    with pytest.raises(InconclusiveError, match="whether r or c is shorter depends"):
        sa.optimizer("muon").work((R, C))


@pytest.mark.parametrize("optimizer", ["muon", "shampoo", "soap"])
def test_a_vector_is_updated_as_by_adamw(optimizer):
    chosen = sa.optimizer(optimizer)
    assert chosen.work((R,)) == sa.optimizer("adamw").work((R,))
    assert {b.name for b in chosen.state if b.shape((R,))} == {"exp_avg", "exp_avg_sq"}


def test_the_work_of_roots_is_shared_out_among_steps():
    once, tenth = (tally(shampoo(every=n, iterations=2).work((3, 3)), Convention(), FORMULAS)["FLOP"] for n in (1, 10))
    never = 2 * 4 * 3**3 + 2 * 3**2 + 2 * 3 * 3  # four products, two sums of squares' sides, the step
    assert once - never == 10 * (tenth - never)


def test_eight_bits_keep_scales_a_block():
    state = {b.name: b for b in sa.optimizer("adam8bit").state}
    assert state["exp_avg"].dtype == "uint8"
    (blocks,) = state["scales of exp_avg"].shape((R, C))
    assert [evaluate(blocks, {"r": 3, "c": c}) for c in (1, 256, 257)] == [1, 3, 4]


def test_spellings_of_names():
    assert sa.optimizer("AdamW") is sa.optimizer("adam_w") is sa.optimizer("adam-w")
    assert sa.optimizer(sa.optimizer("lion")).name == "lion"


@pytest.mark.parametrize("wrong", ["adamx", "", 3, None])
def test_what_is_no_optimizer_is_refused(wrong):
    with pytest.raises(ConventionError, match="adamw"):
        sa.optimizer(wrong)


def test_a_kernel_that_it_does_not_have_is_refused():
    with pytest.raises(ConventionError, match="it can run as forloop"):
        sa.optimizer("muon").temporaries("fused")


@pytest.mark.parametrize("known", NAMED)
def test_every_name_has_its_data(known):
    chosen = sa.optimizer(known)
    assert isinstance(chosen, Optimizer)
    assert flops(known, (8, 16)) > 0
    assert all(b.shape((8, 16)) != b.shape((9, 16)) for b in chosen.state if b.shape((8, 16)) and b.name[:1] == "L")
