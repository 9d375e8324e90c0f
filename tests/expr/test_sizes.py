"""What may be given as the size of an axis, and what may not."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy

from symacct.errors import AxisConflictError, SizeError, UnknownAxisError
from symacct.expr import as_size, collect_sizes, name, read

positive = sympy.Symbol("n", positive=True)

TAKEN = [
    (4, 4),
    (np.int64(4), 4),
    (np.uint8(200), 200),
    (np.array(4), 4),
    (sympy.Integer(4), 4),
    ("4", 4),
    (" 4 ", 4),
    ("4*k", 4 * name("k")),
    ("k/2", name("k") / 2),
    ("k - 1", name("k") - 1),
    ("2*k/k", 2),
    ("ceil(k/16)", read("ceil(k/16)")),
    ("k - h", name("k") - name("h")),
    ("q/(k - h)", read("q/(k - h)")),
    ("-floor(-k/2)", read("-floor(-k/2)")),
    (positive, name("n")),
    (2 * positive + 1, 2 * name("n") + 1),
    (sympy.Symbol("n") / 2, name("n") / 2),
    (name("q"), name("q")),
    (10**30, 10**30),
    (np.uint64(2**64 - 1), 2**64 - 1),
]


@pytest.mark.parametrize(("given", "size"), TAKEN, ids=[repr(g) for g, _ in TAKEN])
def test_taken(given, size):
    got = as_size(given, "d")
    assert got == size
    assert type(got) is type(size)


REFUSED = [
    True,
    False,
    np.True_,
    4.0,
    4.5,
    np.float32(4),
    float("nan"),
    float("inf"),
    Decimal(4),
    Fraction(4),
    Fraction(9, 2),
    4 + 0j,
    None,
    [],
    (4,),
    {},
    b"4",
    object,
    np.array([4]),
    np.array([4, 5]),
    np.array(4.0),
    sympy.Float(4),
    sympy.Rational(1, 2),
    sympy.true,
    sympy.oo,
    sympy.pi,
    sympy.exp(positive),
    sympy.Symbol("1bad"),
    0,
    -1,
    np.int64(0),
    np.int8(-4),
    sympy.Integer(0),
    sympy.Integer(-3),
    "0",
    "-3",
    "1/2",
    "4.5",
    "k - k",
    "",
    " ",
    "4 k",
    "b d",
    "²",
    "k;",
    10**1000,
    -(10**2000),
]


@pytest.mark.parametrize("given", REFUSED, ids=lambda g: repr(g)[:20])
def test_refused(given):
    with pytest.raises(SizeError, match="the size of 'd'"):
        as_size(given, "d")


@pytest.mark.parametrize("given", ["-k", "-k/2 - 1", -name("k"), -positive])
def test_negative_for_all_sizes(given):
    with pytest.raises(SizeError, match="negative for all sizes"):
        as_size(given, "d")


def test_messages_say_what_to_do():
    with pytest.raises(SizeError, match=r"is True \(bool\); a size is a positive integer, a name, or an expression"):
        as_size(True, "d")  # noqa: FBT003
    with pytest.raises(SizeError, match=r"is 4\.0 \(float\); a size is a positive integer"):
        as_size(4.0, "d")
    with pytest.raises(SizeError, match=r"the size of 'd' is -1; a size is at least 1"):
        as_size(-1, "d")
    with pytest.raises(SizeError, match=r"the size of 'd': cannot read the expression: .*\n  4 k\n    \^"):
        as_size("4 k", "d")
    with pytest.raises(SizeError) as error:
        as_size(list(range(1000)), "d")
    assert len(str(error.value)) < 250


def test_sizes_are_merged_and_checked():
    assert collect_sizes({"b": 2}, {"d": "4*k"}, ("b", "d", "k")) == {"b": 2, "d": 4 * name("k")}
    assert collect_sizes({"b": 2}, {"b": "2"}, ("b",)) == {"b": 2}
    with pytest.raises(AxisConflictError, match="the axis 'b' has two sizes, 2 and 3"):
        collect_sizes({"b": 2}, {"b": 3}, ("b",))
    with pytest.raises(UnknownAxisError, match=r"no axis 'q' to size; known: b, d"):
        collect_sizes(None, {"q": 2}, ("b", "d"))
    with pytest.raises(UnknownAxisError, match="Did you mean 'heads'"):
        collect_sizes(None, {"head": 2}, ("heads", "d"))
    with pytest.raises(UnknownAxisError, match="put in all at once, so write its value inside the other size"):
        collect_sizes(None, {"d": "h*k", "h": 8}, ("b", "d"))


@pytest.mark.parametrize("given", [10**5000, -(10**5000)], ids=["large", "small"])
def test_a_number_too_long_to_print_is_refused_by_a_message_that_can_be_printed(given):
    with pytest.raises(SizeError, match="the size of 'd'"):
        as_size(given, "d")
