"""Storage formats: bit fields, ranges, rounding and bytes, all derived from the fields."""

from __future__ import annotations

from symacct.dtypes.catalogue import FORMATS, as_format, as_plain_format, pin_of
from symacct.dtypes.formats import AnyFormat, BlockFormat, Encoding, Format
from symacct.dtypes.policies import POLICIES, Policy, policy_of
from symacct.dtypes.rounding import Overflow, decode, representable, round_to
from symacct.dtypes.storage import BlockAxis, storage_bytes
from symacct.dtypes.table import Row, table

__all__ = [
    "FORMATS",
    "POLICIES",
    "AnyFormat",
    "BlockAxis",
    "BlockFormat",
    "Encoding",
    "Format",
    "Overflow",
    "Policy",
    "Row",
    "as_format",
    "as_plain_format",
    "decode",
    "pin_of",
    "policy_of",
    "representable",
    "round_to",
    "storage_bytes",
    "table",
]
