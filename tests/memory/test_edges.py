"""Ledgers and sizes at their edges: no operation in the backward pass, conditions, micro-batches that are a name."""

from __future__ import annotations

import einops
import pytest

import symacct as sa
from symacct.errors import ConventionError, DtypeError, GraphError, SizeError, UnknownAxisError
from symacct.expr import name
from tests.memory.examples import DEEP


def linear(x: "b d", w: "d k"):
    return sa.relu(x @ w)


def grouped(x: "b d", w: "d k"):
    return einops.rearrange(sa.relu(x @ w), "(n g) (q j) -> n g q j", q=4, g=2)


def test_gradients_that_are_those_of_the_output() -> None:
    """Of x + w the gradient of w is the one that comes in: nothing is executed for it."""
    memory = sa.account(lambda x, w: x + w, x="d", w="d", params=["w"]).training().memory
    assert sa.same(memory.roles["parameters"], "2*d")


def test_a_broken_condition_is_told_and_not_walked_away_from() -> None:
    memory = sa.account(grouped, params=["w"]).training().memory
    with pytest.raises(SizeError, match="4 divides k"):
        memory.largest("b", "80 GB", d=3, k=5)
    found = memory.largest("b", 10_000, d=3, k=8).value
    fits = [b for b in range(2, 2000, 2) if memory.at(b=b, d=3, k=8).peak.value <= 10_000]
    assert found == max(fits)


def test_micro_batches_keep_to_the_conditions() -> None:
    training = sa.account(grouped, params=["w"]).training()
    parts = training.accumulation("b", 18, 1_500, d=3, k=8)
    assert parts.micro_batch % 2 == 0
    with pytest.raises(SizeError, match="4 divides k"):
        training.accumulation("b", 8, "1 GB", d=3, k=5)
    with pytest.raises(UnknownAxisError, match="zz"):
        training.accumulation("zz", 8, "1 GB", d=3, k=8)


def test_the_batch_that_is_taken_apart_is_not_given_too():
    with pytest.raises(ConventionError, match="given too"):
        sa.account(linear, params=["w"]).training().accumulation("b", 8, "1 GB", b=2, d=3, k=5)


def test_as_many_micro_batches_as_a_name_says() -> None:
    training = sa.account(linear, params=["w"]).training(optimizer="adamw", accumulate="n")
    assert "n" in training.memory.names
    assert training.memory.at(n=3, b=2, d=4, k=5).peak.value > 0


def test_one_micro_batch_by_name_is_one():
    """Then no gradient is there before it is made; with two they all are."""
    named = DEEP.training(optimizer="adamw", policy="bf16", accumulate="n").memory
    sizes = {"b": 64, "d": 4, "L": 8}
    for n in (1, 2, 3):
        number = DEEP.training(optimizer="adamw", policy="bf16", accumulate=n).memory
        assert named.at(sizes=sizes, n=n).peak == number.at(sizes=sizes).peak
        assert max(named.timeline(sizes=sizes, n=n).totals) == int(number.at(sizes=sizes).peak)
        assert named.largest("b", 10**5, d=4, L=8, n=n).value == number.largest("b", 10**5, d=4, L=8).value


def test_gradients_of_inputs_are_gradients():
    step = sa.account(linear, params=["w"]).training("x, w", optimizer="adamw")
    assert sa.same(step.memory.roles["gradients"], "2*(b*d + d*k)")
    assert sa.same(step.memory.roles["optimizer state"], "4*d*k")
    frozen = sa.account(linear, params=["w"]).training("x", optimizer="adamw")
    assert "no parameter has a gradient, so nothing is updated" in str(frozen)


@pytest.mark.parametrize("wrt", [None, "w"])
def test_an_optimizer_without_a_known_parameter_is_refused(wrt):
    account = sa.account(linear)
    with pytest.raises(GraphError, match=r"no argument is known to be a parameter.*params=\['w'\].*--params w"):
        account.training(wrt, optimizer="adamw")
    assert account.training(wrt).gradients


def test_a_format_that_the_optimizer_does_not_keep_is_refused_at_once():
    torch = pytest.importorskip("torch")
    with pytest.raises(DtypeError, match="AdamW keeps 'exp_avg'"):
        DEEP.training(optimizer=torch.optim.AdamW, policy="bf16")


def test_a_gradient_that_is_that_of_two_weights_is_two_tensors():
    """As torch accumulates them: the second is a copy."""
    torch = pytest.importorskip("torch")

    def summed(x: "b d", one: "d k", two: "d k"):
        return x @ (one + two)

    memory = sa.account(summed, params=["one", "two"], dtype="fp32").training().memory
    assert sa.same(memory.roles["gradients"], "8*d*k")
    x, one, two = (torch.ones(s) for s in ((2, 3), (3, 5), (3, 5)))
    weights = [one.requires_grad_(), two.requires_grad_()]
    summed(x, *weights).sum().backward()
    assert len({w.grad.data_ptr() for w in weights}) == 2


@pytest.mark.parametrize("optimizer", [None, "adamw"])
def test_adding_gradients_up_reads_two_and_writes_one(optimizer: str | None) -> None:
    """Each further micro-batch: d*k gradients of 2 bytes are read twice and written once."""
    once, four = (sa.account(linear, params=["w"]).training(optimizer=optimizer, accumulate=m).update for m in (1, 4))
    d, k = name("d"), name("k")
    assert four.total("bytes") - once.total("bytes") == 3 * 3 * 2 * d * k
    assert four.total("flops") - once.total("flops") == 3 * d * k


@pytest.mark.parametrize("layers", range(1, 8))
def test_the_largest_size_in_names_with_few_turns(layers):
    """Forms of few turns are those of the turns written out; of a number of turns that is a name, where they hold."""
    memory = DEEP.training(optimizer="adamw", policy="bf16").memory
    found = memory.largest("b", "M", L=layers, d=4)
    assert min(int(form.subs("M", 10**4)) for form in found.forms) == memory.largest("b", 10**4, L=layers, d=4).value
    assert not found.conditions
    assert str(memory.largest("b", "M", d=4)).endswith("in M bytes under bf16, adamw, fused, where L >= 6")


@pytest.mark.parametrize(("written", "most"), [("s <= 1000", 1000), ("s divides 768", 768), ("700 == s", 700)])
def test_the_largest_size_is_within_what_a_condition_allows(written, most):
    """The memory has room for some 10^10 of them."""

    def layer(x: "s d", w: "d d"):
        sa.condition(written, like=x)
        return sa.relu(x @ w)

    memory = sa.account(layer, params=["w"]).training(policy="bf16").memory
    assert memory.largest("s", "80 GB", d=1).value == most
    assert memory.largest("s", 100, d=1).value < 20


def test_a_condition_from_below_does_not_bound_the_largest_size():
    def layer(x: "s d", w: "d d"):
        sa.condition("4 >= 10 - s", like=x)
        return sa.relu(x @ w)

    memory = sa.account(layer, params=["w"]).training(policy="bf16").memory
    assert memory.largest("s", 1000, d=1).value > 100
