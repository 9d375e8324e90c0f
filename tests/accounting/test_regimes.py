"""Which term rules: against trying points, with borders checked by putting them in."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import AxisConflictError, SizeError, UndefinedSizeError, UnknownAxisError
from symacct.expr import evaluate, read

PRODUCT = sa.account("b d, d k -> b k")


def layer(x: "b d", w: "d k"):
    return sa.relu(x @ w)


def test_bytes_of_a_product_in_a_plane() -> None:
    found = PRODUCT.regimes("b", "d", k=4096)
    assert [str(border) for border in found.borders] == [
        "operand 1 read = operand 2 read at b = k",
        "operand 1 read = output written at d = k",
        "operand 2 read = output written at d = b",
    ]
    assert set(found.rulers) == {"operand 1 read", "operand 2 read", "output written"}


@given(b=st.integers(1, 10**5), d=st.integers(1, 10**5))
def test_the_ruler_is_the_largest(b: int, d: int) -> None:
    amounts = {"operand 1 read": b * d, "operand 2 read": d * 4096, "output written": b * 4096}
    assert amounts[PRODUCT.regimes("b", "d", k=4096).at(b=b, d=d)] == max(amounts.values())


def test_one_size() -> None:
    found = PRODUCT.regimes("b", d=1024, k=4096)
    assert [str(border) for border in found.borders] == ["operand 2 read = output written at b = d"]
    assert (found.at(b=1023), found.at(b=1025)) == ("operand 2 read", "output written")


def test_what_bounds_a_product_on_a_device() -> None:
    roof = PRODUCT.roofline("h100")
    found = roof.regimes("b", "d", k=8192)
    (border,) = found.borders
    assert {border.first, border.second} == {"products", "memory"}
    d = read(border.formula.removeprefix("d = "))
    crossing = evaluate(d, {"b": 1000, "k": 8192, "ridge": Fraction(19790, 67)})
    below, above = int(crossing), int(crossing) + 1
    assert roof.at(b=1000, d=below, k=8192).bound == "memory" != roof.at(b=1000, d=above, k=8192).bound
    for b, d_size in itertools.product((10, 300, 5000), repeat=2):
        told = {"products": "compute", "memory": "memory"}[found.at(b=b, d=d_size)]
        assert told == roof.at(b=b, d=d_size, k=8192).bound


def test_lanes_of_a_layer() -> None:
    found = sa.account(layer).roofline("h100", launch=1e-6).regimes("b", d=8, k=8, span={"b": (1, 10**6)})
    assert found.rulers == ("memory", "launches")
    assert found.at(b=1) == "launches"
    assert "ridge" in found.given


def test_equal_terms_are_one() -> None:
    def both(x: "n m"):
        return sa.exp(x) + sa.log(x)

    found = sa.account(both).regimes("n", of="flops", m=3)
    assert found.rulers == ("exp and log and add",)
    assert "is the largest all over" in str(found)


def test_terms_of_one_name_are_numbered() -> None:
    def twice(x: "n", y: "m"):
        return sa.exp(x), sa.exp(y)

    found = sa.account(twice).regimes("n", "m", of="flops")
    assert [str(b) for b in found.borders] == ["exp (1) = exp (2) at m = n"]


def test_no_closed_form_is_an_equation() -> None:
    def far(x: "n n n n n", y: "n m"):
        return sa.exp(x), sa.exp(y), sa.sqrt(x @ y)

    found = sa.account(far).regimes("n", of="flops", m=7**6, span={"n": (1, 999)})
    assert all("=" in border.formula for border in found.borders)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: PRODUCT.regimes("b", "b", d=1, k=2), AxisConflictError),
        (lambda: PRODUCT.regimes("zz", d=1, k=2), UnknownAxisError),
        (lambda: PRODUCT.regimes("b", d=1), UndefinedSizeError),
        (lambda: PRODUCT.regimes("b", d=1, k="k"), UndefinedSizeError),
        (lambda: PRODUCT.regimes("b", d=1, k=2, span={"b": (5, 5)}), SizeError),
        (lambda: PRODUCT.regimes("b", d=1, k=2).at(), UndefinedSizeError),
    ],
)
def test_mistakes(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_json() -> None:
    data = PRODUCT.regimes("b", d=1024, k=4096).to_json()
    assert data["borders"] == [{"first": "operand 2 read", "second": "output written", "at": "b = d"}]
    assert data["span"] == {"b": [1, 65536]}


def test_a_span_or_a_size_that_would_be_dropped_is_refused():
    account = sa.account("b d, d k -> b k")
    for of in (account, account.roofline("h100")):
        with pytest.raises(AxisConflictError, match="b varies, so it has no size"):
            of.regimes("b", b=4, d=5, k=6)
        for span in ({"z": (1, 8)}, {"k": (1, 8)}):
            with pytest.raises(UnknownAxisError, match="spans are those of b"):
                of.regimes("b", d=5, k=6, span=span)
    assert account.regimes("b", d=5, k=6, span={"b": (1, 8)}).span == {"b": (1, 8)}


@pytest.mark.parametrize("axes", [(), ("b", "d", "k")])
def test_a_map_has_one_size_or_two(axes: tuple[str, ...]) -> None:
    account = sa.account("b d, d k -> b k")
    with pytest.raises(AxisConflictError, match=f"not of {len(axes)} sizes"):
        account.regimes(*axes, sizes={n: 2 for n in "bdk" if n not in axes})
