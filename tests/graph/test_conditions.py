"""Conditions as people write them: read, put in, decided, checked at numbers, saved."""

from __future__ import annotations

import pytest

import symacct as sa
from symacct.errors import SizeError
from symacct.expr import name
from symacct.graph import Condition, Graph, read_condition

H, D, S, C = (name(n) for n in "hdsc")

READ = {
    "h divides d": Condition("divides", H, D),
    "2*h divides d": Condition("divides", 2 * H, D),
    "s >= c": Condition("at_least", S, C),
    "s <= c": Condition("at_least", C, S),
    "s > c": Condition("at_least", S, C + 1),
    "s < c": Condition("at_least", C, S + 1),
    "d = 2*h": Condition("equal", D, 2 * H),
    "d == 2*h": Condition("equal", D, 2 * H),
    "every expert gets b*s*k/e rows": Condition("stated", "every expert gets b*s*k/e rows"),
    "rows of one expert <= c": Condition("stated", "rows of one expert <= c"),
    "a <= b <= c": Condition("stated", "a <= b <= c"),
}


@pytest.mark.parametrize(("text", "condition"), READ.items(), ids=READ)
def test_text_is_read(text, condition):
    assert read_condition(text) == condition
    assert read_condition(str(condition)) == condition


DECIDED = {"h divides 4*h": True, "3 divides 9": True, "3 divides 8": False, "d = d": True, "2 = 3": False}
DECIDED |= {"h divides d": None, "d + 1 >= d": True, "2 >= 3": False, "d >= 2": None, "d = h": None, "nice": None}


@pytest.mark.parametrize(("text", "holds"), DECIDED.items(), ids=DECIDED)
def test_what_is_decided(text, holds):
    assert read_condition(text).holds is holds


def layer(x: "b s d", h: int):  # noqa: ARG001 # a size that a condition names
    sa.condition("h divides d", like=x)
    sa.condition("s <= c", like=x)
    sa.condition("every row is kept", like=x)
    return x * 2


def test_a_function_states_conditions():
    made = sa.account(layer)
    assert [str(c) for c in made.conditions] == ["h divides d", "c >= s", "every row is kept"]
    assert "condition    c >= s" in str(made)
    assert Graph.from_json(made.graph.to_json()).conditions == made.graph.conditions
    assert made.names == ("b", "c", "d", "h", "s")
    assert made.at(b=1, s=2, c=2, d=6, h=3).flops.value == 12
    for sizes, said in (({"d": 7}, "h divides d"), ({"c": 1}, "c >= s")):
        with pytest.raises(SizeError, match=said):
            made.at(**{"b": 1, "s": 2, "c": 2, "d": 6, "h": 3, **sizes})
    with pytest.raises(SizeError, match="break a condition: h divides d"):
        made.sweep(b=1, s=1, c=1, d=[6, 7], h=3)


def test_an_equality_is_checked_too():
    made = sa.account(lambda x: sa.condition("d = 2*h", like=x) or x * 2, x="d")
    assert made.at(d=6, h=3).flops.value == 6
    with pytest.raises(SizeError, match=r"d = 2\*h"):
        made.at(d=7, h=3)
    with pytest.raises(SizeError, match=r"d = 2\*h"):
        made.sweep(d=[6, 7], h=3)


def test_sizes_are_put_in_and_what_always_holds_is_left_out():
    assert [str(c) for c in sa.account(layer, h="k", d="k*m", c="2*s").conditions] == ["every row is kept"]
    with pytest.raises(SizeError, match=r"break a condition: h divides d \(3 divides 8\)\n  at test_conditions.py:"):
        sa.account(layer, h=3, d=8)


def test_conditions_of_bodies_are_those_of_the_account():
    def network(x: "b d", w: "L d d"):
        def body(h, w):
            sa.condition("b <= 64", like=h)
            return h @ w

        return sa.repeat("L", body, x, xs=w)

    assert [str(c) for c in sa.account(network).conditions] == ["64 >= b"]


def test_real_tensors_have_no_names():
    torch = pytest.importorskip("torch")
    x = torch.ones(1, 2, 3)
    assert layer(x, 2).shape == (1, 2, 3)
