"""Numbers with units, read from text and never mixed."""

from __future__ import annotations

from symacct.units.duration import duration
from symacct.units.quantity import Quantity
from symacct.units.ranges import Range, read_range
from symacct.units.reading import quantity, split_number
from symacct.units.spelling import COUNTS, combine, read_unit

__all__ = ["COUNTS", "Quantity", "Range", "combine", "duration", "quantity", "read_range", "read_unit", "split_number"]
