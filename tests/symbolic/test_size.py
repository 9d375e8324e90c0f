"""Sizes in shapes: arithmetic as with numbers, no silent truth value, and nothing that depends on einops' caches."""

from __future__ import annotations

import math
import operator
import pickle

import einops
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import ExpressionError, SizeError, UndefinedSizeError
from symacct.expr import Poly, evaluate, name, read
from symacct.symbolic import Dim, unwrap, wrap

B, D = Dim(name("b")), Dim(name("d"))
NUMBERS = {"b": 6, "d": 15}
SIZES = st.sampled_from([B, D, B + D, B * D, 2 * B + 1, B - 1, D // 3, B * 4, 1, 2, 3, 7])


def number(size):
    return evaluate(unwrap(size), NUMBERS) if isinstance(size, Dim) or type(size) is Dim else size


OPERATIONS = {
    operator.add: operator.add,
    operator.sub: operator.sub,
    operator.mul: operator.mul,
    operator.floordiv: operator.truediv,
    operator.truediv: operator.truediv,
}


@given(SIZES, SIZES, st.sampled_from(list(OPERATIONS)))
@settings(max_examples=300)
def test_arithmetic_is_that_of_numbers(a, b, operation):
    if type(a) is not Dim and type(b) is not Dim:
        return
    try:
        made = operation(a, b)
    except SizeError:
        assert type(operation(unwrap(a), unwrap(b)) if operation is not operator.floordiv else 0.5) is not Poly
        return
    from fractions import Fraction

    expected = OPERATIONS[operation](Fraction(number(a)), Fraction(number(b)))
    assert number(made) == expected
    assert type(made) in (Dim, int)


@given(SIZES, SIZES)
def test_equal_sizes_hash_alike_and_equal_nothing_else(a, b):
    assert (a == b) == (unwrap(a) == unwrap(b))
    if a == b:
        assert hash(a) == hash(b)
    assert a != "b"
    assert (a is None) is False
    assert {a: 1}[wrap(unwrap(a))] == 1


def test_what_becomes_a_number_is_one():
    for made, expected in ((B // B, 1), (B - B, 0), (B - (B - 3), 3), (4 * B // B, 4), (B - 3 - B, -3)):
        assert made == expected
        assert type(made) is int


def test_powers_and_roots():
    assert wrap(read("b**2")) == B**2
    assert unwrap(B**0.5) == read("sqrt(b)")
    assert unwrap(B**-0.5) == read("1/sqrt(b)")
    assert unwrap(1 / B) == read("1/b")
    assert wrap(read("-b")) == -B


def test_division_is_taken_to_be_exact():
    """The condition is in what is made of it."""
    assert [str(c) for c in sa.account(lambda x: x.reshape(x.shape[0] // 2, 2), x="b").conditions] == ["2 divides b"]


def test_a_remainder_that_is_known():
    assert (4 * B) % 2 == (B * D) % B == 0
    assert B % (2 * B) == B
    assert (7 * B) % (3 * B) == B
    for ask in (lambda: B % 2, lambda: 12 % B, lambda: (D - 3) % D):
        with pytest.raises(UndefinedSizeError, match=r"asked for the remainder of .* still a name"):
            ask()


REMAINDERS = {
    "of a name": (lambda n, _h: n % 2, "2 divides n"),
    "by a name": (lambda n, h: n % h, "h divides n"),
    "of a number": (lambda _n, h: 12 % h, "h divides 12"),
    "what is missing": (lambda n, _h: -n % 64, "64 divides n"),
    "of a sum": (lambda n, h: (n + h) % 4, "4 divides h + n"),
    "reduced": (lambda n, _h: (6 * n) % 4, "2 divides 3*n"),
}


@pytest.mark.parametrize(("ask", "said"), REMAINDERS.values(), ids=REMAINDERS)
def test_a_remainder_is_none_under_a_condition(ask, said):
    def fn(x: "n", h: int):
        assert ask(x.shape[0], h) == 0
        return x * 2

    made = sa.account(fn)
    assert [str(c) for c in made.conditions] == [said]
    with pytest.raises(SizeError, match="break a condition"):
        made.at(sizes={n: size for n, size in (("n", 9), ("h", 5)) if n in made.names})


def test_a_branch_on_a_remainder_holds_where_it_is_none():
    def fn(x: "n"):
        return x * 2 if x.shape[0] % 2 == 0 else x[:-1] * 2

    assert [str(c) for c in sa.account(fn).conditions] == ["2 divides n"]
    assert sa.account(fn, n=7).flops == 6
    assert sa.account(fn, n="2*m").conditions == ()


def test_what_the_shapes_say_is_said_once():
    def fn(x: "b d", h: int):
        assert x.shape[1] % h == 0
        return einops.rearrange(x, "b (h k) -> b h k", h=h) * 2

    assert [str(c) for c in sa.account(fn).conditions] == ["h divides d"]
    assert sa.account(fn).graph.stated == ()


ASKED = {
    "truth": bool,
    "not": operator.not_,
    "less": lambda n: n < 3,
    "at most": lambda n: n <= 3,
    "more": lambda n: n > 3,
    "at least": lambda n: n >= 3,
    "from the right": lambda n: n > 3,
    "between names": lambda n: n < D,
    "int": int,
    "float": float,
    "max": lambda n: max(n, 3),
    "sorted": lambda n: sorted([n, 3]),
    "sqrt": math.sqrt,
    "if": lambda n: 1 if n else 2,
    "while": lambda n: [0 for _ in iter(lambda: 0, 1) if n],
    "and": lambda n: n and 1,
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_name_has_no_value(ask):
    with pytest.raises(UndefinedSizeError, match="the size b, which is still a name"):
        ask(B)


@pytest.mark.parametrize("ask", [range, [1, 2].__getitem__, list, len, operator.index])
def test_what_needs_an_integer_fails(ask):
    with pytest.raises((TypeError, UndefinedSizeError)):
        ask(B)


@pytest.mark.parametrize("wrong", [0.5, True, None, [1], object(), 1j])
def test_sizes_are_exact(wrong):
    with pytest.raises(SizeError):
        B + wrong
    with pytest.raises(SizeError):
        wrong * B if not isinstance(wrong, list) else B * wrong


def test_a_size_does_not_change():
    with pytest.raises(AttributeError, match="a size does not change"):
        B.value = 3
    with pytest.raises(SizeError, match="a size of 1/2 is not whole"):
        wrap(read("1/2"))
    with pytest.raises((ExpressionError, SizeError)):
        B // 0


def test_a_size_reads_as_an_int_and_prints_as_an_expression():
    """Only then einops checks what it is told."""
    assert isinstance(B, int)
    assert not issubclass(type(B), int)
    assert f"{2 * B + D:>8}" == " 2*b + d"
    assert repr((B, 4)) == "(b, 4)"
    assert str(B * D) == "b*d"
    with pytest.raises((TypeError, AttributeError, pickle.PicklingError)):
        pickle.dumps(B).decode().missing  # noqa: B018


# -- einops' caches ----------------------------------------------------------------------------------------------------


def layer(x: "b s d", h: int):
    heads = einops.rearrange(x, "b s (h k) -> b h s k", h=h)
    pooled = einops.reduce(heads, "b h (s two) k -> b h s k", "mean", two=2)
    return einops.rearrange(pooled, "b h s k -> b s (h k)")


def test_a_build_that_is_repeated_is_the_same():
    """Einops remembers what it did for a shape; conditions come from the graph, not from having been called."""
    first, second, third = (sa.account(layer, h=h) for h in (4, 4, "h"))
    assert first.graph == second.graph
    assert first.conditions == second.conditions
    assert [str(c) for c in first.conditions] == ["4 divides d", "2 divides s"]
    assert [str(c) for c in third.conditions] == ["h divides d", "2 divides s"]
    assert sa.account(layer, h=4).conditions == first.conditions


def test_builds_that_look_alike_to_a_cache_are_told_apart():
    """1 and a name, a name and another, a name and an expression; in both orders."""
    for order in (1, -1):
        for put_in in [{"d": 4}, {"d": "q"}, {"d": "4*q"}, {}, {"d": 8}][::order]:
            graph = sa.account(layer, h=4, **put_in).graph
            shape = [str(s) for s in graph.tensors[graph.outputs[0]].shape]
            assert shape == ["b", "s/2", str(put_in.get("d", "d"))]


def test_numbers_after_names_still_are_checked():
    def bad(x):
        return einops.rearrange(x, "(a b) -> a b", a=4)

    assert [str(c) for c in sa.account(bad, x="n").conditions] == ["4 divides n"]
    with pytest.raises(einops.EinopsError):
        sa.account(bad, x="6")
    assert sa.account(bad, x="8").conditions == ()
