"""Accounts: totals of a graph under a convention and formats, and the questions one asks of them."""

from __future__ import annotations

from symacct.accounting.core import QUANTITIES, TRAFFICS, Account
from symacct.accounting.quantity import Figures, Quantity
from symacct.accounting.steps import Step, Traffic

__all__ = ["QUANTITIES", "TRAFFICS", "Account", "Figures", "Quantity", "Step", "Traffic"]
