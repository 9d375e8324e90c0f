"""Accounts: totals of a graph under a convention and formats, and the questions one asks of them."""

from symacct.accounting.core import QUANTITIES, TRAFFICS, Account, Step
from symacct.accounting.quantity import Figures, Quantity

__all__ = ["QUANTITIES", "TRAFFICS", "Account", "Figures", "Quantity", "Step"]
