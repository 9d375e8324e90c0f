"""Small shares keep digits, so that only nothing is printed as nothing."""

from __future__ import annotations

import symacct as sa


def test_small_shares_are_not_printed_as_nothing():
    """One product of two numbers: 2 FLOP at 989.5 TFLOP/s beside 5 us of launch are 4.0e-8 % of the time."""
    account = sa.account("b d, d k -> b k")
    fall = str(account.mfu_bound("h100", launch="5 us", sizes={"b": 1, "d": 1, "k": 1}))
    assert fall.count("4e-08%") == 2
    assert " 0.0%" not in fall
    of_peak = str(account.roofline("h100", launch="5 us").at(b=1, d=1, k=1))
    assert "4e-08%" in of_peak
    assert " 0.0%" not in of_peak
