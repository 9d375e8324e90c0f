"""Numbers with units: exact values, printed with prefixes, never mixed."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from symacct.errors import MixedUnitsError, SizeError
from symacct.units import Quantity

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
    (1.25e-6, "s"): "1.25 us",
    (10**400, "s"): "1.000e+400 s",
    (10**400, "$"): "1.000e+400 $",
    (10**400, ""): "1.000e+400",
    (90, "s"): "90 s",
    (5400, "s"): "1.5 h",
    (12_435_840, "s"): "143.93 days",
    (989_500_000_000_000, "FLOP/s"): "989.500 TFLOP/s",
    (3_350_000_000_000, "B/s"): "3.350 TB/s",
    (70 * 10**9, "param"): "70.000 billion params",
    (15 * 10**12, "token"): "15.000 trillion tokens",
    (1234.5, "$"): "$1,234.50",
    (Fraction(1, 1440), "$/s"): "$2.5/h",
    (1024, ""): "1024",
    (420 * 10**9, "FLOP/token"): "420.000 GFLOP/token",
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


def test_products_and_ratios_have_the_unit_of_both():
    work, speed, moved = Quantity(6, "FLOP"), Quantity(3, "FLOP/s"), Quantity(4, "B")
    assert work / speed == Quantity(2, "s")
    assert work / moved == Quantity(Fraction(3, 2), "FLOP/B")
    assert (work / moved) * moved == work
    assert speed * Quantity(2, "s") == work
    assert moved / moved == Quantity(1, "")
    assert 2 * work / 4 == Quantity(3, "FLOP")
    assert work / 0.5 == Quantity(12.0, "FLOP")
    assert type((work / 2).value) is int


def test_unlike_units_are_not_compared():
    assert Quantity(1, "B") < Quantity(2, "B")
    assert Quantity(3, "B") > 2
    assert Quantity(3, "B") >= Quantity(3, "B")
    assert Quantity(3, "B") <= 3
    assert not Quantity(3, "B") <= 2
    assert not Quantity(3, "B") >= 4
    with pytest.raises(MixedUnitsError, match="cannot compare"):
        _ = Quantity(1, "B") < Quantity(2, "B/s")
    with pytest.raises(MixedUnitsError, match="cannot compare"):
        _ = Quantity(1, "FLOP") > Quantity(2, "MAC")
