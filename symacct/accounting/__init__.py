"""Accounts: totals of a graph under a convention and formats, and the questions one asks of them."""

from __future__ import annotations

from symacct.accounting.core import LAYOUTS, TRAFFICS, Account
from symacct.accounting.quantity import Figures, Quantity
from symacct.accounting.steps import Formats, Layout, Step, Traffic

__all__ = [
    "LAYOUTS",
    "QUANTITIES",
    "TRAFFICS",
    "Account",
    "Figures",
    "Formats",
    "Layout",
    "Quantity",
    "Step",
    "Traffic",
]
