"""Storage formats and torch's dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symacct.errors import DtypeError, one_of

TORCH_DTYPES: Mapping[str, str] = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8_e4m3fn": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "bool": "bool",
}
"""torch's name of each format that it has."""


def torch_dtype(format: Any) -> Any:
    """Return torch's dtype for the name of a format; a dtype of torch is one already.

    Raises
    ------
    DtypeError
        For a format that torch does not have.

    """
    import torch

    if isinstance(format, torch.dtype):
        return format
    if format not in TORCH_DTYPES:
        msg = f"torch has no dtype for {format!r}; it has {one_of(TORCH_DTYPES)}"
        raise DtypeError(msg)
    return getattr(torch, TORCH_DTYPES[format])
