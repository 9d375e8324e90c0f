"""The numbers of an account at given sizes, as JSON and beyond the range of floats."""

from __future__ import annotations

import json
from fractions import Fraction

import symacct as sa


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
