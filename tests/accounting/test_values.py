"""Accounts are frozen values: equal, hashed, copied and cached by what they are."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
import sympy

import symacct as sa
from symacct.errors import SizeError

MATMUL = "b d, d k -> b k"
b, d, k = sympy.symbols("b d k")

EXAMPLES = {
    "matmul": lambda: sa.account(MATMUL),
    "sizes": lambda: sa.account(MATMUL, d="k/2", b=4),
    "chain": lambda: sa.account("i j, j k, k l -> i l", convention="exact", traffic="compulsory"),
    "ellipsis": lambda: sa.account("... (h d), d k -> ... h k", dtype=["nvfp4", "fp8", "bf16"]),
    "convention": lambda: sa.account("b d, b d -> b d", convention=sa.Convention(weights={"mul": 3})),
}


@pytest.mark.parametrize("make", EXAMPLES.values(), ids=EXAMPLES)
def test_an_account_is_a_frozen_value(make):
    account = make()
    again = make()
    assert again == account
    assert hash(again) == hash(account)
    for twin in (pickle.loads(pickle.dumps(account)), copy.copy(account), copy.deepcopy(account)):  # noqa: S301
        assert twin == account
        assert hash(twin) == hash(account)
        assert twin.flops == account.flops
        assert twin.bytes == account.bytes
        assert str(twin) == str(account)
        assert twin.to_json() == account.to_json()
    for field in ("convention", "graph", "flops", "anything"):
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            setattr(account, field, None)


def test_accounts_that_differ_are_not_equal():
    accounts = [make() for make in EXAMPLES.values()]
    accounts += [sa.account(MATMUL, convention="exact"), sa.account(MATMUL, dtype="fp32"), sa.account(MATMUL, d=4)]
    assert all((x == y) == (i == j) for i, x in enumerate(accounts) for j, y in enumerate(accounts))


def test_caches_do_not_take_one_for_true_or_four_for_a_float():
    assert sa.flops(MATMUL, b=1) == 2 * d * k
    assert sa.flops(MATMUL, d=4) == 8 * b * k
    for wrong in ({"b": True}, {"b": 1.0}, {"d": 4.0}, {"d": np.float64(4)}, {"d": np.True_}):
        with pytest.raises(SizeError):
            sa.flops(MATMUL, **wrong)
    assert sa.account(MATMUL).at(b=1, d=4, k=1).flops == 8
    for wrong in (True, 1.0):
        with pytest.raises(SizeError):
            sa.account(MATMUL).at(b=wrong, d=4, k=1)
    assert sa.lower_bound(MATMUL, memory=1).memory == 1
    with pytest.raises(SizeError):
        sa.lower_bound(MATMUL, memory=True)
    assert len(sa.orders("i j, j k, k l -> i l", l=1)) == 1
    with pytest.raises(SizeError):
        sa.orders("i j, j k, k l -> i l", l=True)
