"""Numbers with units, read from text and never mixed."""

from __future__ import annotations

from symacct.units.duration import duration
from symacct.units.quantity import Quantity
from symacct.units.reading import quantity
from symacct.units.spelling import COUNTS, combine, read_unit

__all__ = ["COUNTS", "Quantity", "combine", "duration", "quantity", "read_unit"]
