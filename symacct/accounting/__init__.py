"""Accounts: totals of a graph under a convention and formats, and the questions one asks of them."""

from __future__ import annotations

from symacct.accounting.core import FUSES, LAYOUTS, TRAFFICS, Account
from symacct.accounting.costs import Formats, Fuse, Layout
from symacct.accounting.quantity import QUANTITIES, Figures
from symacct.accounting.steps import Step, Traffic
from symacct.units import Quantity

__all__ = [
    "FUSES",
    "LAYOUTS",
    "QUANTITIES",
    "TRAFFICS",
    "Account",
    "Figures",
    "Formats",
    "Fuse",
    "Layout",
    "Quantity",
    "Step",
    "Traffic",
]
