"""Numbers with units: exact values, printed with prefixes, never mixed."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import pytest

import symacct as sa
from symacct.accounting import Quantity
from symacct.errors import MixedUnitsError, SizeError

PRINTED = {
    (0, "FLOP"): "0 FLOP",
    (999, "FLOP"): "999 FLOP",
    (1000, "FLOP"): "1.000 kFLOP",
    (8_796_093_022_208, "FLOP"): "8.796 TFLOP",
    (6 * 70 * 10**9 * 15 * 10**12, "FLOP"): "6.300 YFLOP",
    (2_415_919_104, "B"): "2.416 GB (2.250 GiB)",
    (1024, "B"): "1.024 kB (1.000 KiB)",
    (1000, "B"): "1.000 kB (1000 B)",
    (128, "B"): "128 B",
    (80 * 10**9, "B"): "80.000 GB (74.506 GiB)",
    (Fraction(2047, 6), "FLOP/B"): "341.167 FLOP/B",
    (Fraction(1, 4), "FLOP/B"): "0.25 FLOP/B",
    (5, "MAC"): "5 MAC",
    (10**90, "FLOP"): "1.000e+90 FLOP",
    (10**400, "FLOP"): "1.000e+400 FLOP",
    (1.25e-6, "s"): "1.25e-06 s",
}


@pytest.mark.parametrize(("quantity", "printed"), PRINTED.items(), ids=list(PRINTED.values()))
def test_printed(quantity, printed):
    assert str(Quantity(*quantity)) == printed


def test_equality_and_hash_are_of_the_number_and_unit():
    assert Quantity(48, "FLOP") == 48
    assert Quantity(48, "FLOP") != Quantity(48, "B")
    assert Quantity(Fraction(1, 2), "FLOP/B") == Fraction(1, 2)
    assert len({Quantity(48, "FLOP"), Quantity(48, "FLOP")}) == 1
    assert pickle.loads(pickle.dumps(Quantity(48, "FLOP"))) == Quantity(48, "FLOP")  # noqa: S301


def test_numbers_come_out_exactly():
    assert int(Quantity(10**30, "B")) == 10**30
    assert float(Quantity(Fraction(1, 4), "FLOP/B")) == 0.25
    with pytest.raises(SizeError, match="not a whole number"):
        int(Quantity(Fraction(1, 3), "FLOP/B"))


def test_unlike_units_are_not_added():
    assert Quantity(1, "FLOP") + Quantity(2, "FLOP") == Quantity(3, "FLOP")
    for other in (Quantity(2, "MAC"), Quantity(2, "B"), 2):
        with pytest.raises(MixedUnitsError, match="cannot add"):
            Quantity(1, "FLOP") + other


def test_figures_as_json():
    figures = sa.account("b d, d k -> b k", convention="exact").at(b=1024, d=1024, k=1024)
    data = json.loads(json.dumps(figures.to_json()))
    assert data["flops"] == {"value": 1024**2 * 2047, "float": 1024.0**2 * 2047, "unit": "FLOP"}
    assert Fraction(data["intensity"]["value"]) == Fraction(2047, 6)
    assert data["bytes"]["unit"] == "B"


def test_figures_beyond_the_range_of_floats():
    figures = sa.account("b d, d k -> b k").at(b=10**200, d=10**200, k=10**200)
    assert str(figures).startswith("flops         2.000e+600 FLOP")
    data = json.loads(json.dumps(figures.to_json()))
    assert data["flops"]["value"] == 2 * 10**600
    assert data["flops"]["float"] is None
