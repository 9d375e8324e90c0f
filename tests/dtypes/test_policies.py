"""Precision policies: formats by role, and what follows from the others."""

from __future__ import annotations

import pickle

import pytest

from symacct.dtypes import POLICIES, Policy, as_format, policy_of
from symacct.errors import ConventionError, DtypeError, HardwareError
from symacct.hardware import device


def names(policy):
    roles = ("param", "grad", "state", "act", "logits")
    return [policy_of(policy).of(role).name for role in roles]


def test_what_is_not_said_follows_as_in_torch():
    assert names({"param": "bf16"}) == ["bf16"] * 5
    assert names({"param": "bf16", "master": "fp32"}) == ["bf16", "bf16", "fp32", "bf16", "bf16"]
    assert names({"param": "fp32", "act": "bf16", "logits": "fp32"}) == ["fp32", "fp32", "fp32", "bf16", "fp32"]


def test_what_the_optimizer_updates():
    assert [policy_of(p).updated.name for p in ("bf16", "bf16-master", "amp")] == ["bf16", "fp32", "fp32"]


def test_one_state_tensor_of_another_format():
    policy = policy_of({"param": "bf16", "state": "fp32", "state.exp_avg": "int8"})
    assert (policy.of_state("exp_avg").name, policy.of_state("exp_avg_sq").name) == ("int8", "fp32")


@pytest.mark.parametrize(
    ("roles", "why"),
    [
        ({"state": "fp32"}, "'param' at least"),
        ({"param": "bf16", "grads": "fp32"}, "no role 'grads'.*Did you mean 'grad'"),
        ({"param": "bf61"}, "bf61"),
    ],
)
def test_mistakes_in_a_mapping(roles, why):
    with pytest.raises(DtypeError, match=why):
        policy_of(roles)


def test_unknown_names_and_missing_roles():
    with pytest.raises(ConventionError, match="torch-bf16"):
        policy_of("bf-16")
    with pytest.raises(DtypeError, match="no format for 'master'"):
        POLICIES["bf16"].of("master")


def test_policies_are_values():
    again = pickle.loads(pickle.dumps(POLICIES["megatron"]))  # noqa: S301 # our own
    assert again == POLICIES["megatron"]
    assert hash(again) == hash(POLICIES["megatron"])
    with pytest.raises(TypeError):
        again.roles["param"] = "fp32"
    assert Policy("a", {"param": "bf16"}) != Policy("a", {"param": "fp16"})


def test_another_width_is_no_suggestion() -> None:
    with pytest.raises(DtypeError, match="Did you mean 'bf16'"):
        as_format("bff16")
    with pytest.raises(DtypeError) as other:
        as_format("fp48")
    assert "Did you mean" not in str(other.value)
    with pytest.raises(HardwareError, match="has no peak of nvfp4") as none:
        device("h100").peak("nvfp4")
    assert "Did you mean" not in str(none.value)
