"""Storage formats: bit fields, ranges, rounding and bytes, all derived from the fields."""

from __future__ import annotations

from symacct.dtypes.catalogue import FORMATS, as_format, as_plain_format
from symacct.dtypes.formats import AnyFormat, BlockFormat, Encoding, Format
from symacct.dtypes.rounding import Overflow, decode, representable, round_to
from symacct.dtypes.storage import BlockAxis, storage_bytes
from symacct.dtypes.table import Row, table

__all__ = [
    "FORMATS",
    "AnyFormat",
    "BlockAxis",
    "BlockFormat",
    "Encoding",
    "Format",
    "Overflow",
    "Row",
    "as_format",
    "as_plain_format",
    "decode",
    "representable",
    "round_to",
    "storage_bytes",
    "table",
]
