"""Formats of a repeat's carries: as in the loop written out, or refused where turns differ."""

from __future__ import annotations

import pytest

import symacct as sa


def looped(x: "b d", w: "3 d d"):
    for i in range(3):
        x = x @ w[i]
    return x


def repeated(x: "b d", w: "3 d d"):
    return sa.repeat(3, lambda h, w: h @ w, x, xs=w)


def first_apart(x: "b d", w: "3 d d"):
    return sa.repeat(2, lambda h, w: h @ w, x @ w[0], xs=w[1:])


def last_apart(x: "b d", w: "3 d d"):
    return sa.repeat(2, lambda h, w: h @ w, x, xs=w[:2]) @ w[2]


@pytest.mark.parametrize(("key", "apart"), [("x", first_apart), ("output", last_apart)])
def test_a_carry_with_a_format_of_its_own_at_one_end_is_written_apart(key, apart):
    """Three turns read and write b*d in 2 bytes, one of these in 4: 14*b*d, and 3 matrices."""
    for network in (looped, apart):
        assert sa.same(sa.account(network, dtype={key: "fp32"}).bytes, "14*b*d + 6*d**2")
    with pytest.raises(sa.errors.DtypeError, match=r"turns differ in the format of the carry x, .*write out the turns"):
        sa.account(repeated, dtype={key: "fp32"})


@pytest.mark.parametrize(
    "dtype", ["fp32", {"x": "bf16"}, {"w": "fp32"}, dict.fromkeys(["input", "act", "output"], "fp32"), {"act": "fp16"}]
)
def test_a_carry_of_one_format_counts_as_the_loop(dtype):
    assert sa.account(repeated, dtype=dtype).bytes == sa.account(looped, dtype=dtype).bytes


def test_a_parameter_in_a_format_of_its_own_is_no_carry():
    def powers(w: "d d", x: "d d"):
        return sa.repeat("L", lambda h, x: x @ h, w, consts=x)

    def replaced(x: "d d", w: "d d"):
        return sa.repeat("L", lambda _, w: w, x @ x, consts=w)

    for network, carry in ((powers, "w"), (replaced, "einsum")):
        with pytest.raises(sa.errors.DtypeError, match=f"the carry {carry}, "):
            sa.account(network, params=["w"], dtype={"param": "fp32"})
    with pytest.raises(sa.errors.DtypeError, match="the carry w, fp32 and bf16"):
        sa.account(powers, params=["w"]).training(policy="amp")


def test_what_is_collected_in_a_format_of_its_own_is_no_carry():
    """Collected apart, s rows of b*d are written in 4 bytes, not 2."""

    def states(apart):
        def step(h, x):
            h = sa.tanh(h + x)
            return h, sa.relu(h) if apart else h

        def network(x: "s b d", h: "b d"):
            return sa.repeat("s", step, h, xs=x, collect=True)[1]

        return network

    plain, wide = (sa.account(states(apart=True), dtype={"act": "bf16", **own}) for own in ({}, {"output": "fp32"}))
    assert sa.same(wide.bytes - plain.bytes, "2*s*b*d")
    with pytest.raises(sa.errors.DtypeError, match="the carry h, bf16 and fp32"):
        sa.account(states(apart=False), dtype={"output": "fp32"})


def test_a_carry_of_a_repeat_inside_another():
    def network(x: "b d", w: "d d"):
        def outer(h, w):
            return sa.repeat("K", lambda h, w: h @ w, h, consts=w)

        return sa.repeat("L", outer, x @ w, consts=w)

    wide, plain = sa.account(network, dtype={"x": "fp32"}), sa.account(network)
    assert sa.same(wide.bytes - plain.bytes, "2*b*d")
    with pytest.raises(sa.errors.DtypeError, match="repeat L times: its turns differ"):
        sa.account(network, dtype={"output": "fp32"})


def test_a_branch_that_yields_what_it_is_given_reads_it_as_it_is():
    """The dearer branch reads x, w, their product and w again, and writes two: the last of these in 4 bytes."""

    def layer(p: "", x: "b d", w: "d d"):
        return sa.cond(p > 0, lambda x, w: (x, x @ w @ w), lambda x, w: (x * 2, x @ w), x, w)

    account = sa.account(layer, dtype={"output": "fp32"})
    assert sa.same(account.bytes, "3 + (2 + 2 + 2 + 4)*b*d + 4*d**2")
