"""Text with units: read exactly, and refused where it says two things or another one than is wanted."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symacct as sa
from symacct.errors import ExpressionError, MixedUnitsError, SizeError, SymacctError, UndefinedSizeError, UnitError
from symacct.units import Quantity, Range, quantity, read_range, read_unit

READ = {
    "80 GB": (80 * 10**9, "B"),
    "80GB": (80 * 10**9, "B"),
    "80 GiB": (80 * 2**30, "B"),
    "1.5 KiB": (1536, "B"),
    "70 B": (70, "B"),
    "400 Gbit/s": (50 * 10**9, "B/s"),
    "400 Gbps": (50 * 10**9, "B/s"),
    "400 Gb/s": (50 * 10**9, "B/s"),
    "819 GBps": (819 * 10**9, "B/s"),
    "3.35 TB/s": (3_350 * 10**9, "B/s"),
    "989.4 TFLOP/s": (9_894 * 10**11, "FLOP/s"),
    "1979/2 TFLOP/s": (9_895 * 10**11, "FLOP/s"),
    "624 TOP/s": (624 * 10**12, "FLOP/s"),
    "3 GMAC": (3 * 10**9, "MAC"),
    "6*70e9*15e12 FLOP": (63 * 10**23, "FLOP"),
    "3640 PFLOP/s*day": (3640 * 10**15 * 86_400, "FLOP"),
    "15T tokens": (15 * 10**12, "token"),
    "1.4 trillion tokens": (14 * 10**11, "token"),
    "70B params": (70 * 10**9, "param"),
    "238.3k tokens/s": (238_300, "token/s"),
    "1M h": (10**6 * 3600, "s"),
    "2 weeks": (14 * 86_400, "s"),
    "1 year": (31_557_600, "s"),
    "12 us": (Fraction(12, 10**6), "s"),
    "$2.50/h": (Fraction(25, 36_000), "$/s"),
    "$1M": (10**6, "$"),
    "$2.50/GPU-hour": (Fraction(25, 36_000), "$/s"),
    "30.84M GPU-hours": (30_840_000 * 3600, "s"),
    "3640 PF-days": (3640 * 10**15 * 86_400, "FLOP"),
    "2 dollars": (2, "$"),
    "46.2%": (Fraction(462, 1000), ""),
    "1.83 GHz": (1_830 * 10**6, "1/s"),
    "15T": (15 * 10**12, ""),
    "(1 + 2)*3 s": (9, "s"),
}


@pytest.mark.parametrize("text", READ)
def test_read_exactly(text):
    value, unit = READ[text]
    found = sa.quantity(text)
    assert (found.value, found.unit) == (value, unit)
    assert type(found.value) is (int if value == int(value) else Fraction)


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("70B", "param", 70 * 10**9),
        ("15T", "token", 15 * 10**12),
        ("70B", "B", 70),
        ("1M", "$", 10**6),
        ("8K", "", 8000),
    ],
)
def test_a_letter_is_a_power_of_ten_of_counts_and_a_unit_of_bytes(text, unit, value):
    assert quantity(text, unit) == Quantity(value, unit)


REFUSED = {
    ("70B", None): (UnitError, "'70e9' or '70 bytes'"),
    ("989 TFLOPS", "FLOP/s"): (UnitError, "work or as speed"),
    ("624 TOPS", None): (UnitError, "TOP/s"),
    ("80 gb", "B"): (UnitError, "misread"),
    ("80 KB", "B"): (UnitError, "KiB"),
    ("80 kb", "B"): (UnitError, "KiB"),
    ("80 Gb", "B"): (UnitError, "Gbit"),
    ("989 TFLOP", "FLOP/s"): (MixedUnitsError, r"work \(FLOP\); a speed"),
    ("989 TFLOP/s", "FLOP"): (MixedUnitsError, r"a speed \(FLOP/s\); work"),
    ("80 GB", "B/s"): (MixedUnitsError, "a size in bytes"),
    ("3 GMAC", "FLOP"): (MixedUnitsError, "MAC"),
    ("15T tokens", "param"): (MixedUnitsError, "number of parameters"),
    ("3T", "FLOP"): (MixedUnitsError, "write the unit"),
    ("80G", "B"): (UnitError, "unknown unit 'G'"),
    ("80 parsec", "s"): (UnitError, "unknown unit 'parsec'"),
    ("10,643 token/s", None): (UnitError, ",643"),
    ("3 FLOP//s", None): (UnitError, "no unit"),
    ("", "B"): (SizeError, "no quantity"),
    ("GB", "B"): (SizeError, "no quantity"),
    ("-3 s", "s"): (SizeError, "negative"),
    ("1/0 s", "s"): (ExpressionError, "division by zero"),
    ("1e99999 s", "s"): (ExpressionError, "digits"),
    (True, "s"): (SizeError, "True"),
    (-1, "s"): (SizeError, "0 or more"),
    (math.inf, "s"): (SizeError, "inf"),
    (math.nan, "s"): (SizeError, "nan"),
    (None, "s"): (SizeError, "None"),
}


@pytest.mark.parametrize(("given", "unit"), REFUSED, ids=str)
def test_refused(given, unit):
    error, says = REFUSED[given, unit]
    with pytest.raises(error, match=says):
        quantity(given, unit)


def test_plain_numbers_are_in_the_wanted_unit_and_exact():
    assert quantity(0.1, "s").value == Fraction(1, 10)
    assert quantity(989.5e12, "FLOP/s") == Quantity(9_895 * 10**11, "FLOP/s")
    assert quantity(Quantity(3, "B"), "B") == Quantity(3, "B")
    with pytest.raises(MixedUnitsError):
        quantity(Quantity(3, "B"), "s")


@given(st.text(alphabet="0123456789.eE+-*/() $%kKMGTPBbiFLOPstokenhday,", max_size=40))
def test_any_text_is_read_or_refused_by_us(text):
    with contextlib.suppress(SymacctError):
        assert quantity(text).value >= 0


@given(st.fractions(min_value=0, max_denominator=1000), st.sampled_from(["B", "GiB", "TFLOP/s", "h", "$/h"]))
def test_a_number_times_its_unit(number, unit):
    scale, base = read_unit(unit)
    assert quantity(f"{number.numerator}/{number.denominator} {unit}") == Quantity(number * scale, base)


def test_units_agree_with_one_another():
    assert read_unit("TFLOP/s*day") == (10**12 * 86_400, "FLOP")
    assert read_unit("GB")[0] * 8 == read_unit("Gbit")[0] * 64
    assert read_unit("PiB")[0] == 1024 * read_unit("TiB")[0]
    assert read_unit("week")[0] == 7 * 24 * read_unit("h")[0]


def test_numbers_of_sympy_and_numpy():
    import numpy as np

    flops = sa.flops("b d, d k -> b k", b=2, d=3, k=5)
    assert quantity(flops, "FLOP") == Quantity(60, "FLOP")
    assert quantity(flops / 7, "FLOP") == Quantity(Fraction(60, 7), "FLOP")
    assert quantity(np.int64(3), "s") == Quantity(3, "s")
    assert quantity(np.float64(0.5), "s") == Quantity(Fraction(1, 2), "s")
    with pytest.raises(UndefinedSizeError, match="still names"):
        quantity(sa.flops("b d, d k -> b k"), "FLOP")


def test_ranges():
    assert read_range("0.3..0.5", "") == Range(Quantity(Fraction(3, 10), ""), Quantity(Fraction(1, 2), ""))
    assert read_range("10..20 days", "s") == Range(Quantity(864_000, "s"), Quantity(1_728_000, "s"))
    assert read_range("7..70B", "param") == Range(Quantity(7 * 10**9, "param"), Quantity(70 * 10**9, "param"))
    assert read_range((0.3, "50%"), "") == read_range("0.3..0.5", "")
    assert read_range("0.5", "") == Quantity(Fraction(1, 2), "")
    for wrong in ("0.5..0.3", "1..1", (1, 2, 3), "..3", "1..", "1..2..3"):
        with pytest.raises(SymacctError):
            read_range(wrong, "")


@pytest.mark.parametrize("unit", ["B", "B/s", "FLOP/s", "s", "$/s"])
def test_text_without_the_unit_of_a_rate_time_or_memory_is_refused(unit):
    with pytest.raises(SizeError, match="'5' has no unit"):
        quantity("5", unit)
    assert quantity(5, unit) == quantity(f"5 {unit}") == 5
    assert quantity("0", unit) == 0, "nothing is nothing in any unit"


def test_little_is_never_printed_as_nothing():
    assert str(Quantity(Fraction(12, 10_000), "$")) == "$0.0012"
    run = sa.training_run(params=70, tokens="15T", devices=8, device="h100", mfu=0.5)
    assert " 0.003537 device-hours" in str(run)


def test_a_count_without_its_unit_is_told_the_unit():
    with pytest.raises(MixedUnitsError, match=r"'1.2M' is a count; write the unit, as in '1.2M token/s'"):
        quantity("1.2M", "token/s")
    with pytest.raises(MixedUnitsError, match="as in '80 GB'"):
        quantity("80M", "B")
